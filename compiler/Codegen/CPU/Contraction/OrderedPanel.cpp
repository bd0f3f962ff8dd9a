//===- OrderedPanel.cpp - A panel of bytes in order -------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For all tiles of a block's rows a panel is copied once, in the order that the
// artifact has for it. Tiles go through the copy from one end to the other:
// through groups of bytes by vpmaddubsw, in each of the pairings, and then
// through those that have been extended to 16 bits. A list says where each
// group lies in a row, whose bytes are paired in registers: copies of rows in
// all pairings are more than the second-level cache has room for.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Contraction/OrderedPanel.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace tinh::cpu {

static constexpr size_t kPairings = std::size(kBytePairings);

/// The lists of places, by number and in order.
static int64_t listBytes(const Contraction &c) {
  return alignBytes(c.steps() * sizeof(int32_t));
}

int64_t OrderedPanel::bytes(const Contraction &c, const ContractionPlan &plan) {
  // All groups may have to be extended.
  return 2 * listBytes(c) +
         alignBytes(2 * c.steps() * c.group() * plan.panelWidth);
}

void OrderedPanel::listGroups(
    llvm::function_ref<int64_t(unsigned)> inputStride) {
  auto list = [&](int64_t offset) {
    return kernel
        .scratchBuffer(b, plan.groupsOffset + offset, c.steps(), b.getI32Type())
        .memref;
  };
  places = list(0);
  orderedPlaces = list(listBytes(c));
  std::function<LogicalResult(size_t, Value, Value)> nest =
      [&](size_t level, Value number, Value place) -> LogicalResult {
    if (level == c.depth.size()) {
      place = arith::IndexCastOp::create(b, loc, b.getI32Type(), place);
      memref::StoreOp::create(b, loc, place, places, number);
      return success();
    }
    bool isLast = level + 1 == c.depth.size();
    int64_t together = isLast ? c.group() : 1,
            count = llvm::divideCeil(c.extents[c.depth[level]], together),
            stride = inputStride(c.depth[level]) * together;
    return loop(count, 1, [&](Value iv) {
      return nest(level + 1, scalar.add(scalar.mul(number, count), iv),
                  scalar.add(place, scalar.mul(iv, stride)));
    });
  };
  (void)nest(0, scalar.index(0), scalar.index(0));
}

/// Where a group of `part` lies in the copy.
Value OrderedPanel::groupAt(const Part &part, Value position) {
  if (part.pairing)
    return scalar.mul(position, groupBytes());
  Value behind = scalar.mul(sub(position, part.begin), 2);
  return scalar.mul(scalar.add(part.begin, behind), groupBytes());
}

//===----------------------------------------------------------------------===//
// Copying
//===----------------------------------------------------------------------===//

void OrderedPanel::copyGroup(const Part &part, Value position, Value panel,
                             Value source) {
  int64_t width = target.vectorBytes;
  auto bytes = VectorType::get({width}, b.getI8Type());
  Value to = groupAt(part, position);
  auto store = [&](Value vector, int64_t number) {
    vector = vector::BitCastOp::create(b, loc, bytes, vector);
    vector::StoreOp::create(b, loc, vector, copied,
                            scalar.add(to, scalar.index(number * width)));
  };
  for (int64_t v = 0; v < vectors; ++v) {
    Value columns = vector::LoadOp::create(
        b, loc, bytes, panel, scalar.add(source, scalar.index(v * width)));
    if (part.pairing) {
      store(pairBytes(b, loc, columns, *part.pairing), v);
      continue;
    }
    auto [even, odd] = extendBytes(b, loc, columns, /*isUnsigned=*/false);
    store(even, 2 * v);
    store(odd, 2 * v + 1);
  }
}

