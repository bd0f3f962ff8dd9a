//===- Attributes.h - Attributes of JSON nodes ------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// No list of ops is kept here: which attributes an op has, and of what types,
// is asked of the dialect, so that a new op needs no code.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_IMPORT_JSON_ATTRIBUTES_H
#define TINH_COMPILER_IMPORT_JSON_ATTRIBUTES_H

#include "compiler/Import/json/JsonValues.h"

#include "mlir/IR/ValueRange.h"

namespace tinh::json {

struct OpAttributes {
  llvm::SmallVector<mlir::NamedAttribute> list;
  /// The result's type for ops that do not infer it, else null.
  mlir::Type result;
};

/// The value of an attribute that may be left out, null for others; `rank` is
/// that of the op's first operand.
mlir::Attribute defaultFor(llvm::StringRef name, int64_t rank,
                           mlir::MLIRContext &context);

/// Whether the format has an op of this name.
bool isGraphOp(llvm::StringRef op, mlir::MLIRContext &context);

/// Converts a node's attributes (null for none) and adds those that have a
/// default. False, with the reason in `error`, if one does not fit.
bool readAttributes(llvm::StringRef op, mlir::ValueRange operands,
                    const Json *json, mlir::MLIRContext &context,
                    OpAttributes &attributes, std::string &error);

} // namespace tinh::json

#endif // TINH_COMPILER_IMPORT_JSON_ATTRIBUTES_H
