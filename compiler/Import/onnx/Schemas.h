//===- Schemas.h - What ONNX says of its ops --------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checks that hold for all ops, so that their builders need not make them. The
// table, Schemas.inc, is generated from ONNX's own.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_IMPORT_ONNX_SCHEMAS_H
#define TINH_COMPILER_IMPORT_ONNX_SCHEMAS_H

#include "compiler/Import/onnx/Nodes.h"

namespace tinh::onnx {

/// No extent, stride, axis or the like is larger, so that no product of two
/// overflows.
inline constexpr int64_t kLargestNumber = int64_t(1) << 31;

/// Which nodes of an op there are.
struct Signature {
  int since = 0; ///< The first operator set that has them.
  int minInputs = 0;
  int maxInputs = 0; ///< Negative: any number.
};

/// What an op of ONNX's own domain has in any of its versions; it must be one.
Signature signatureOf(llvm::StringRef op);

/// What is wrong with each of a node's attributes before anything is known of
/// its inputs. They have the types that ONNX gives them, and
/// their integers are within kLargestNumber, but for those that may be any
/// number, such as the end of a slice.
std::vector<std::string> checkAttributes(const Node &node);

/// What is wrong with input `i` having elements of this TensorProto.DataType;
/// empty if nothing is. Numbers of 4 bits may have become bytes.
std::string checkInputType(const Node &node, int i, int dataType);

} // namespace tinh::onnx

#endif // TINH_COMPILER_IMPORT_ONNX_SCHEMAS_H
