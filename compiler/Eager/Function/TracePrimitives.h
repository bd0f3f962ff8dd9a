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

PrimitiveBuilder elementwise, cast;                // TraceElementwise.cpp
PrimitiveBuilder reduce, argReduce, cumulative;    // TraceBackend.cpp
PrimitiveBuilder iota, random;                     // TraceBackend.cpp
PrimitiveBuilder matmul, conv, convWeightGradient; // TraceContractions.cpp
PrimitiveBuilder pool, maxPoolGradient;            // TraceContractions.cpp
PrimitiveBuilder softmax, layerNorm;               // TraceContractions.cpp
PrimitiveBuilder concat, pad, flip;                // TraceMovement.cpp
PrimitiveBuilder gather, gatherElements, gatherNd; // TraceMovement.cpp
PrimitiveBuilder scatterElements, scatterNd, sort; // TraceMovement.cpp

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
