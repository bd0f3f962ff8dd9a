//===- InputSizes.h - Inputs whose size the run decides ---------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_IMPORT_ONNX_INPUTSIZES_H
#define TINH_COMPILER_IMPORT_ONNX_INPUTSIZES_H

#include "compiler/Import/onnx/NodeBuilder.h"

namespace tinh::onnx {

/// Why a node is not built for its inputs, of which the run decides the size of
/// a dimension; empty if it is.
std::string findUnknownSize(NodeBuilder &b);

} // namespace tinh::onnx

#endif // TINH_COMPILER_IMPORT_ONNX_INPUTSIZES_H
