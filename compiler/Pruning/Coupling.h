//===- Coupling.h - What each op says of slots ------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_PRUNING_COUPLING_H
#define TINH_COMPILER_PRUNING_COUPLING_H

#include "compiler/Pruning/Slots.h"

namespace tinh::pruning {

/// The slots of a model with all that its ops say of them: which go together,
/// and which stay.
Slots coupleSlots(mlir::func::FuncOp main);

/// What messages call an op: its name and its node's.
std::string nameOf(mlir::Operation *op);

/// The operands of a product as positions of its dimensions: rows, depth and
/// columns are axes, or -1 where a factor of rank 1 has none.
struct MatmulAxes {
  int64_t aRows, aDepth, bDepth, bColumns, yRows, yColumns;
};
MatmulAxes axesOf(graph::MatmulOp matmul);

/// Where the channels of an image-like tensor are.
int64_t channelAxis(graph::Layout layout, mlir::Value x);

/// How a convolution's channels are divided: each is a group of its own, or all
/// groups have as many.
bool isDepthwise(graph::ConvOp conv);

} // namespace tinh::pruning

#endif // TINH_COMPILER_PRUNING_COUPLING_H
