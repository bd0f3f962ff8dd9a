//===- NaiveMovement.cpp - Elements moved, plainly --------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "NaiveArray.h"
#include "NaiveBackend.h"

#include <algorithm>

using namespace tinh;
using namespace tinh::eager;

void naive::concat(const Primitive &primitive) {
  int64_t axis = primitive.get<primitives::Concat>().axis;
  TensorImpl &out = primitive.output();
  int64_t start = 0;
  for (const Input &input : primitive.inputs) {
    const TensorImpl &x = *input.tensor;
    forEach(x.sizes, [&](const Place &place) {
      Place at = place;
      at[axis] += start;
      Array(out).set(at, Array(x)[place]);
    });
    start += x.sizes[axis];
  }
}

void naive::pad(const Primitive &primitive) {
  const auto &[low, high, mode, value] = primitive.get<primitives::Pad>();
  const TensorImpl &x = primitive.input(0);
  TensorImpl &out = primitive.output();
  forEach(out.sizes, [&](const Place &place) {
    Place at = place;
    bool inside = true;
    for (uint32_t i = 0; i < x.rank(); ++i) {
      int64_t extent = x.sizes[i];
      at[i] -= low[i];
      inside &= at[i] >= 0 && at[i] < extent;
      if (mode == PadMode::Edge)
        at[i] = std::clamp<int64_t>(at[i], 0, extent - 1);
      else if (mode == PadMode::Reflect)
        at[i] = at[i] < 0         ? -at[i]
                : at[i] >= extent ? 2 * extent - 2 - at[i]
                                  : at[i];
      else if (mode == PadMode::Wrap)
        at[i] = (at[i] + extent) % extent;
    }
    bool isValue = mode == PadMode::Constant && !inside;
    Array(out).set(place, isValue ? elementOf(value) : Array(x)[at]);
  });
}

void naive::flip(const Primitive &primitive) {
  const Dims &axes = primitive.get<primitives::Flip>().axes;
  const TensorImpl &x = primitive.input(0);
  TensorImpl &out = primitive.output();
  forEach(out.sizes, [&](const Place &place) {
    Place at = place;
    for (int64_t axis : axes)
      at[axis] = x.sizes[axis] - 1 - at[axis];
    Array(out).set(place, Array(x)[at]);
  });
}

//===----------------------------------------------------------------------===//
// By index
//===----------------------------------------------------------------------===//

static int64_t checkedIndex(const Element &element, const TensorImpl &x,
                            int64_t axis, const Call &call) {
  auto index = static_cast<int64_t>(element.integer);
  int64_t extent = x.sizes[axis];
  if (index < -extent || index >= extent)
    throw Error(TINH_INVALID_ARGUMENT,
                describe(call, "index " + std::to_string(index) +
                                   " is out of bounds for dimension " +
                                   std::to_string(axis) + " of size " +
                                   std::to_string(extent)));
  return index < 0 ? index + extent : index;
}

void naive::gather(const Primitive &primitive) {
  int64_t axis = primitive.get<primitives::Gather>().axis;
  const TensorImpl &x = primitive.input(0), &indices = primitive.input(1);
  TensorImpl &out = primitive.output();
  forEach(out.sizes, [&](const Place &place) {
    auto begin = place.begin() + axis, end = begin + indices.rank();
    Element index = Array(indices)[Place(begin, end)];
    Place at(place.begin(), begin);
    at.push_back(checkedIndex(index, x, axis, primitive.call));
    at.insert(at.end(), end, place.end());
    Array(out).set(place, Array(x)[at]);
  });
}

void naive::gatherElements(const Primitive &primitive) {
  int64_t axis = primitive.get<primitives::GatherElements>().axis;
  const TensorImpl &x = primitive.input(0), &indices = primitive.input(1);
  TensorImpl &out = primitive.output();
  forEach(out.sizes, [&](const Place &place) {
    Place at = place;
    at[axis] = checkedIndex(Array(indices)[place], x, axis, primitive.call);
    Array(out).set(place, Array(x)[at]);
  });
}

/// The place in x that a tuple of indices, and then `place` from `tupleRank`
/// on, name.
static Place placeOfTuple(const TensorImpl &x, const TensorImpl &indices,
                          const Place &place, const Call &call) {
  uint32_t tupleRank = indices.rank() - 1;
  Place at, tuple(place.begin(), place.begin() + tupleRank);
  tuple.push_back(0);
  for (int64_t k = 0; k < indices.sizes.back(); ++k) {
    tuple.back() = k;
    at.push_back(checkedIndex(Array(indices)[tuple], x, k, call));
  }
  at.insert(at.end(), place.begin() + tupleRank, place.end());
  return at;
}

void naive::gatherNd(const Primitive &primitive) {
  const TensorImpl &x = primitive.input(0), &indices = primitive.input(1);
  TensorImpl &out = primitive.output();
  forEach(out.sizes, [&](const Place &place) {
    Array(out).set(place,
                   Array(x)[placeOfTuple(x, indices, place, primitive.call)]);
  });
}

static void write(ScatterOp op, TensorImpl &out, const Place &at,
                  Element element) {
  Element before = Array(out)[at];
  if (op == ScatterOp::Add)
    element = {before.real + element.real, before.integer + element.integer};
  else if (op == ScatterOp::Mul)
    element = {before.real * element.real, before.integer * element.integer};
  else if (op == ScatterOp::Max)
    element = {std::max(before.real, element.real),
               std::max(before.integer, element.integer)};
  else if (op == ScatterOp::Min)
    element = {std::min(before.real, element.real),
               std::min(before.integer, element.integer)};
  Array(out).set(at, element);
}

void naive::scatterElements(const Primitive &primitive) {
  const auto &[op, axis] = primitive.get<primitives::ScatterElements>();
  const TensorImpl &indices = primitive.input(1), &updates = primitive.input(2);
  TensorImpl &out = primitive.output();
  forEach(indices.sizes, [&](const Place &place) {
    Place at = place;
    at[axis] = checkedIndex(Array(indices)[place], out, axis, primitive.call);
    write(op, out, at, Array(updates)[place]);
  });
}

void naive::scatterNd(const Primitive &primitive) {
  ScatterOp op = primitive.get<primitives::ScatterNd>().op;
  const TensorImpl &indices = primitive.input(1), &updates = primitive.input(2);
  TensorImpl &out = primitive.output();
  forEach(updates.sizes, [&](const Place &place) {
    write(op, out, placeOfTuple(out, indices, place, primitive.call),
          Array(updates)[place]);
  });
}
