//===- Contractions.cpp - Matmuls and convolutions ------------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "compiler/Eager/Cpu/CpuPrimitives.h"
#include "compiler/Eager/Cpu/Operands.h"
#include "compiler/Eager/Kernels/ConvWeightGradient.h"
#include "compiler/Eager/Kernels/Matmul.h"

using namespace tinh;
using namespace tinh::eager;

namespace {

/// A product or a convolution: how it is computed, and of what.
template <typename Method> struct Contraction {
  Method method;
  Elements a, b, bias, out; // The bias may have no storage.
  bool coversResult;

  bool overwrites() const { return coversResult; }
  uint32_t numChunks() const { return method.numChunks(); }
  void run(uint32_t begin, uint32_t end, Worker &worker) {
    if constexpr (requires { &Method::numParts; }) // It has no bias.
      method.run(a.data(), b.data(), out.data(), begin, end, worker);
    else
      method.run(a.data(), b.data(), bias.storage ? bias.data() : nullptr,
                 out.data(), begin, end, worker);
  }
};

} // namespace

template <typename Method>
static void queue(const Method &method, const TensorImpl &a,
                  const TensorImpl &b, const TensorImpl *bias, TensorImpl &out,
                  const Call &call) {
  std::array reads{a.storage.get(), b.storage.get(),
                   bias ? bias->storage.get() : nullptr};
  Engine::get().emplace<Contraction<Method>>(
      call, std::span(reads).first(bias ? 3 : 2), std::array{out.storage.get()},
      method, Elements(a), Elements(b), bias ? Elements(*bias) : Elements(),
      Elements(out), coversStorage(out));
}

//===----------------------------------------------------------------------===//
// Matmuls
//===----------------------------------------------------------------------===//

/// The matrices of x, for a batch that x is broadcast to.
static Matrices matricesOf(const TensorImpl &x, const Dims &sizes) {
  uint32_t lead = sizes.size() - x.rank();
  auto stride = [&](uint32_t d) {
    return d < lead || x.sizes[d - lead] == 1 ? 0 : x.strides[d - lead];
  };
  Matrices matrices;
  for (uint32_t d = 0; d + 2 < sizes.size(); ++d)
    matrices.batch.push_back(stride(d));
  matrices.strides = {stride(sizes.size() - 2), stride(sizes.size() - 1)};
  return matrices;
}

void kernels::matmul(const Primitive &primitive) {
  const TensorImpl &a = primitive.input(0), &b = primitive.input(1);
  const TensorImpl *bias = primitive.optionalInput(2);
  TensorImpl &out = primitive.output();
  uint32_t rank = out.rank();
  MatmulShape shape;
  shape.dtype = out.dtype;
  shape.m = out.sizes[rank - 2];
  shape.n = out.sizes[rank - 1];
  shape.k = a.sizes[a.rank() - 1];
  shape.batch = Dims(std::span<const int64_t>(out.sizes).first(rank - 2));
  shape.a = matricesOf(a, out.sizes);
  shape.b = matricesOf(b, out.sizes);
  shape.out = matricesOf(out, out.sizes);
  shape.hasBias = bias != nullptr;
  if (bias)
    shape.bias = matricesOf(*bias, out.sizes);
  queue(Matmul(KernelLibrary::get(), shape), a, b, bias, out, primitive.call);
}

//===----------------------------------------------------------------------===//
// Convolutions
//===----------------------------------------------------------------------===//

/// The spatial dimensions as three, of which the first ones may be missing.
static Spatial spatial(const Dims &values, uint32_t first, int64_t missing) {
  Spatial result;
  result.fill(missing);
  uint32_t count = values.size() - first;
  for (uint32_t d = 0; d < count; ++d)
    result[3 - count + d] = values[first + d];
  return result;
}

static ImageStrides imageStrides(const TensorImpl &x) {
  return {x.strides[0], x.strides[1], spatial(x.strides, 2, 0)};
}

/// Of a convolution of x by weights of these sizes; strides but x's are to be
/// set.
static ConvShape convShape(const TensorImpl &x, const Dims &weights,
                           const Window &window, const Dims &result) {
  ConvShape shape;
  shape.dtype = x.dtype;
  shape.batch = x.sizes[0];
  shape.groups = window.groups;
  shape.channels = weights[1];
  shape.outputs = weights[0] / window.groups;
  shape.windows.in = spatial(x.sizes, 2, 1);
  shape.windows.kernel = spatial(weights, 2, 1);
  shape.windows.strides = spatial(window.strides, 0, 1);
  shape.windows.dilations = spatial(window.dilations, 0, 1);
  shape.windows.padLow = spatial(window.padLow, 0, 0);
  shape.windows.out = spatial(result, 2, 1);
  shape.x = imageStrides(x);
  return shape;
}

void kernels::conv(const Primitive &primitive) {
  const Window &window = primitive.get<primitives::Conv>().window;
  const TensorImpl &x = primitive.input(0), &weights = primitive.input(1);
  const TensorImpl *bias = primitive.optionalInput(2);
  TensorImpl &out = primitive.output();
  ConvShape shape = convShape(x, weights.sizes, window, out.sizes);
  shape.weights = imageStrides(weights);
  shape.result = imageStrides(out);
  shape.hasBias = bias != nullptr;
  if (bias)
    shape.biasStride = bias->strides[0];
  queue(Conv(KernelLibrary::get(), shape), x, weights, bias, out,
        primitive.call);
}

void kernels::convWeightGradient(const Primitive &primitive) {
  const Window &window = primitive.get<primitives::ConvWeightGradient>().window;
  const TensorImpl &x = primitive.input(0), &dy = primitive.input(1);
  TensorImpl &out = primitive.output();
  ConvShape shape = convShape(x, out.sizes, window, dy.sizes);
  shape.weights = imageStrides(out);
  shape.result = imageStrides(dy);
  ConvWeightGradient method(KernelLibrary::get(), shape);
  if (method.numParts() == 1)
    return queue(method, x, dy, nullptr, out, primitive.call);
  Dims sizes = out.sizes;
  sizes.insert(0, method.numParts());
  Ref<TensorImpl> sums = makeTemporary(out.dtype, sizes);
  ImageStrides strides{sums->strides[1], sums->strides[2],
                       spatial(sums->strides, 3, 0)};
  method.setResult(strides, sums->strides[0]);
  queue(method, x, dy, nullptr, *sums, primitive.call);
  TensorImpl whole;
  setView(whole, out);
  whole.sizes.insert(0, 1);
  whole.strides.insert(0, out.numElements());
  queueReduce(ReduceOp::Sum, *sums, std::array<int64_t, 1>{0}, whole,
              primitive.call);
}
