//===- TracePrimitives.h - Primitives as graph ops --------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_EAGER_FUNCTION_TRACEPRIMITIVES_H
#define TINH_EAGER_FUNCTION_TRACEPRIMITIVES_H

#include "compiler/Eager/Function/Trace.h"
#include "compiler/Eager/Primitives/Primitive.h"

namespace tinh::eager {

/// What a primitive's outputs hold, in their order.
struct Values : llvm::SmallVector<mlir::Value, 2> {
  Values() = default;
  Values(mlir::Value only) { push_back(only); }
};

/// Adds the ops of a primitive of one kind. The first value is null if they
/// cannot be built.
using PrimitiveBuilder = Values(GraphOps &ops, Trace &trace,
                                const Primitive &primitive);

namespace traced {

// Of each kind, in the file of its family.
#define TINH_FUNCTION(NAME, FUNCTION) PrimitiveBuilder FUNCTION;
TINH_PRIMITIVES(TINH_FUNCTION)
#undef TINH_FUNCTION

} // namespace traced

/// A constant of rank 0.
mlir::Value buildScalar(GraphOps &ops, const Scalar &scalar);

/// The numbers of a draw, [count] of type `element`, from a generator's seed
/// and counter, [2] of u64, `blocks` blocks further on.
mlir::Value buildDraw(GraphOps &ops, const Draw &draw, mlir::Value generator,
                      uint64_t blocks, tinh_dtype_t dtype, mlir::Type element,
                      int64_t count);

} // namespace tinh::eager

#endif // TINH_EAGER_FUNCTION_TRACEPRIMITIVES_H
