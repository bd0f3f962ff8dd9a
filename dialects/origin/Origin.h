//===- Origin.h - The origin dialect ----------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What ops of kernels were lowered from; the attributes' definitions are in
// Origins.td.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_DIALECTS_ORIGIN_ORIGIN_H
#define TINH_DIALECTS_ORIGIN_ORIGIN_H

#include "mlir/IR/Attributes.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Dialect.h"

#include "dialects/origin/OriginDialect.h.inc"
#include "dialects/origin/OriginEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/origin/OriginAttrs.h.inc"

namespace tinh::origin {

/// Of an op of a kernel over linalg: what it was lowered from.
inline constexpr llvm::StringLiteral kOp = "origin.op";

} // namespace tinh::origin

#endif // TINH_DIALECTS_ORIGIN_ORIGIN_H
