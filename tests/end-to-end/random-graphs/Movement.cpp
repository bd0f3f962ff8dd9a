//===- Movement.cpp - Random movement ops -----------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tests/end-to-end/random-graphs/Generator.h"

#include <numeric>

using namespace mlir;

namespace tinh::test {

using namespace graph;

namespace {

bool makeTranspose(Generator &g) {
  Known x = g.any();
  Shape permutation(x.rank());
  std::iota(permutation.begin(), permutation.end(), 0);
  for (int64_t i = x.rank() - 1; i > 0; --i)
    std::swap(permutation[i], permutation[g.number(0, i)]);
  return g.add(g.create<TransposeOp>(x.value, permutation), x.bound, x.exact);
}

/// Splits and joins dimensions.
bool makeReshape(Generator &g) {
  Known x = g.any();
  Shape shape;
  for (int64_t extent : x.shape()) {
    int64_t factor = g.number(1, 4);
    if (g.chance(0.5) && extent % factor == 0)
      shape.append({factor, extent / factor});
    else if (!shape.empty() && g.chance(0.4))
      shape.back() *= extent;
    else
      shape.push_back(extent);
  }
  if (shape.size() > 6)
    return false;
  return g.add(
      g.create<ReshapeOp>(RankedTensorType::get(shape, x.element()), x.value),
      x.bound, x.exact);
}

bool makeBroadcast(Generator &g) {
  Known x = g.any();
  Shape shape(x.shape());
  for (int64_t &extent : shape)
    if (extent == 1)
      extent = g.number(1, 5);
  if (shape.size() < 5 && g.chance(0.4))
    shape.insert(shape.begin(), g.number(1, 4));
  if (!isSmall(shape))
    return false;
  return g.add(
      g.create<BroadcastOp>(RankedTensorType::get(shape, x.element()), x.value),
      x.bound, x.exact);
}

bool makeSlice(Generator &g) {
  Known x = g.any();
  Shape starts, sizes, steps;
  for (int64_t extent : x.shape()) {
    if (extent == 0 || g.chance(0.4)) {
      starts.push_back(0);
      sizes.push_back(extent);
      steps.push_back(1);
      continue;
    }
    int64_t step = g.choose({1, 1, 2, 3}), start = g.number(0, extent - 1);
    int64_t most = (extent - 1 - start) / step + 1;
    if (g.chance(0.2)) {
      most = start / step + 1;
      step = -step;
    }
    starts.push_back(start);
    sizes.push_back(g.chance(0.01) ? 0 : g.number(1, most));
    steps.push_back(step);
  }
  return g.add(g.create<SliceOp>(x.value, starts, sizes, steps), x.bound,
               x.exact);
}

/// A leaf, or what a kernel of its own makes of one: that can be written in the
/// place of a piece of a concatenation.
Known makePiece(Generator &g, ArrayRef<int64_t> shape, Type element) {
  int64_t rank = shape.size();
  bool number = !element.isInteger(1);
  if (g.chance(0.3)) {
    Known x = g.leaf(Shape(llvm::reverse(shape)), element);
    Shape permutation(llvm::reverse(llvm::to_vector(llvm::seq(rank))));
    return {g.create<TransposeOp>(x.value, permutation), x.bound, true};
  }
  // Products of bytes are of another type.
  if (g.chance(0.3) && number && !element.isInteger(8) && rank >= 2) {
    Shape left(shape), right = {g.number(1, 20), shape.back()};
    left.back() = right[0];
    Known x = g.leaf(left, element), y = g.leaf(right, element);
    return {g.create<MatmulOp>(x.value, y.value, false, false),
            x.bound * y.bound * right[0], !x.isFloat()};
  }
  Known x = g.leaf(shape, element);
  if (g.chance(0.6) || !number)
    return x;
  int64_t axis = g.number(0, rank - 1);
  return {g.create<CumsumOp>(x.value, axis, false, false),
          x.bound * shape[axis], !x.isFloat()};
}

bool makeConcat(Generator &g) {
  Known x = g.any();
  if (x.rank() == 0)
    return false;
  int64_t axis = g.number(0, x.rank() - 1);
  SmallVector<Value> parts = {x.value};
  double bound = x.bound;
  bool exact = x.exact;
  for (int64_t i = g.number(1, 3); i > 0; --i) {
    if (g.chance(0.15)) {
      parts.push_back(x.value);
      continue;
    }
    Shape shape(x.shape());
    shape[axis] = g.chance(0.03) ? 0 : g.number(1, shape[axis] + 1);
    Known part = makePiece(g, shape, x.element());
    parts.insert(g.chance(0.5) ? parts.begin() : parts.end(), part.value);
    bound = std::max(bound, part.bound);
    exact &= part.exact;
  }
  Value y = g.create<ConcatOp>(parts, axis);
  return g.add(y, bound, exact);
}

bool makePad(Generator &g) {
  Known x = g.any();
  // The other modes repeat elements.
  auto mode =
      x.isEmpty() ? PadMode::Constant : static_cast<PadMode>(g.number(0, 3));
  Shape low, high;
  for (int64_t extent : x.shape()) {
    int64_t most = mode == PadMode::Reflect ? extent - 1
                   : mode == PadMode::Wrap  ? extent
                                            : 4;
    most = std::min<int64_t>(most, 4);
    // Negative amounts cut, but leave something.
    int64_t cut = mode == PadMode::Constant && extent ? (extent - 1) / 2 : 0;
    low.push_back(g.chance(0.5) ? g.number(-cut, most) : 0);
    high.push_back(g.chance(0.5) ? g.number(-cut, most) : 0);
  }
  Known value = g.leaf({}, x.element());
  Value y = g.create<PadOp>(x.value, value.value, low, high, mode);
  return g.add(y, std::max(x.bound, value.bound), x.exact);
}

//===----------------------------------------------------------------------===//
// Gathers
//===----------------------------------------------------------------------===//

Value indices(Generator &g, ArrayRef<int64_t> shape) {
  Type element =
      g.chance(0.5) ? g.builder.getI64Type() : g.builder.getI32Type();
  return g.leaf(shape, element).value;
}

bool makeGather(Generator &g) {
  Known x = g.any();
  if (x.rank() == 0 || x.isEmpty())
    return false;
  int64_t axis = g.number(0, x.rank() - 1);
  Shape picked;
  for (int64_t i = g.number(0, 2); i > 0; --i)
    picked.push_back(g.number(1, 5));
  Value y = g.create<GatherOp>(x.value, indices(g, picked), axis);
  return g.add(y, x.bound, x.exact);
}

bool makeGatherElements(Generator &g) {
  Known x = g.any();
  if (x.rank() == 0 || x.isEmpty())
    return false;
  int64_t axis = g.number(0, x.rank() - 1);
  Shape shape;
  for (auto [i, extent] : llvm::enumerate(x.shape()))
    shape.push_back(static_cast<int64_t>(i) == axis ? g.number(1, 9)
                                                    : g.number(1, extent));
  return g.add(g.create<GatherElementsOp>(x.value, indices(g, shape), axis),
               x.bound, x.exact);
}

bool makeGatherNd(Generator &g) {
  Known x = g.any();
  if (x.rank() == 0 || x.isEmpty())
    return false;
  int64_t batch = g.chance(0.4) ? g.number(0, x.rank() - 1) : 0;
  Shape shape(x.shape().take_front(batch));
  if (g.chance(0.7))
    shape.push_back(g.number(1, 6));
  shape.push_back(g.number(1, x.rank() - batch));
  Value y = g.create<GatherNdOp>(x.value, indices(g, shape), batch);
  return g.add(y, x.bound, x.exact);
}

//===----------------------------------------------------------------------===//
// Scatters, of as many updates as gathering with the indices gives elements
//===----------------------------------------------------------------------===//

ScatterKind scatterKind(Generator &g, const Known &x) {
  if (x.isBool())
    return ScatterKind::Assign;
  return g.choose({ScatterKind::Assign, ScatterKind::Add, ScatterKind::Max,
                   ScatterKind::Min});
}

/// Adds the result of a scatter of up to `count` updates for an element.
bool addScattered(Generator &g, ScatterKind kind, const Known &x,
                  const Known &updates, int64_t count, Value y) {
  double bound = std::max(x.bound, updates.bound);
  bool exact = x.exact && updates.exact;
  if (kind == ScatterKind::Add) {
    bound = x.bound + updates.bound * static_cast<double>(count);
    exact &= !x.isFloat();
  }
  return g.add(y, bound, exact);
}

bool makeScatter(Generator &g) {
  Known x = g.any();
  if (x.rank() == 0 || x.isEmpty())
    return false;
  int64_t axis = g.number(0, x.rank() - 1), count = 1;
  Shape picked, shape(x.shape().take_front(axis));
  for (int64_t i = g.number(0, 2); i > 0; --i)
    count *= picked.emplace_back(g.number(1, 3));
  llvm::append_range(shape, picked);
  llvm::append_range(shape, x.shape().drop_front(axis + 1));
  Known updates = g.like(RankedTensorType::get(shape, x.element()));
  ScatterKind kind = scatterKind(g, x);
  Value y = g.create<ScatterOp>(kind, x.value, indices(g, picked),
                                updates.value, axis);
  return addScattered(g, kind, x, updates, count, y);
}

bool makeScatterElements(Generator &g) {
  Known x = g.any();
  if (x.rank() == 0 || x.isEmpty())
    return false;
  int64_t axis = g.number(0, x.rank() - 1), count = g.number(1, 9);
  Shape shape;
  for (auto [i, extent] : llvm::enumerate(x.shape()))
    shape.push_back(static_cast<int64_t>(i) == axis ? count
                    : g.chance(0.7)                 ? extent
                                                    : g.number(1, extent));
  Known updates = g.like(RankedTensorType::get(shape, x.element()));
  ScatterKind kind = scatterKind(g, x);
  Value y = g.create<ScatterElementsOp>(kind, x.value, indices(g, shape),
                                        updates.value, axis);
  return addScattered(g, kind, x, updates, count, y);
}

bool makeScatterNd(Generator &g) {
  Known x = g.any();
  if (x.rank() == 0 || x.isEmpty())
    return false;
  int64_t count = g.number(1, 6), width = g.number(1, x.rank());
  Shape shape = {count};
  llvm::append_range(shape, x.shape().drop_front(width));
  Known updates = g.like(RankedTensorType::get(shape, x.element()));
  ScatterKind kind = scatterKind(g, x);
  Value y = g.create<ScatterNdOp>(kind, x.value, indices(g, {count, width}),
                                  updates.value);
  return addScattered(g, kind, x, updates, count, y);
}

bool makeIota(Generator &g) {
  Known x = g.any();
  if (x.rank() == 0 || x.isBool())
    return false;
  int64_t step = g.number(-2, 2), start = g.number(0, 3);
  auto type = RankedTensorType::get({x.shape().back()}, x.element());
  double bound = start + 2.0 * type.getNumElements();
  Value iota = g.create<IotaOp>(type, start, step);
  return g.add(g.create<AddOp>(x.value, iota), x.bound + bound, !x.isFloat());
}

const Family kFamilies[] = {
    {5, makeTranspose}, {5, makeReshape},         {2, makeBroadcast},
    {4, makeSlice},     {4, makeConcat},          {3, makePad},
    {2, makeGather},    {1, makeGatherElements},  {1, makeGatherNd},
    {1, makeScatter},   {1, makeScatterElements}, {1, makeScatterNd},
    {1, makeIota},
};

} // namespace

ArrayRef<Family> movementFamilies() { return kFamilies; }

} // namespace tinh::test
