//===- Axes.cpp - Operations along an axis
//---------------------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The axis is the columns of rows; all other dimensions count rows.
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Cpu/CpuPrimitives.h"
#include "compiler/Eager/Cpu/RowsOperation.h"
#include "compiler/Eager/Kernels/KernelLibrary.h"

#include <algorithm>
#include <optional>
#include <vector>

using namespace tinh;
using namespace tinh::eager;

/// Rows along `axis`; of `out`, which may have one element for each.
static Iteration<2> rowsAlong(const TensorImpl &x, int64_t axis,
                              const TensorImpl &out) {
  Iteration<2> space;
  int64_t outStride = out.sizes[axis] == 1 ? 0 : out.strides[axis];
  space.add(x.sizes[axis], {x.strides[axis], outStride});
  for (uint32_t d = x.rank(); d-- > 0;)
    if (d != axis && x.sizes[d] != 1)
      space.add(x.sizes[d], {x.strides[d], out.strides[d]});
  space.sort(0, 1);
  space.merge(1);
  return space;
}

static Lanes lanesOf(int64_t columnStride) {
  return columnStride == 1 ? Lanes::AlongColumns : Lanes::AcrossRows;
}

/// Queues a kernel whose lanes lie as said.
template <unsigned N>
static void queueRows(Kernel &kernel, const Iteration<N> &space, Lanes lanes,
                      std::span<const Input> inputs, TensorImpl &out,
                      const Call &call) {
  std::vector<Storage *> reads;
  for (const Input &input : inputs)
    if (input.tensor)
      reads.push_back(input.tensor->storage.get());
  RowsOperation<N> operation(kernel, space, inputs, out, false);
  operation.chunks =
      RowChunks(space.rows(), space.columns(),
                elementsPerChunk(inputs[0].tensor->dtype), false);
  if (lanes == Lanes::AcrossRows)
    operation.chunks.useSquares();
  Engine::get().push(call, reads, std::array{out.storage.get()}, operation);
}

void kernels::argReduce(const Primitive &primitive) {
  const auto &[op, axis] = primitive.get<primitives::ArgReduce>();
  const TensorImpl &x = primitive.input(0);
  TensorImpl &out = primitive.output();
  Iteration<2> space = rowsAlong(x, axis, out);
  Lanes lanes = lanesOf(space.strides[0][0]);
  queueRows<2>(KernelLibrary::get().argreduce(op, x.dtype, lanes), space, lanes,
               std::array{Input{&x, {}}}, out, primitive.call);
}

void kernels::softmax(const Primitive &primitive) {
  const auto &[op, axis] = primitive.get<primitives::Softmax>();
  const TensorImpl &x = primitive.input(0);
  TensorImpl &out = primitive.output();
  Iteration<2> space = rowsAlong(x, axis, out);
  if (x.sizes[axis] > 1)
    space.strides[1][0] = out.strides[axis];
  Lanes lanes = lanesOf(space.strides[0][0]);
  queueRows<2>(KernelLibrary::get().softmax(op, x.dtype, lanes), space, lanes,
               std::array{Input{&x, {}}}, out, primitive.call);
}

//===----------------------------------------------------------------------===//
// Layer norm
//===----------------------------------------------------------------------===//

/// The operands of the kernel: x, scale, bias, 1 / columns, epsilon, result.
/// None if the dimensions normalised over are not one in all of them.
static std::optional<Iteration<6>> normalizedRows(const TensorImpl &x,
                                                  const TensorImpl *scale,
                                                  const TensorImpl *bias,
                                                  uint32_t numDims,
                                                  const TensorImpl &out) {
  Iteration<6> space;
  uint32_t lead = x.rank() - numDims;
  for (uint32_t d = x.rank(); d-- > lead;)
    if (x.sizes[d] != 1)
      space.add(x.sizes[d],
                {x.strides[d], scale ? scale->strides[d - lead] : 0,
                 bias ? bias->strides[d - lead] : 0, 0, 0, out.strides[d]});
  space.merge();
  if (space.rank != 1)
    return std::nullopt;
  for (uint32_t d = lead; d-- > 0;)
    if (x.sizes[d] != 1)
      space.add(x.sizes[d], {x.strides[d], 0, 0, 0, 0, out.strides[d]});
  space.sort(0, 1);
  space.merge(1);
  return space;
}

static void queueLayerNorm(const TensorImpl &x, const TensorImpl *scale,
                           const TensorImpl *bias, const Normalization &norm,
                           TensorImpl &out, const Call &call) {
  std::optional<Iteration<6>> space =
      normalizedRows(x, scale, bias, norm.numDims, out);
  if (!space) {
    // Once all of them are contiguous there are such rows.
    Ref<const TensorImpl> dense = contiguous(x, call), denseScale, denseBias;
    if (scale)
      denseScale = contiguous(*scale, call);
    if (bias)
      denseBias = contiguous(*bias, call);
    return queueLayerNorm(*dense, denseScale.get(), denseBias.get(), norm, out,
                          call);
  }
  tinh_dtype_t numberType =
      x.dtype == TINH_DTYPE_F64 ? TINH_DTYPE_F64 : TINH_DTYPE_F32;
  auto number = [&](double value, tinh_dtype_t dtype) {
    return Input{nullptr, {dtype, {value}}};
  };
  std::array inputs{
      Input{&x, {}}, Input{scale, {x.dtype, {1.0}}},
      Input{bias, {x.dtype, {0.0}}},
      number(1.0 / static_cast<double>(space->columns()), numberType),
      number(norm.epsilon, numberType)};
  Lanes lanes = lanesOf(space->strides[0][0]);
  queueRows<6>(KernelLibrary::get().layerNorm(norm.rms, x.dtype, lanes), *space,
               lanes, inputs, out, call);
}

