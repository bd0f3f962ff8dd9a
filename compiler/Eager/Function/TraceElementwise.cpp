//===- TraceElementwise.cpp - Element-wise operations as ops ----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/ElementwiseNames.h"
#include "compiler/Eager/Function/TracePrimitives.h"
#include "compiler/Eager/Function/TracedViews.h"

using namespace mlir;

namespace tinh::eager {

/// `x` where it is positive, else `otherwise`.
static Value wherePositive(GraphOps &ops, Value x, Value otherwise) {
  Value isPositive =
      ops.compare(graph::ComparePredicate::Greater, x, ops.scalarLike(x, 0));
  return ops.where(isPositive, x, otherwise);
}

static Value build(GraphOps &ops, ElementwiseOp op, ArrayRef<Value> x) {
  if (isComparison(op))
    return ops.compare(*graph::symbolizeComparePredicate(nameOf(op)), x[0],
                       x[1]);
  switch (op) {
  case ElementwiseOp::GeluTanh:
    return ops.create<graph::GeluOp>({x[0]}, {ops.unit("tanh_approximation")});
  case ElementwiseOp::Silu:
    return ops.mul(x[0], ops.create<graph::SigmoidOp>({x[0]}));
  case ElementwiseOp::LeakyRelu:
    return wherePositive(ops, x[0], ops.mul(x[0], x[1]));
  case ElementwiseOp::Elu: {
    Value exponential = ops.create<graph::ExpOp>({x[0]});
    Value one = ops.scalarLike(x[0], 1);
    return wherePositive(ops, x[0], ops.mul(x[1], ops.sub(exponential, one)));
  }
  case ElementwiseOp::Clamp:
    return ops.clamp(x[0], x[1], x[2]);
  case ElementwiseOp::MulAdd:
    return ops.add(ops.mul(x[0], x[1]), x[2]);
  default:
    return ops.graph.create(std::string("graph.") + nameOf(op), x);
  }
}

Values traced::elementwise(GraphOps &ops, Trace &trace,
                           const Primitive &primitive) {
  ElementwiseOp op = primitive.get<primitives::Elementwise>().op;
  std::span<const Input> inputs = primitive.inputs;
  TensorImpl &out = primitive.output();
  SmallVector<Value> operands;
  for (const Input &input : inputs)
    operands.push_back(input.tensor ? trace.read(*input.tensor)
                                    : buildScalar(ops, input.scalar));
  return ops.broadcast(build(ops, op, operands), toArrayRef(out.sizes));
}

Values traced::cast(GraphOps &ops, Trace &trace, const Primitive &primitive) {
  const Input &x = primitive.inputs[0];
  TensorImpl &out = primitive.output();
  Value input = x.tensor ? trace.read(*x.tensor) : buildScalar(ops, x.scalar);
  return ops.broadcast(ops.cast(input, elementType(trace.context(), out.dtype)),
                       toArrayRef(out.sizes));
}

} // namespace tinh::eager
