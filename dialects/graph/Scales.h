//===- Scales.h - What quantised tensors are counted in ---------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_DIALECTS_GRAPH_SCALES_H
#define TINH_DIALECTS_GRAPH_SCALES_H

#include "mlir/IR/Value.h"

namespace tinh::graph {

/// Whether `value` is read as a scale of quantised tensors.
bool isScale(mlir::Value value);

} // namespace tinh::graph

#endif // TINH_DIALECTS_GRAPH_SCALES_H
