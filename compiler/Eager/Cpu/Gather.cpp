//===- Gather.cpp - Elements that indices name ----------------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "compiler/Eager/Cpu/Blocks.h"
#include "compiler/Eager/Cpu/CpuPrimitives.h"

using namespace tinh;
using namespace tinh::eager;

namespace {

/// Copies a block for each tuple of indices, and for each of some leading
/// dimensions: out[a…, i…, b…] = x[a…, indices[i…], b…].
struct GatherOperation : Pieces { // Blocks.
  Elements x, indices, out;
  Iteration<2> lead;   // Dimensions a of x and the result.
  Iteration<2> places; // Dimensions i of the indices and the result.
  Iteration<2> block;  // Dimensions b of x and the result.
  IndexedDimensions indexed;
  int64_t tupleStride;
  int64_t size; // Of an element.

  void run(uint32_t begin, uint32_t end, Worker &) {
    withSize(size, [&]<typename Element>(Element) {
      int64_t last = firstOf(end);
      for (int64_t i = firstOf(begin); i < last;)
        i += copyBlocks<Element>(i, last - i);
    });
  }

private:
  /// Copies up to `most` blocks, whose indices are neighbours; returns how
  /// many.
  template <typename Element>
  int64_t copyBlocks(int64_t number, int64_t most) const {
    int64_t outer[2], place[2], first = number % places.elements();
    lead.locate(number / places.elements(), outer);
    places.locate(first, place);
    int64_t column = first % places.columns();
    int64_t count = std::min(places.columns() - column, most);
    auto *tuple = reinterpret_cast<const int64_t *>(indices.data()) + place[0];
    auto *from = reinterpret_cast<const Element *>(x.data()) + outer[0];
    auto *to = reinterpret_cast<Element *>(out.data()) + outer[1] + place[1];
    int64_t fromStride = places.strides[0][0], toStride = places.strides[1][0];
    if (block.elements() == 1 && indexed.single()) {
      IndexedDimension along = *indexed.single();
      for (int64_t i = 0; i < count; ++i)
        to[i * toStride] = from[along.offset(tuple[i * fromStride])];
      return count;
    }
    for (int64_t i = 0; i < count; ++i)
      copyBlock(from + indexed.offset(tuple + i * fromStride, tupleStride),
                to + i * toStride);
    return count;
  }

  template <typename Element>
  void copyBlock(const Element *from, Element *to) const {
    int64_t fromStride = block.strides[0][0], toStride = block.strides[1][0];
    forRuns(block, [&](int64_t fromRun, int64_t toRun) {
      if (fromStride == 1 && toStride == 1)
        std::copy_n(from + fromRun, block.columns(), to + toRun);
      else
        for (int64_t i = 0; i < block.columns(); ++i)
          to[toRun + i * toStride] = from[fromRun + i * fromStride];
    });
  }
};

/// out[i] = x[i with its entry for an axis replaced by indices[i]].
struct GatherElementsOperation : Pieces { // Rows.
  Elements x, indices, out;
  Iteration<3> space; // x without the axis, indices, result.
  IndexedDimension indexed;
  int64_t size;

  void run(uint32_t begin, uint32_t end, Worker &) {
    withSize(size, [&]<typename Element>(Element) {
      space.forRows(firstOf(begin), firstOf(end),
                    [&](const int64_t (&offsets)[3], int64_t rows) {
                      for (int64_t row = 0; row < rows; ++row)
                        gatherRow<Element>(offsets, row);
                    });
    });
  }

private:
  template <typename Element>
  void gatherRow(const int64_t (&offsets)[3], int64_t row) const {
    auto *from = reinterpret_cast<const Element *>(x.data()) + offsets[0] +
                 row * space.rowStride(0);
    auto *index = reinterpret_cast<const int64_t *>(indices.data()) +
                  offsets[1] + row * space.rowStride(1);
    auto *to = reinterpret_cast<Element *>(out.data()) + offsets[2] +
               row * space.rowStride(2);
    IndexedDimension along = indexed;
    for (int64_t i = 0; i < space.columns(); ++i)
      to[i * space.strides[2][0]] =
          from[i * space.strides[0][0] +
               along.offset(index[i * space.strides[1][0]])];
  }
};

} // namespace

static void queueBlocks(const TensorImpl &x, const TensorImpl &indices,
                        TensorImpl &out, const Iteration<2> &lead,
                        const Iteration<2> &places, const Iteration<2> &block,
                        const IndexedDimensions &indexed, int64_t tupleStride,
                        const Call &call) {
  Pieces pieces(lead.elements() * places.elements(),
                elementsPerChunk(x.dtype) / block.elements(),
                coversStorage(out));
  Engine::get().emplace<GatherOperation>(
      call, std::array{x.storage.get(), indices.storage.get()},
      std::array{out.storage.get()}, pieces, Elements(x), Elements(indices),
      Elements(out), lead, places, block, indexed, tupleStride,
      elementSize(x.dtype));
}

void kernels::gather(const Primitive &primitive) {
  int64_t axis = primitive.get<primitives::Gather>().axis;
  const TensorImpl &x = primitive.input(0), &indices = primitive.input(1);
  TensorImpl &out = primitive.output();
  auto lead = static_cast<uint32_t>(axis);
  uint32_t trail = x.rank() - lead - 1;
  queueBlocks(x, indices, out, sharedDimensions(x, 0, out, 0, lead),
              sharedDimensions(indices, 0, out, lead, indices.rank()),
              sharedDimensions(x, lead + 1, out, lead + indices.rank(), trail),
              IndexedDimensions(x, lead, 1), 0, primitive.call);
}

void kernels::gatherNd(const Primitive &primitive) {
  const TensorImpl &x = primitive.input(0), &indices = primitive.input(1);
  TensorImpl &out = primitive.output();
  uint32_t places = indices.rank() - 1;
  auto count = static_cast<uint32_t>(indices.sizes[places]);
  Iteration<2> none;
  none.merge();
  queueBlocks(
      x, indices, out, none, sharedDimensions(indices, 0, out, 0, places),
      sharedDimensions(x, count, out, places, x.rank() - count),
      IndexedDimensions(x, 0, count), indices.strides[places], primitive.call);
}

void kernels::gatherElements(const Primitive &primitive) {
  int64_t axis = primitive.get<primitives::GatherElements>().axis;
  const TensorImpl &x = primitive.input(0), &indices = primitive.input(1);
  TensorImpl &out = primitive.output();
  Iteration<3> space;
  for (uint32_t d = out.rank(); d-- > 0;)
    if (out.sizes[d] != 1)
      space.add(out.sizes[d], {d == axis ? 0 : x.strides[d], indices.strides[d],
                               out.strides[d]});
  space.sort(2);
  space.merge();
  Engine::get().emplace<GatherElementsOperation>(
      primitive.call, std::array{x.storage.get(), indices.storage.get()},
      std::array{out.storage.get()},
      Pieces(space.rows(), elementsPerChunk(x.dtype) / space.columns(),
             coversStorage(out)),
      Elements(x), Elements(indices), Elements(out), space,
      IndexedDimension(x, static_cast<uint32_t>(axis)), elementSize(x.dtype));
}
