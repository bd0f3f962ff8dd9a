//===- TraceBackend.cpp - Operations on tensors as graph ops ----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Function/TraceBackend.h"

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

void TraceBackend::write(TensorImpl &out, const Call &call, Build build) {
  if (traceAutograd)
    traceAutograd->requireNoLeaf(out, call);
  trace.write(out, result(trace.add(call, build), call));
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

void TraceBackend::reduce(ReduceOp op, const TensorImpl &x,
                          std::span<const int64_t> axes, TensorImpl &out,
                          const Call &call) {
  static constexpr graph::ReduceKind kKinds[] = {
      graph::ReduceKind::Sum, graph::ReduceKind::Mean, graph::ReduceKind::Prod,
      graph::ReduceKind::Max, graph::ReduceKind::Min};
  write(out, call, [&](GraphOps &ops) {
    return ops.reduce(kKinds[static_cast<size_t>(op)], trace.read(x),
                      ArrayRef<int64_t>(axes.data(), axes.size()),
                      /*keepdims=*/true);
  });
}

void TraceBackend::argReduce(ArgOp op, const TensorImpl &x, int64_t axis,
                             TensorImpl &out, const Call &call) {
  write(out, call, [&](GraphOps &ops) {
    Value input = trace.read(x);
    NamedAttribute attributes[] = {ops.attr("axis", axis),
                                   ops.unit("keepdims")};
    return op == ArgOp::Max ? ops.create<graph::ArgmaxOp>({input}, attributes)
                            : ops.create<graph::ArgminOp>({input}, attributes);
  });
}

void TraceBackend::cumsum(const TensorImpl &x, int64_t axis, TensorImpl &out,
                          const Call &call) {
  write(out, call, [&](GraphOps &ops) {
    return ops.create<graph::CumsumOp>({trace.read(x)},
                                       {ops.attr("axis", axis)});
  });
}

//===----------------------------------------------------------------------===//
// Sources
//===----------------------------------------------------------------------===//

void TraceBackend::iota(const Scalar &start, const Scalar &step,
                        TensorImpl &out, const Call &call) {
  write(out, call, [&](GraphOps &ops) {
    Type element = elementType(trace.context(), out.dtype);
    if (start.dtype == TINH_DTYPE_I64)
      return ops.cast(ops.iota(out.sizes[0], start.integer, step.integer),
                      element);
    Value number =
        ops.cast(ops.iota(out.sizes[0]), ops.graph.raw().getF64Type());
    Value scaled = ops.mul(number, buildScalar(ops, step));
    return ops.cast(ops.add(scaled, buildScalar(ops, start)), element);
  });
}

void TraceBackend::random(const Draw &draw, TensorImpl &out, const Call &call) {
  if (trace.isInLoop())
    fail(call, "the body of a loop draws the same numbers in each iteration; "
               "draw them before it");
  const Trace::Argument &generator =
      trace.generator(*draw.generator, draw.counter,
                      blocksOfDraw(draw.kind, out.dtype,
                                   static_cast<uint64_t>(out.numElements())));
  write(out, call, [&](GraphOps &ops) {
    Value numbers = buildDraw(
        ops, draw, generator.initial, draw.counter - generator.firstCounter,
        out.dtype, elementType(trace.context(), out.dtype), out.numElements());
    return ops.reshape(numbers, toArrayRef(out.sizes));
  });
}

void TraceBackend::fromHost(const void *data, TensorImpl &out,
                            const Call &call) {
  write(out, call, [&](GraphOps &ops) {
    RankedTensorType type = tensorType(trace.context(), out);
    ArrayRef<char> bytes(static_cast<const char *>(data),
                         static_cast<size_t>(graph::tensorSize(type)));
    return ops.graph.constant(denseFromBytes(type, bytes));
  });
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
