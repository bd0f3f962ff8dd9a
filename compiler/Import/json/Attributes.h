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

#include "compiler/Import/json/Nodes.h"

#include "mlir/IR/OperationSupport.h"
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

/// The names of all ops that the format has.
llvm::SmallVector<llvm::StringRef> graphOps(mlir::MLIRContext &context);

/// What the format calls a number that stands for a choice, such as "mean";
/// empty if the attribute is no choice.
llvm::StringRef choiceName(mlir::OperationName op, mlir::StringAttr name,
                           int64_t number);

/// Converts the attributes that a node has, whose op is known. False if one
/// does not fit.
bool readAttributes(const Node &node, mlir::MLIRContext &context,
                    OpAttributes &attributes, const Scope &scope);

/// Adds what follows from the operands: attributes that are left out and have a
/// default, and the result's type where attributes say it. False if it is none.
bool completeAttributes(const Node &node, mlir::ValueRange operands,
                        mlir::MLIRContext &context, OpAttributes &attributes,
                        const Scope &scope);

} // namespace tinh::json

#endif // TINH_COMPILER_IMPORT_JSON_ATTRIBUTES_H
