//===- Scatter.cpp - Elements written where indices say -------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Indices may name an element more than once; then the order counts. So a chunk
// has all indices for some of the elements that cannot be the same.
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Cpu/Blocks.h"
#include "compiler/Eager/Cpu/CpuPrimitives.h"

using namespace tinh;
using namespace tinh::eager;

namespace {

/// The larger, or smaller, of two; NaN if either is.
template <typename Number> Number extreme(bool largest, Number a, Number b) {
  return a != a || (largest ? a > b : a < b) ? a : b;
}

template <typename Element>
void update(ScatterOp op, Element &target, Element value) {
  using Sum = typename SumOf<Element>::type;
  Sum old = target, update = value;
  switch (op) {
  case ScatterOp::Assign:
    target = value;
    break;
  case ScatterOp::Add:
    target = static_cast<Element>(wrappingAdd(old, update));
    break;
  case ScatterOp::Mul:
    target = static_cast<Element>(wrappingMul(old, update));
    break;
  case ScatterOp::Max:
  case ScatterOp::Min:
    target = static_cast<Element>(extreme(op == ScatterOp::Max, old, update));
  }
}

/// out[i with its entry for an axis replaced by indices[i]] = or += …
/// updates[i].
struct ScatterElementsOperation : Pieces { // Elements of `space`.
  ScatterOp op;
  tinh_dtype_t dtype;
  Elements indices, updates, out;
  Iteration<3> space;                // All dimensions but the axis.
  int64_t length;                    // Of the indices along the axis,
  int64_t indexStride, updateStride; // and there.
  IndexedDimension indexed;

  void run(uint32_t begin, uint32_t end, Worker &) {
    withElement(dtype, [&]<typename Element>(Element) {
      int64_t last = firstOf(end);
      for (int64_t i = firstOf(begin); i < last;) {
        int64_t offsets[3];
        space.locate(i, offsets);
        int64_t count =
            std::min(space.columns() - i % space.columns(), last - i);
        scatterColumns<Element>(offsets, count);
        i += count;
      }
    });
  }

private:
  template <typename Element>
  void scatterColumns(const int64_t (&offsets)[3], int64_t count) const {
    auto *index =
        reinterpret_cast<const int64_t *>(indices.data()) + offsets[0];
    auto *from = reinterpret_cast<const Element *>(updates.data()) + offsets[1];
    auto *to = reinterpret_cast<Element *>(out.data()) + offsets[2];
    IndexedDimension along = indexed;
    auto scatterOne = [&](int64_t i, int64_t column) {
      const int64_t *at =
          index + i * indexStride + column * space.strides[0][0];
      update<Element>(op, to[column * space.strides[2][0] + along.offset(*at)],
                      from[i * updateStride + column * space.strides[1][0]]);
    };
    // Neighbours in memory one after the other.
    if (updateStride < space.strides[1][0])
      for (int64_t column = 0; column < count; ++column)
        for (int64_t i = 0; i < length; ++i)
          scatterOne(i, column);
    else
      for (int64_t i = 0; i < length; ++i)
        for (int64_t column = 0; column < count; ++column)
          scatterOne(i, column);
  }
};

/// out[indices[i…, 0], …, b…] = or += … updates[i…, b…].
struct ScatterNdOperation : Pieces { // Columns of blocks.
  ScatterOp op;
  tinh_dtype_t dtype;
  Elements indices, updates, out;
  Iteration<2> places; // Dimensions i of the indices and the updates.
  Iteration<2> block;  // Dimensions b of the updates and the result.
  int64_t tupleStride;
  IndexedDimensions indexed;

  bool mayTakeLong() const {
    return places.elements() * block.elements() > (1 << 16);
  }
  void run(uint32_t begin, uint32_t end, Worker &) {
    withElement(dtype, [&]<typename Element>(Element) {
      for (int64_t i = 0; i < places.elements(); ++i)
        scatterBlock<Element>(i, firstOf(begin), firstOf(end));
    });
  }

private:
  template <typename Element>
  void scatterBlock(int64_t number, int64_t first, int64_t last) const {
    int64_t place[2];
    places.locate(number, place);
    auto *tuple = reinterpret_cast<const int64_t *>(indices.data()) + place[0];
    auto *from = reinterpret_cast<const Element *>(updates.data()) + place[1];
    auto *to = reinterpret_cast<Element *>(out.data()) +
               indexed.offset(tuple, tupleStride);
    int64_t fromStride = block.strides[0][0], toStride = block.strides[1][0];
    forRuns(block, [&](int64_t fromRun, int64_t toRun) {
      for (int64_t i = first; i < last; ++i)
        update<Element>(op, to[toRun + i * toStride],
                        from[fromRun + i * fromStride]);
    });
  }
};

} // namespace

void kernels::scatterElements(const Primitive &primitive) {
  const auto &[op, axis] = primitive.get<primitives::ScatterElements>();
  const TensorImpl &indices = primitive.input(1), &updates = primitive.input(2);
  TensorImpl &out = primitive.output();
  if (indices.numElements() == 0)
    return;
  Iteration<3> space;
  for (uint32_t d = out.rank(); d-- > 0;)
    if (d != axis && indices.sizes[d] != 1)
      space.add(indices.sizes[d],
                {indices.strides[d], updates.strides[d], out.strides[d]});
  space.sort(2);
  space.merge();
  int64_t length = indices.sizes[axis];
  Engine::get().emplace<ScatterElementsOperation>(
      primitive.call,
      std::array{indices.storage.get(), updates.storage.get(),
                 out.storage.get()},
      std::array{out.storage.get()},
      Pieces(space.elements(),
             std::max<int64_t>(16, elementsPerChunk(out.dtype) / length),
             /*coversResult=*/false),
      op, out.dtype, Elements(indices), Elements(updates), Elements(out), space,
      length, indices.strides[axis], updates.strides[axis],
      IndexedDimension(out, static_cast<uint32_t>(axis)));
}

void kernels::scatterNd(const Primitive &primitive) {
  ScatterOp op = primitive.get<primitives::ScatterNd>().op;
  const TensorImpl &indices = primitive.input(1), &updates = primitive.input(2);
  TensorImpl &out = primitive.output();
  if (updates.numElements() == 0)
    return;
  uint32_t numPlaces = indices.rank() - 1;
  auto count = static_cast<uint32_t>(indices.sizes[numPlaces]);
  Iteration<2> places = sharedDimensions(updates, 0, indices, 0, numPlaces);
  std::swap(places.strides[0], places.strides[1]);
  Iteration<2> block =
      sharedDimensions(out, count, updates, numPlaces, out.rank() - count);
  std::swap(block.strides[0], block.strides[1]);
  int64_t visits = places.elements() * block.rows();
  Engine::get().emplace<ScatterNdOperation>(
      primitive.call,
      std::array{indices.storage.get(), updates.storage.get(),
                 out.storage.get()},
      std::array{out.storage.get()},
      Pieces(block.columns(),
             std::max<int64_t>(64, elementsPerChunk(out.dtype) / visits),
             /*coversResult=*/false),
      op, out.dtype, Elements(indices), Elements(updates), Elements(out),
      places, block, indices.strides[numPlaces],
      IndexedDimensions(out, 0, count));
}
