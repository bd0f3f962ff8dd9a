//===- Sort.cpp - Sorting along an axis
//------------------------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "compiler/Eager/Cpu/CpuPrimitives.h"
#include "compiler/Eager/Cpu/Iteration.h"
#include "compiler/Eager/Cpu/Operands.h"

#include <cmath>

using namespace tinh;
using namespace tinh::eager;

namespace {

/// Elements along the axis of x, their sorted values and indices.
struct SortOperation : Pieces { // Rows.
  Elements x, values, indices;  // The last two may have no storage.
  Iteration<3> space;           // Columns are the axis.
  tinh_dtype_t dtype;
  bool descending;
  int64_t count; // Of the first ones that are wanted.

  bool mayTakeLong() const { return space.columns() > 10'000; }
  void run(uint32_t begin, uint32_t end, Worker &worker) {
    withElement(dtype, [&]<typename Element>(Element) {
      space.forRows(firstOf(begin), firstOf(end),
                    [&](const int64_t (&offsets)[3], int64_t rows) {
                      for (int64_t row = 0; row < rows; ++row)
                        sortRow<Element>(offsets, row, worker);
                    });
    });
  }

private:
  template <typename Value> struct Item {
    Value value;
    int64_t index;
  };

  template <typename Value> static bool isLess(Value a, Value b) {
    if constexpr (std::is_floating_point_v<Value>)
      return a < b || (std::isnan(b) && !std::isnan(a));
    else
      return a < b;
  }

  /// The order of the result. Equal ones keep theirs, for their indices are
  /// compared.
  template <typename Value>
  bool isBefore(const Item<Value> &a, const Item<Value> &b) const {
    if (isLess(a.value, b.value))
      return !descending;
    if (isLess(b.value, a.value))
      return descending;
    return a.index < b.index;
  }

  /// Puts the first `count` items of the order in place.
  template <typename Value, typename Get>
  void sortItems(Item<Value> *items, Get get) const {
    auto before = [this](const Item<Value> &a, const Item<Value> &b) {
      return isBefore(a, b);
    };
    int64_t length = space.columns();
    bool isFew = count * 16 <= length;
    int64_t kept = isFew ? count : length;
    for (int64_t i = 0; i < kept; ++i)
      items[i] = {get(i), i};
    if (isFew) {
      // A heap of the best so far, the worst of them first.
      std::make_heap(items, items + count, before);
      for (int64_t i = count; i < length; ++i)
        if (Item<Value> item = {get(i), i}; isBefore(item, items[0])) {
          std::pop_heap(items, items + count, before);
          items[count - 1] = item;
          std::push_heap(items, items + count, before);
        }
    } else if (count < length) {
      std::nth_element(items, items + count, items + length, before);
    }
    std::sort(items, items + count, before);
  }

  template <typename Element>
  void sortRow(const int64_t (&offsets)[3], int64_t row, Worker &worker) {
    using Value = typename SumOf<Element>::type;
    auto at = [&](unsigned n) { return offsets[n] + row * space.rowStride(n); };
    int64_t length = space.columns();
    auto *items = static_cast<Item<Value> *>(
        worker.scratch(static_cast<uint64_t>(length) * sizeof(Item<Value>)));
    auto *from = reinterpret_cast<const Element *>(x.data()) + at(0);
    sortItems(items, [&](int64_t i) {
      return static_cast<Value>(from[i * space.strides[0][0]]);
    });
    if (values.storage) {
      auto *to = reinterpret_cast<Element *>(values.data()) + at(1);
      for (int64_t i = 0; i < count; ++i)
        to[i * space.strides[1][0]] = static_cast<Element>(items[i].value);
    }
    if (indices.storage) {
      auto *to = reinterpret_cast<int64_t *>(indices.data()) + at(2);
      for (int64_t i = 0; i < count; ++i)
        to[i * space.strides[2][0]] = items[i].index;
    }
  }
};

} // namespace

void kernels::sort(const Primitive &primitive) {
  const auto &[axis, descending, hasValues] = primitive.get<primitives::Sort>();
  const TensorImpl &x = primitive.input(0);
  TensorImpl *values = primitive.values(), *indices = primitive.indices();
  auto strides = [&](uint32_t d, int64_t (&of)[3]) {
    of[0] = x.strides[d];
    of[1] = values ? values->strides[d] : 0;
    of[2] = indices ? indices->strides[d] : 0;
  };
  Iteration<3> space;
  int64_t of[3];
  strides(static_cast<uint32_t>(axis), of);
  space.add(x.sizes[axis], of);
  for (uint32_t d = x.rank(); d-- > 0;)
    if (d != axis && x.sizes[d] != 1) {
      strides(d, of);
      space.add(x.sizes[d], of);
    }
  std::vector<Storage *> writes;
  bool covers = true;
  for (const TensorImpl *out : {values, indices})
    if (out) {
      writes.push_back(out->storage.get());
      covers &= coversStorage(*out);
    }
  // Comparing takes longer than moving.
  int64_t perChunk = elementsPerChunk(x.dtype) / 16;
  Engine::get().emplace<SortOperation>(
      primitive.call, std::array{x.storage.get()}, writes,
      Pieces(space.rows(), perChunk / x.sizes[axis], covers), Elements(x),
      values ? Elements(*values) : Elements(),
      indices ? Elements(*indices) : Elements(), space, x.dtype, descending,
      primitive.output().sizes[axis]);
}