void kernels::layerNorm(const Primitive &primitive) {
  queueLayerNorm(primitive.input(0), primitive.scale(), primitive.bias(),
                 primitive.get<primitives::LayerNorm>().norm,
                 primitive.output(), primitive.call);
}

//===----------------------------------------------------------------------===//
// Running sums and their like
//===----------------------------------------------------------------------===//

namespace {

/// How an op combines elements, and with what it begins.
template <CumulativeOp op> struct Combination;

template <> struct Combination<CumulativeOp::Cumsum> {
  static constexpr int kStart = 0;
  template <typename Sum> static Sum apply(Sum sum, Sum x) {
    return wrappingAdd(sum, x);
  }
};

template <> struct Combination<CumulativeOp::Cumprod> {
  static constexpr int kStart = 1;
  template <typename Sum> static Sum apply(Sum product, Sum x) {
    return wrappingMul(product, x);
  }
};

template <CumulativeOp op> struct CumulativeOperation {
  Iteration<2> space;
  Elements x, out;
  tinh_dtype_t dtype;
  RowChunks chunks;

  CumulativeOperation(const Iteration<2> &space, const TensorImpl &x,
                      const TensorImpl &out)
      : space(space), x(x), out(out), dtype(x.dtype),
        chunks(space.rows(), space.columns(), elementsPerChunk(x.dtype),
               false) {
    if (space.strides[0][0] != 1)
      chunks.useSquares();
  }

  bool mayTakeLong() const { return space.columns() > (1 << 20); }
  uint32_t numChunks() const {
    return static_cast<uint32_t>(ceilDiv(chunks.rows, chunks.rowsPerChunk));
  }
  void run(uint32_t begin, uint32_t end, Worker &) {
    withElement(dtype, [&]<typename Element>(Element) {
      space.forRows(
          begin * chunks.rowsPerChunk,
          std::min(end * chunks.rowsPerChunk, chunks.rows),
          [&](const int64_t (&offsets)[2], int64_t rows) {
            sumRows(reinterpret_cast<Element *>(x.data()) + offsets[0],
                    reinterpret_cast<Element *>(out.data()) + offsets[1], rows);
          });
    });
  }

  /// Rows side by side: their elements may be neighbours, and a sum need not
  /// wait for that of another row.
  template <typename Element>
  void sumRows(const Element *from, Element *to, int64_t rows) const {
    constexpr int64_t kTogether = 8;
    int64_t row = 0;
    for (; row + RowChunks::kSquare <= rows && space.strides[0][0] != 1;
         row += RowChunks::kSquare)
      sumSome<RowChunks::kSquare>(from, to, row);
    for (; row + kTogether <= rows; row += kTogether)
      sumSome<kTogether>(from, to, row);
    for (; row < rows; ++row)
      sumSome<1>(from, to, row);
  }

  template <int64_t count, typename Element>
  void sumSome(const Element *from, Element *to, int64_t first) const {
    using Sum = typename SumOf<Element>::type;
    using Combine = Combination<op>;
    int64_t fromRow = space.rowStride(0), toRow = space.rowStride(1);
    from += first * fromRow;
    to += first * toRow;
    Sum sums[count];
    std::fill(sums, sums + count, Sum(Combine::kStart));
    for (int64_t i = 0; i < space.columns(); ++i) {
      for (int64_t row = 0; row < count; ++row) {
        sums[row] =
            Combine::template apply<Sum>(sums[row], from[row * fromRow]);
        to[row * toRow] = static_cast<Element>(sums[row]);
      }
      from += space.strides[0][0];
      to += space.strides[1][0];
    }
  }
};

} // namespace

template <CumulativeOp op>
static void queueCumulative(const Primitive &primitive, int64_t axis) {
  const TensorImpl &x = primitive.input(0);
  TensorImpl &out = primitive.output();
  Engine::get().emplace<CumulativeOperation<op>>(
      primitive.call, std::array{x.storage.get()},
      std::array{out.storage.get()}, rowsAlong(x, axis, out), x, out);
}

void kernels::cumulative(const Primitive &primitive) {
  const auto &[op, axis] = primitive.get<primitives::Cumulative>();
  switch (op) {
#define CUMULATIVE_OP(NAME, MNEMONIC)                                          \
  case CumulativeOp::NAME:                                                     \
    return queueCumulative<CumulativeOp::NAME>(primitive, axis);
#include "dialects/graph/ReductionOps.inc"
  }
}
