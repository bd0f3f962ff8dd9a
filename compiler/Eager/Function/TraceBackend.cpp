//===- TraceBackend.cpp - Operations on tensors as graph ops ----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Function/TraceBackend.h"

#include "compiler/Eager/Function/TracePrimitives.h"
#include "compiler/Eager/Function/TracedViews.h"
#include "compiler/Eager/Random.h"
#include "compiler/Graph/Composites.h"
#include "tinh/runtime.hpp"

using namespace mlir;

namespace tinh::eager {

TraceBackend *TraceBackend::current() {
  Backend &backend = Backend::current();
  return backend.isTracing() ? static_cast<TraceBackend *>(&backend) : nullptr;
}

#define TINH_FUNCTION(NAME, FUNCTION) traced::FUNCTION,
static PrimitiveBuilder *const kBuilders[] = {TINH_PRIMITIVES(TINH_FUNCTION)};
#undef TINH_FUNCTION

void TraceBackend::perform(const Primitive &primitive) {
  if (traceAutograd)
    for (const TensorImpl *output : primitive.outputs)
      traceAutograd->requireNoLeaf(*output, primitive.call);
  Values values;
  trace.add(primitive.call, [&](GraphOps &ops) {
    values = kBuilders[primitive.kind()](ops, trace, primitive);
    return values.front();
  });
  for (auto [output, value] : llvm::zip_equal(primitive.outputs, values))
    trace.write(*output, result(value, primitive.call));
}

Value buildScalar(GraphOps &ops, const Scalar &scalar) {
  Type element = elementType(ops.graph.context(), scalar.dtype);
  if (isa<FloatType>(element))
    return ops.scalar(element, scalar.real);
  auto type = RankedTensorType::get({}, element);
  APInt bits(element.getIntOrFloatBitWidth(),
             static_cast<uint64_t>(scalar.integer), /*isSigned=*/false,
             /*implicitTrunc=*/true);
  return ops.graph.constant(DenseElementsAttr::get(type, bits));
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

Values traced::reduce(GraphOps &ops, Trace &trace, const Primitive &primitive) {
  const auto &[op, axes] = primitive.get<primitives::Reduce>();
  const TensorImpl &x = primitive.input(0);
  static constexpr graph::ReduceKind kKinds[] = {
      graph::ReduceKind::Sum, graph::ReduceKind::Mean, graph::ReduceKind::Prod,
      graph::ReduceKind::Max, graph::ReduceKind::Min};
  return ops.reduce(kKinds[static_cast<size_t>(op)], trace.read(x),
                    toArrayRef(axes),
                    /*keepdims=*/true);
}

Values traced::argReduce(GraphOps &ops, Trace &trace,
                         const Primitive &primitive) {
  const auto &[op, axis] = primitive.get<primitives::ArgReduce>();
  const TensorImpl &x = primitive.input(0);
  Value input = trace.read(x);
  NamedAttribute attributes[] = {ops.attr("axis", axis), ops.unit("keepdims")};
  return op == ArgOp::Max ? ops.create<graph::ArgmaxOp>({input}, attributes)
                          : ops.create<graph::ArgminOp>({input}, attributes);
}

Values traced::cumulative(GraphOps &ops, Trace &trace,
                          const Primitive &primitive) {
  const auto &[op, axis] = primitive.get<primitives::Cumulative>();
  Value input = trace.read(primitive.input(0));
  NamedAttribute attribute = ops.attr("axis", axis);
  switch (op) {
#define CUMULATIVE_OP(NAME, MNEMONIC)                                          \
  case CumulativeOp::NAME:                                                     \
    return ops.create<graph::NAME##Op>({input}, {attribute});
#include "dialects/graph/ReductionOps.inc"
  }
  llvm_unreachable("all ops are listed");
}

//===----------------------------------------------------------------------===//
// Sources
//===----------------------------------------------------------------------===//

Values traced::iota(GraphOps &ops, Trace &trace, const Primitive &primitive) {
  const auto &[start, step] = primitive.get<primitives::Iota>();
  TensorImpl &out = primitive.output();
  Type element = elementType(trace.context(), out.dtype);
  if (start.dtype == TINH_DTYPE_I64)
    return ops.cast(ops.iota(out.sizes[0], start.integer, step.integer),
                    element);
  Value number = ops.cast(ops.iota(out.sizes[0]), ops.graph.raw().getF64Type());
  Value scaled = ops.mul(number, buildScalar(ops, step));
  return ops.cast(ops.add(scaled, buildScalar(ops, start)), element);
}

Values traced::random(GraphOps &ops, Trace &trace, const Primitive &primitive) {
  if (trace.isInLoop())
    fail(primitive.call,
         "the body of a loop draws the same numbers in each iteration; draw "
         "them before it");
  const Draw &draw = primitive.get<primitives::Random>().draw;
  TensorImpl &out = primitive.output();
  const Trace::Argument &generator =
      trace.generator(*draw.generator, draw.counter,
                      blocksOfDraw(draw.kind, out.dtype,
                                   static_cast<uint64_t>(out.numElements())));
  Value numbers = buildDraw(
      ops, draw, generator.initial, draw.counter - generator.firstCounter,
      out.dtype, elementType(trace.context(), out.dtype), out.numElements());
  return ops.reshape(numbers, toArrayRef(out.sizes));
}

void TraceBackend::fromHost(const void *data, TensorImpl &out,
                            const Call &call) {
  Value value = trace.add(call, [&](GraphOps &ops) {
    RankedTensorType type = tensorType(trace.context(), out);
    ArrayRef<char> bytes(static_cast<const char *>(data),
                         static_cast<size_t>(graph::tensorSize(type)));
    return ops.graph.constant(denseFromBytes(type, bytes));
  });
  trace.write(out, result(value, call));
}

//===----------------------------------------------------------------------===//
// Waiting
//===----------------------------------------------------------------------===//

[[noreturn]] static void failToWait(const Call &call) {
  fail(call, "the tensor's value is not known while a function is traced; "
             "branch on it with tinh::cond or tinh::while_loop, or return it "
             "from the function");
}

const void *TraceBackend::waitToRead(const TensorImpl &, const Call &call) {
  failToWait(call);
}

void *TraceBackend::waitToWrite(const TensorImpl &, const Call &call) {
  failToWait(call);
}

} // namespace tinh::eager
