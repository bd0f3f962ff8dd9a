//===- GpuPrimitives.cpp - Primitives, compiled for a GPU -----------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Cuda/GpuPrimitives.h"

#include "compiler/Eager/Cpu/Operands.h"
#include "compiler/Eager/Cuda/GpuRun.h"
#include "compiler/Eager/Function/TraceBackend.h"
#include "compiler/Eager/Function/TracedViews.h"
#include "compiler/Eager/Primitives/Signature.h"

#include "llvm/ADT/STLExtras.h"

#include <memory>
#include <mutex>
#include <unordered_map>

using namespace mlir;

namespace tinh::eager {

//===----------------------------------------------------------------------===//
// Layouts
//===----------------------------------------------------------------------===//

/// The dimensions along which elements of `x` lie, those that are farthest
/// apart first.
static SmallVector<uint32_t> orderOf(const TensorImpl &x) {
  SmallVector<uint32_t> order;
  for (uint32_t d = 0; d < x.rank(); ++d)
    if (x.sizes[d] > 1 && x.strides[d] != 0)
      order.push_back(d);
  llvm::sort(order, [&](uint32_t a, uint32_t b) {
    return std::pair(x.strides[b], a) < std::pair(x.strides[a], b);
  });
  return order;
}

/// Whether the elements fill their memory when they are taken in that order.
static bool isDense(const TensorImpl &x, ArrayRef<uint32_t> order) {
  int64_t stride = 1;
  for (uint32_t d : llvm::reverse(order)) {
    if (x.strides[d] != stride)
      return false;
    stride *= x.sizes[d];
  }
  return true;
}

static Ref<TensorImpl> viewIn(Trace &trace, const TensorImpl &source,
                              const View &how, const Dims &sizes) {
  Ref<TensorImpl> view = newTensor(source.dtype, sizes);
  trace.addView(source, how, *view);
  return view;
}

/// An argument of the shape in which the elements of `x` lie in memory, seen as
/// `x` sees it.
static Ref<TensorImpl> denseArgument(Trace &trace, const TensorImpl &x,
                                     ArrayRef<uint32_t> order) {
  Dims memory, permutation, turned, aligned;
  for (uint32_t d : order)
    memory.push_back(x.sizes[d]);
  for (uint32_t d = 0; d < x.rank(); ++d) {
    const uint32_t *at = llvm::find(order, d);
    aligned.push_back(at == order.end() ? 1 : x.sizes[d]);
    if (at == order.end())
      continue;
    permutation.push_back(at - order.begin());
    turned.push_back(x.sizes[d]);
  }
  Ref<TensorImpl> tensor = trace.addInput(*newTensor(x.dtype, memory));
  if (!llvm::is_sorted(permutation))
    tensor =
        viewIn(trace, *tensor, {View::Transpose, {}, {}, permutation}, turned);
  if (tensor->sizes != aligned)
    tensor = viewIn(trace, *tensor, {View::Reshape, {}, {}, {}}, aligned);
  if (aligned != x.sizes)
    tensor = viewIn(trace, *tensor, {View::Broadcast, {}, {}, {}}, x.sizes);
  return tensor;
}

/// The place of each element of `x`, from its first one on.
static Value placesOf(GraphOps &ops, const TensorImpl &x) {
  Value places = ops.iota(1);
  for (uint32_t d = 0; d < x.rank(); ++d) {
    Dims shape = Dims::filled(x.rank(), 1);
    shape[d] = x.sizes[d];
    Value along =
        ops.reshape(ops.iota(x.sizes[d], 0, x.strides[d]), toArrayRef(shape));
    places = d == 0 ? along : ops.add(places, along);
  }
  return ops.reshape(places, {x.numElements()});
}

/// Memory as one row.
static Ref<TensorImpl> rowArgument(Trace &trace, const TensorImpl &x) {
  return trace.addInput(*newTensor(x.dtype, Dims::filled(1, spanOf(x))));
}

/// An argument for `x`, seen as `x` sees it.
static Ref<TensorImpl> addArgument(Trace &trace, const TensorImpl &x,
                                   const Call &call) {
  SmallVector<uint32_t> order = orderOf(x);
  if (isDense(x, order))
    return denseArgument(trace, x, order);
  Ref<TensorImpl> row = rowArgument(trace, x);
  Value value = trace.add(call, [&](GraphOps &ops) {
    return ops.reshape(ops.gather(trace.read(*row), placesOf(ops, x), 0),
                       toArrayRef(x.sizes));
  });
  return trace.hold(*newTensor(x.dtype, x.sizes), value);
}

/// The memory of `out`, of which an argument is what it was before, with
/// `result` in it.
static Ref<TensorImpl> addResult(Trace &trace, const TensorImpl &out,
                                 const TensorImpl &result, const Call &call) {
  Ref<TensorImpl> row = rowArgument(trace, out);
  Value value = trace.add(call, [&](GraphOps &ops) {
    auto assign = graph::ScatterKindAttr::get(trace.context(),
                                              graph::ScatterKind::Assign);
    Value updates = ops.reshape(trace.read(result), {out.numElements()});
    return ops.create<graph::ScatterElementsOp>(
        {trace.read(*row), placesOf(ops, out), updates},
        {ops.attr("kind", assign), ops.attr("axis", int64_t(0))});
  });
  return trace.hold(*newTensor(out.dtype, row->sizes), value);
}

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

static Ref<TensorImpl> numberArgument(Trace &trace, tinh_dtype_t dtype) {
  return trace.addInput(*newTensor(dtype, Dims()));
}

/// The graph of a primitive. Its arguments are the inputs, then what outputs
/// that are no whole rows of memory were before, then what random numbers are
/// drawn from.
static std::shared_ptr<GpuGraph> trace(Gpu &gpu, const Primitive &primitive) {
  auto context = std::make_shared<GraphContext>();
  context->get()->disableMultithreading();
  Trace trace(context->get());
  TraceBackend backend(trace);
  BackendScope scope(backend);
  SmallVector<Ref<TensorImpl>> tensors;
  SmallVector<Input> inputs;
  for (const Input &input : primitive.inputs) {
    // A number may be another one in the next call.
    tensors.push_back(input.tensor
                          ? addArgument(trace, *input.tensor, primitive.call)
                          : numberArgument(trace, input.scalar.dtype));
    inputs.push_back({tensors.back().get(), {}});
  }
  SmallVector<TensorImpl *> outputs;
  for (const TensorImpl *output : primitive.outputs) {
    tensors.push_back(newTensor(output->dtype, output->sizes));
    trace.allocate(*tensors.back());
    outputs.push_back(tensors.back().get());
  }
  backend.perform({primitive.attributes, inputs, outputs, primitive.call});
  SmallVector<const TensorImpl *> results;
  for (auto [output, result] : llvm::zip_equal(primitive.outputs, outputs)) {
    results.push_back(result);
    if (isContiguous(*output))
      continue;
    tensors.push_back(addResult(trace, *output, *result, primitive.call));
    results.back() = tensors.back().get();
  }
  OwningOpRef<ModuleOp> module =
      trace.finish(std::span(results.data(), results.size()));
  return std::make_shared<GpuGraph>(gpu, std::move(context), std::move(module),
                                    primitive.call.name);
}

/// What tells one graph from another.
static std::string keyOf(const Gpu &gpu, const Primitive &primitive) {
  Signature signature = signatureOf(primitive.attributes);
  auto add = [&](const TensorImpl &x) {
    bool isDense = isContiguous(x);
    signature.add(x.dtype).add(isDense).add(x.sizes);
    if (!isDense)
      signature.add(x.strides);
  };
  signature.add(gpu.place());
  for (const Input &input : primitive.inputs) {
    signature.add(input.tensor != nullptr);
    if (input.tensor)
      add(*input.tensor);
    else
      signature.add(input.scalar.dtype);
  }
  for (const TensorImpl *output : primitive.outputs)
    add(*output);
  return {reinterpret_cast<const char *>(signature.words.data()),
          signature.words.size() * sizeof(uint64_t)};
}

static std::shared_ptr<GpuGraph> graphOf(Gpu &gpu, const Primitive &primitive) {
  static auto &mutex = *new std::mutex;
  static auto &known =
      *new std::unordered_map<std::string, std::shared_ptr<GpuGraph>>;
  std::string key = keyOf(gpu, primitive);
  std::lock_guard lock(mutex);
  std::shared_ptr<GpuGraph> &graph = known[key];
  if (!graph)
    graph = trace(gpu, primitive);
  return graph;
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

void queueOnGpu(Gpu &gpu, const Primitive &primitive) {
  std::shared_ptr<GpuGraph> graph = graphOf(gpu, primitive);
  SmallVector<GpuOperand> arguments, results;
  for (const Input &input : primitive.inputs) {
    if (input.tensor) {
      arguments.emplace_back(*input.tensor);
      continue;
    }
    uint64_t bits = bitsOf(input.scalar);
    arguments.emplace_back(&bits, DType(input.scalar.dtype).size());
  }
  // In the order of trace().
  if (primitive.is<primitives::Random>()) {
    const Draw &draw = primitive.get<primitives::Random>().draw;
    uint64_t words[] = {draw.key, draw.counter};
    arguments.emplace_back(words, sizeof words);
  }
  for (const TensorImpl *output : primitive.outputs) {
    results.emplace_back(*output);
    if (!isContiguous(*output))
      arguments.emplace_back(*output);
  }
  queueOnGpu(std::move(graph), arguments, results, primitive.call);
}

} // namespace tinh::eager