void OrderedPanel::copy(Value panel, Value from, Value order, Value line,
                        int64_t vectors) {
  this->vectors = vectors;
  copied = kernel
               .scratchBuffer(b, plan.groupsOffset + 2 * listBytes(c),
                              2 * c.steps() * groupBytes(), b.getI8Type())
               .memref;
  auto orderAt = [&](Value at) -> Value {
    Value number = memref::LoadOp::create(b, loc, order, scalar.add(line, at));
    return arith::IndexCastUIOp::create(b, loc, b.getIndexType(), number);
  };
  parts.clear();
  Value end = scalar.index(0);
  for (size_t pairing = 0; pairing <= kPairings; ++pairing) {
    Part part{end, scalar.index(c.steps()), std::nullopt};
    if (pairing < kPairings)
      part = {end, orderAt(scalar.index(pairing)), pairing};
    end = part.end;
    parts.push_back(part);
  }
  constexpr int64_t kLine = 64;
  int64_t panelBytes = c.steps() * groupBytes();
  for (const Part &part : parts)
    (void)loop(part.begin, part.end, 1, [&](Value position) {
      Value number = orderAt(scalar.add(position, scalar.index(kPairings)));
      Value place = memref::LoadOp::create(b, loc, places, number);
      memref::StoreOp::create(b, loc, place, orderedPlaces, position);
      Value source = scalar.add(from, scalar.mul(number, groupBytes()));
      copyGroup(part, position, panel, source);
      // While tiles go through this panel, the next one comes nearer.
      for (int64_t line = 0; line < groupBytes(); line += kLine)
        memref::PrefetchOp::create(
            b, loc, panel, scalar.add(source, scalar.index(panelBytes + line)),
            /*isWrite=*/false, /*localityHint=*/2, /*isDataCache=*/true);
      return success();
    });
}

//===----------------------------------------------------------------------===//
// Multiplying
//===----------------------------------------------------------------------===//

/// Vectors of a group in the copy, from its vector `first` on.
SmallVector<Value> OrderedPanel::loadGroup(Value at, VectorType type,
                                           int64_t first, int64_t count) {
  int64_t width = target.vectorBytes;
  Values loaded;
  for (int64_t v = first; v < first + count; ++v) {
    Value bytes =
        vector::LoadOp::create(b, loc, VectorType::get({width}, b.getI8Type()),
                               copied, scalar.add(at, scalar.index(v * width)));
    loaded.push_back(vector::BitCastOp::create(b, loc, type, bytes));
  }
  return loaded;
}

void OrderedPanel::multiplyGroup(const Part &part, Value position, Value input,
                                 ArrayRef<Value> rowAt, Values &sums) {
  int64_t width = target.vectorBytes;
  Value at = groupAt(part, position);
  if (part.pairing) {
    auto bytes = VectorType::get({width}, b.getI8Type());
    multiplyByteTile(b, loc, input, rowAt, loadGroup(at, bytes, 0, vectors),
                     target, sums, *part.pairing);
    return;
  }
  auto words = VectorType::get({width / 2}, b.getI16Type());
  SmallVector<std::array<Value, 2>> columns;
  for (int64_t v = 0; v < vectors; ++v) {
    Values halves = loadGroup(at, words, 2 * v, 2);
    columns.push_back({halves[0], halves[1]});
  }
  ExtendedBytes slab = extendedBytes(c, plan);
  multiplyExtendedTile(b, loc, input, rowAt, {slab.even, slab.odd}, columns,
                       target, sums);
}

FailureOr<SmallVector<Value>>
OrderedPanel::addProducts(Value input, Value inputAt, int64_t rows,
                          int64_t rowStride, ValueRange sums) {
  Values state(sums);
  for (const Part &part : parts) {
    auto added = buildLoop(
        b, loc, part.begin, part.end, 1, state,
        [&](Value position, ValueRange values) -> FailureOr<Values> {
          Values sums(values), rowAt;
          Value place = memref::LoadOp::create(b, loc, orderedPlaces, position);
          place = arith::IndexCastOp::create(b, loc, b.getIndexType(), place);
          for (int64_t r = 0; r < rows; ++r)
            rowAt.push_back(scalar.add(scalar.add(inputAt, place),
                                       scalar.index(r * rowStride)));
          multiplyGroup(part, position, input, rowAt, sums);
          return sums;
        });
    if (failed(added))
      return failure();
    state = *added;
  }
  return state;
}

} // namespace tinh::cpu
