//===- TraceElementwise.cpp - Element-wise operations as ops ----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Function/TraceBackend.h"
#include "compiler/Eager/Function/TracedViews.h"

using namespace mlir;

namespace tinh::eager {

/// The op with the same operands; empty for what is written otherwise.
static StringRef opName(ElementwiseOp op) {
  switch (op) {
#define TINH_OP(Name)                                                          \
  case ElementwiseOp::Name:                                                    \
    return graph::Name##Op::getOperationName();
    TINH_OP(Neg)
    TINH_OP(Abs)
    TINH_OP(Sign)
    TINH_OP(Not)
    TINH_OP(Relu)
    TINH_OP(Exp)
    TINH_OP(Log)
    TINH_OP(Sqrt)
    TINH_OP(Rsqrt)
    TINH_OP(Reciprocal)
    TINH_OP(Erf)
    TINH_OP(Tanh)
    TINH_OP(Sigmoid)
    TINH_OP(Softplus)
    TINH_OP(Floor)
    TINH_OP(Ceil)
    TINH_OP(Round)
    TINH_OP(Sin)
    TINH_OP(Cos)
    TINH_OP(Tan)
    TINH_OP(Asin)
    TINH_OP(Acos)
    TINH_OP(Atan)
    TINH_OP(Sinh)
    TINH_OP(Cosh)
    TINH_OP(Asinh)
    TINH_OP(Acosh)
    TINH_OP(Atanh)
    TINH_OP(Gelu)
    TINH_OP(IsNan)
    TINH_OP(IsInf)
    TINH_OP(Add)
    TINH_OP(Sub)
    TINH_OP(Mul)
    TINH_OP(Div)
    TINH_OP(Pow)
    TINH_OP(Max)
    TINH_OP(Min)
    TINH_OP(Mod)
    TINH_OP(Fmod)
    TINH_OP(And)
    TINH_OP(Or)
    TINH_OP(Xor)
    TINH_OP(ShiftLeft)
    TINH_OP(ShiftRight)
    TINH_OP(Where)
#undef TINH_OP
  default:
    return "";
  }
}

static Value compare(GraphOps &ops, ElementwiseOp op, Value a, Value b) {
  using Predicate = graph::ComparePredicate;
  static constexpr Predicate kPredicates[] = {
      Predicate::Equal,     Predicate::NotEqual, Predicate::Less,
      Predicate::LessEqual, Predicate::Greater,  Predicate::GreaterEqual};
  auto first = static_cast<size_t>(ElementwiseOp::Equal);
  return ops.compare(kPredicates[static_cast<size_t>(op) - first], a, b);
}

/// `x` where it is positive, else `otherwise`.
static Value wherePositive(GraphOps &ops, Value x, Value otherwise) {
  Value isPositive =
      ops.compare(graph::ComparePredicate::Greater, x, ops.scalarLike(x, 0));
  return ops.where(isPositive, x, otherwise);
}

static Value build(GraphOps &ops, ElementwiseOp op, ArrayRef<Value> x) {
  if (StringRef name = opName(op); !name.empty())
    return ops.graph.create(name, x);
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
    return ops.min(ops.max(x[0], x[1]), x[2]);
  case ElementwiseOp::MulAdd:
    return ops.add(ops.mul(x[0], x[1]), x[2]);
  default:
    return compare(ops, op, x[0], x[1]);
  }
}

void TraceBackend::elementwise(ElementwiseOp op, std::span<const Input> inputs,
                               TensorImpl &out, const Call &call) {
  write(out, call, [&](GraphOps &ops) {
    SmallVector<Value> operands;
    for (const Input &input : inputs)
      operands.push_back(input.tensor ? trace.read(*input.tensor)
                                      : buildScalar(ops, input.scalar));
    return ops.broadcast(build(ops, op, operands), toArrayRef(out.sizes));
  });
}

void TraceBackend::cast(const Input &x, TensorImpl &out, const Call &call) {
  write(out, call, [&](GraphOps &ops) {
    Value input = x.tensor ? trace.read(*x.tensor) : buildScalar(ops, x.scalar);
    return ops.broadcast(
        ops.cast(input, elementType(trace.context(), out.dtype)),
        toArrayRef(out.sizes));
  });
}

} // namespace tinh::eager
