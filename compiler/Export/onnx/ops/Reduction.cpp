//===- Reduction.cpp - Reductions and scans ---------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Export/onnx/NodeWriter.h"

using namespace mlir;

namespace tinh::onnx {

namespace {

using Kind = graph::ReduceKind;

StringRef nodeOf(Kind kind) {
  switch (kind) {
  case Kind::Sum:
    return "ReduceSum";
  case Kind::Mean:
    return "ReduceMean";
  case Kind::Prod:
    return "ReduceProd";
  case Kind::Max:
    return "ReduceMax";
  case Kind::Min:
    return "ReduceMin";
  }
  llvm_unreachable("all kinds are listed");
}

/// The type in which ONNX reduces elements of a type.
Type computedType(Kind kind, Type element) {
  bool picks = kind == Kind::Max || kind == Kind::Min;
  if (picks && element.isInteger(1)) // any and all
    return IntegerType::get(element.getContext(), 8, IntegerType::Unsigned);
  if (picks && element.getIntOrFloatBitWidth() == 8)
    return element;
  if (kind == Kind::Mean && isa<IntegerType>(element)) // its sum must fit
    return IntegerType::get(element.getContext(), 64);
  return arithmeticType(element);
}

Tensor reduce(NodeWriter &w, graph::ReduceOp op) {
  Tensor x = w.operand(0);
  Kind kind = op.getKind();
  if (x.isBool() && kind != Kind::Max && kind != Kind::Min)
    return w.refuse("ONNX's " + nodeOf(kind) + " takes numbers, not booleans");
  if (op.getAxes().empty()) // in ONNX that can mean all of them
    return x;
  Type element = x.element(), computed = computedType(kind, element);
  Tensor y = w.node(nodeOf(kind), {w.cast(x, computed), w.ints(op.getAxes())},
                    w.typeOf(computed),
                    {attribute("keepdims", int64_t(op.getKeepdims()))});
  return w.cast(y, element);
}

/// The mean of squared distances from the mean.
Tensor variance(NodeWriter &w, graph::VarianceOp op) {
  Tensor x = w.operand(0);
  if (op.getAxes().empty()) // each element is its own mean
    return w.elementwise("Sub", x, x);
  Tensor distance =
      w.elementwise("Sub", x, w.reduce("ReduceMean", x, op.getAxes()));
  Tensor square = w.elementwise("Mul", distance, distance);
  return w.reshape(w.reduce("ReduceMean", square, op.getAxes()),
                   w.type().getShape());
}

template <typename OpTy> Tensor arg(NodeWriter &w, OpTy op) {
  Tensor x = w.operand(0);
  Type byte = IntegerType::get(op.getContext(), 8, IntegerType::Unsigned);
  if (x.isBool())
    x = w.cast(x, byte);
  return w.node(
      w.onnx, x, w.type(),
      {attribute("axis", int64_t(op.getAxis())),
       attribute("keepdims", int64_t(op.getKeepdims())),
       attribute("select_last_index", int64_t(op.getSelectLastIndex()))});
}

template <typename OpTy> Tensor cumulative(NodeWriter &w, OpTy op) {
  Tensor x = w.operand(0);
  if (x.isBool())
    return w.refuse("ONNX's " + w.onnx + " takes numbers, not booleans");
  Type element = x.element(), computed = arithmeticType(element);
  Type i64 = IntegerType::get(op.getContext(), 64);
  Tensor y = w.node(
      w.onnx,
      {w.cast(x, computed), w.scalar(i64, static_cast<double>(op.getAxis()))},
      w.typeOf(computed),
      {attribute("exclusive", int64_t(op.getExclusive())),
       attribute("reverse", int64_t(op.getReverse()))});
  return w.cast(y, element);
}

} // namespace

OpWriters reductionWriters() {
  return {
      entry<arg<graph::ArgmaxOp>>("ArgMax"),
      entry<arg<graph::ArgminOp>>("ArgMin"),
#define CUMULATIVE_ONNX(NAME, STRING, OPSET)                                   \
  entry<cumulative<graph::NAME##Op>>(STRING),
#include "dialects/graph/ReductionOps.inc"
      entry<reduce>(),
      entry<variance>(),
  };
}

} // namespace tinh::onnx
