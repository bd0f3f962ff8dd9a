//===- Movement.cpp - Concatenation and padding ---------------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "compiler/Eager/Cpu/CpuPrimitives.h"
#include "compiler/Eager/Cpu/RowsOperation.h"

#include <vector>

using namespace tinh;
using namespace tinh::eager;

//===----------------------------------------------------------------------===//
// Concatenation
//===----------------------------------------------------------------------===//

namespace {

/// Copies to parts of one storage.
struct ConcatOperation {
  std::vector<RowsOperation<2>> parts;
  std::vector<uint32_t> ends = {}; // Of their chunks.
  bool coversResult;

  ConcatOperation(std::vector<RowsOperation<2>> copies, bool coversResult)
      : parts(std::move(copies)), coversResult(coversResult) {
    uint32_t end = 0;
    for (const RowsOperation<2> &part : parts)
      ends.push_back(end += part.numChunks());
  }
  bool overwrites() const { return coversResult; }
  uint32_t numChunks() const { return ends.back(); }
  void run(uint32_t begin, uint32_t end, Worker &worker) {
    for (size_t i = 0; i < parts.size(); ++i) {
      uint32_t first = i ? ends[i - 1] : 0;
      uint32_t from = std::max(begin, first), to = std::min(end, ends[i]);
      if (from < to)
        parts[i].run(from - first, to - first, worker);
    }
  }
};

} // namespace

void kernels::concat(const Primitive &primitive) {
  int64_t axis = primitive.get<primitives::Concat>().axis;
  TensorImpl &out = primitive.output();
  std::vector<RowsOperation<2>> parts;
  std::vector<Storage *> reads;
  TensorImpl place;
  setView(place, out);
  for (size_t i = 0; i < primitive.inputs.size(); ++i) {
    const TensorImpl &x = primitive.input(i);
    place.sizes[axis] = x.sizes[axis];
    if (x.numElements() != 0) {
      parts.push_back(copyOperation(x, place));
      reads.push_back(x.storage.get());
    }
    place.offset += x.sizes[axis] * out.strides[axis];
  }
  Engine::get().emplace<ConcatOperation>(primitive.call, reads,
                                         std::array{out.storage.get()},
                                         std::move(parts), coversStorage(out));
}

//===----------------------------------------------------------------------===//
// Padding
//===----------------------------------------------------------------------===//

namespace {

struct PadOperation : Pieces { // Rows.
  Elements x, out;
  Dims xSizes, xStrides, outSizes, outStrides, low;
  PadMode mode;
  uint64_t value;
  int64_t size; // Of an element.

  void run(uint32_t begin, uint32_t end, Worker &) {
    withSize(size, [&]<typename Element>(Element) {
      int64_t last = firstOf(end);
      for (int64_t row = firstOf(begin); row < last; ++row)
        padRow<Element>(row);
    });
  }

private:
  /// The index in x of an index in the result; -1 for the value.
  int64_t source(uint32_t d, int64_t index) const {
    int64_t at = index - low[d], extent = xSizes[d];
    if (at >= 0 && at < extent)
      return at;
    switch (mode) {
    case PadMode::Constant:
      return -1;
    case PadMode::Edge:
      return at < 0 ? 0 : extent - 1;
    case PadMode::Reflect:
      return at < 0 ? -at : 2 * (extent - 1) - at;
    case PadMode::Wrap:
      return at < 0 ? at + extent : at - extent;
    }
    return -1;
  }

  template <typename Element> void padRow(int64_t row) const {
    uint32_t last = outSizes.size() - 1;
    auto *to = reinterpret_cast<Element *>(out.data());
    auto *from = reinterpret_cast<const Element *>(x.data());
    bool isPadding = false;
    for (uint32_t d = last; d-- > 0; row /= outSizes[d]) {
      int64_t index = row % outSizes[d], at = source(d, index);
      to += index * outStrides[d];
      from += std::max<int64_t>(at, 0) * xStrides[d];
      isPadding |= at < 0;
    }
    auto padding = static_cast<Element>(value);
    auto pad = [&](int64_t first, int64_t end) {
      for (int64_t i = first; i < end; ++i) {
        int64_t at = isPadding ? -1 : source(last, i);
        to[i * outStrides[last]] = at < 0 ? padding : from[at * xStrides[last]];
      }
    };
    int64_t start = low[last], stop = start + xSizes[last];
    if (isPadding || xStrides[last] != 1 || outStrides[last] != 1)
      return pad(0, outSizes[last]);
    pad(0, start);
    std::copy_n(from, xSizes[last], to + start);
    pad(stop, outSizes[last]);
  }
};

} // namespace

void kernels::pad(const Primitive &primitive) {
  const auto &[low, high, mode, value] = primitive.get<primitives::Pad>();
  const TensorImpl &x = primitive.input(0);
  TensorImpl &out = primitive.output();
  if (x.rank() == 0)
    return queueCast({&x, {}}, out, primitive.call);
  if (x.numElements() == 0)
    return queueCast({nullptr, value}, out, primitive.call);
  int64_t columns = out.sizes.back();
  Engine::get().emplace<PadOperation>(
      primitive.call, std::array{x.storage.get()},
      std::array{out.storage.get()},
      Pieces(out.numElements() / columns, elementsPerChunk(x.dtype) / columns,
             coversStorage(out)),
      Elements(x), Elements(out), x.sizes, x.strides, out.sizes, out.strides,
      low, mode, bitsOf(value), elementSize(x.dtype));
}
