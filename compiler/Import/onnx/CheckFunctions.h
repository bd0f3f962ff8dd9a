//===- CheckFunctions.h - Whether calls can be expanded ---------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_IMPORT_ONNX_CHECKFUNCTIONS_H
#define TINH_COMPILER_IMPORT_ONNX_CHECKFUNCTIONS_H

#include "compiler/Import/onnx/onnx.pb.h"

#include <string>

namespace tinh::onnx {

/// Why the calls of a model's functions cannot be expanded, and the node of the
/// model's graph that the reason is at, if it is at one. Both are empty if they
/// can.
struct FunctionError {
  std::string what, node;
};

/// Counts what the model's functions expand to, and how deep graphs and
/// functions come to lie in each other, and compares that with Limits.h. Takes
/// no longer than to read the model, whatever it would expand to.
FunctionError checkFunctions(const ::onnx::ModelProto &model);

} // namespace tinh::onnx

#endif // TINH_COMPILER_IMPORT_ONNX_CHECKFUNCTIONS_H
