//===- Movement.cpp - Movement ops, evaluated -------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Most of these say only where in an operand each element of the result comes
// from: as strides, or as an index for each element.
//
//===----------------------------------------------------------------------===//
#include "compiler/Reference/Families.h"

#include "dialects/graph/OpFacts.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tinh::reference {

using namespace graph;

/// y[index] = x[start + Σ index · strides]
static Tensor readStrided(Type type, const Tensor &x, int64_t start,
                          const Strides &strides) {
  Tensor y(type);
  visitElements(x, [&](auto kind) {
    using T = decltype(kind);
    const T *from = x.elements<T>().data() + start;
    T *to = y.elements<T>().data();
    walk(y.shape(), std::array<Strides, 1>{strides},
         [&](const std::array<int64_t, 1> &at) { *to++ = from[at[0]]; });
  });
  return y;
}

/// y[start + Σ index · strides] = x[index]
static void writeStrided(const Tensor &x, Tensor &y, int64_t start,
                         const Strides &strides) {
  visitElements(x, [&](auto kind) {
    using T = decltype(kind);
    const T *from = x.elements<T>().data();
    T *to = y.elements<T>().data() + start;
    walk(x.shape(), std::array<Strides, 1>{strides},
         [&](const std::array<int64_t, 1> &at) { to[at[0]] = *from++; });
  });
}

/// y[i] = x[from[i]]
static Tensor pick(Type type, const Tensor &x, ArrayRef<int64_t> from) {
  Tensor y(type);
  visitElements(x, [&](auto kind) {
    using T = decltype(kind);
    for (auto [i, at] : llvm::enumerate(from))
      y.elements<T>()[i] = x.elements<T>()[at];
  });
  return y;
}

//===----------------------------------------------------------------------===//
// Views, concat, slice
//===----------------------------------------------------------------------===//

Tensor transpose(const Tensor &x, ArrayRef<int64_t> permutation) {
  Strides own = rowMajorStrides(x.shape()), strides;
  SmallVector<int64_t> shape;
  for (int64_t axis : permutation) {
    strides.push_back(own[axis]);
    shape.push_back(x.shape()[axis]);
  }
  return readStrided(x.type.clone(shape), x, 0, strides);
}

static Tensor reshape(ReshapeOp op, const Tensor &x) {
  Tensor y = x;
  y.type = cast<RankedTensorType>(op.getType());
  return y;
}

static Tensor broadcast(BroadcastOp op, const Tensor &x) {
  auto shape = cast<RankedTensorType>(op.getType()).getShape();
  return readStrided(op.getType(), x, 0, broadcastStrides(x.shape(), shape));
}

static Tensor concat(ConcatOp op, Operands in) {
  Tensor y(op.getType());
  Strides strides = rowMajorStrides(y.shape());
  int64_t axis = op.getAxis(), at = 0;
  for (const Tensor *x : in) {
    writeStrided(*x, y, at * strides[axis], strides);
    at += x->shape()[axis];
  }
  return y;
}

static Tensor slice(SliceOp op, const Tensor &x) {
  Strides strides = rowMajorStrides(x.shape());
  int64_t start = 0;
  for (size_t i = 0; i < strides.size(); ++i) {
    start += op.getStarts()[i] * strides[i];
    strides[i] *= op.getSteps()[i];
  }
  return readStrided(op.getType(), x, start, strides);
}

//===----------------------------------------------------------------------===//
// pad
//===----------------------------------------------------------------------===//

Tensor padded(const Tensor &x, ArrayRef<int64_t> low, ArrayRef<int64_t> high,
              int64_t value) {
  SmallVector<int64_t> shape;
  for (auto [extent, before, after] : llvm::zip_equal(x.shape(), low, high))
    shape.push_back(extent + before + after);
  Tensor y(x.type.clone(shape));
  llvm::fill(y.integers, value);
  Strides strides = rowMajorStrides(shape);
  int64_t start = 0;
  for (auto [before, stride] : llvm::zip_equal(low, strides))
    start += before * stride;
  writeStrided(x, y, start, strides);
  return y;
}

static int64_t floorModulo(int64_t a, int64_t b) { return (a % b + b) % b; }

/// The index in [0, extent) that padding repeats at `i`; negative: none.
static int64_t paddedIndex(PadMode mode, int64_t i, int64_t extent) {
  if (0 <= i && i < extent)
    return i;
  switch (mode) {
  case PadMode::Constant:
    return -1;
  case PadMode::Edge:
    return std::clamp<int64_t>(i, 0, extent - 1);
  case PadMode::Wrap:
    return floorModulo(i, extent);
  case PadMode::Reflect:
    return std::abs(floorModulo(i + extent - 1, 2 * extent - 2) - extent + 1);
  }
  llvm_unreachable("all modes are listed");
}

static std::optional<Tensor> pad(PadOp op, Operands in) {
  const Tensor &x = *in[0];
  auto type = cast<RankedTensorType>(op.getType());
  if (op.getMode() != PadMode::Constant && x.size() == 0 &&
      type.getNumElements())
    return std::nullopt; // There is nothing to repeat.
  // x and, after it, the padding's value.
  Strides strides = rowMajorStrides(x.shape());
  std::vector<int64_t> from(type.getNumElements());
  for (int64_t i = 0; i < type.getNumElements(); ++i) {
    int64_t rest = i;
    for (int64_t d = x.rank() - 1; d >= 0; --d) {
      int64_t index = rest % type.getDimSize(d) - op.getLow()[d];
      rest /= type.getDimSize(d);
      index = paddedIndex(op.getMode(), index, x.shape()[d]);
      from[i] = index < 0 || from[i] < 0 ? -1 : from[i] + index * strides[d];
    }
  }
  Tensor y(type);
  visitElements(x, [&](auto kind) {
    using T = decltype(kind);
    for (auto [i, at] : llvm::enumerate(from))
      y.elements<T>()[i] =
          at < 0 ? in[1]->elements<T>()[0] : x.elements<T>()[at];
  });
  return y;
}

//===----------------------------------------------------------------------===//
// Gathers
//===----------------------------------------------------------------------===//

/// A negative index counts from the end; what is outside is clamped.
static int64_t validIndex(Integer index, int64_t extent) {
  Integer wrapped = index < 0 ? index + extent : index;
  return static_cast<int64_t>(
      std::clamp<Integer>(wrapped, Integer(0), Integer(extent - 1)));
}

/// Where gathers read, and scatters write, element after element.
static std::vector<int64_t> sliceOffsets(const Tensor &x, const Tensor &indices,
                                         int64_t axis) {
  AxisView view(x.shape(), axis);
  std::vector<int64_t> offsets;
  for (int64_t o = 0; o < view.outer; ++o)
    for (Integer index : indices.integers)
      for (int64_t i = 0; i < view.inner; ++i)
        offsets.push_back(view.at(o, validIndex(index, view.extent), i));
  return offsets;
}

static std::vector<int64_t>
elementOffsets(const Tensor &x, const Tensor &indices, int64_t axis) {
  int64_t extent = x.shape()[axis];
  Strides own = rowMajorStrides(x.shape()), strides = own;
  strides[axis] = 0;
  std::vector<int64_t> offsets;
  walk(indices.shape(), std::array<Strides, 1>{strides},
       [&](const std::array<int64_t, 1> &at) {
         int64_t index = validIndex(indices.integers[offsets.size()], extent);
         offsets.push_back(at[0] + index * own[axis]);
       });
  return offsets;
}

static std::vector<int64_t> tupleOffsets(const Tensor &x, const Tensor &indices,
                                         int64_t batch) {
  int64_t width = indices.shape().back();
  Strides strides = rowMajorStrides(x.shape());
  int64_t slice = strides[batch + width - 1];
  int64_t batches = 1;
  for (int64_t extent : x.shape().take_front(batch))
    batches *= extent;
  int64_t tuples = batches ? indices.size() / width / batches : 0;
  int64_t batchSize = batches ? x.size() / batches : 0;
  std::vector<int64_t> offsets;
  for (int64_t tuple = 0; tuple < batches * tuples; ++tuple) {
    int64_t start = tuple / tuples * batchSize;
    for (int64_t j = 0; j < width; ++j)
      start +=
          strides[batch + j] *
          validIndex(indices.integers[tuple * width + j], x.shape()[batch + j]);
    for (int64_t i = 0; i < slice; ++i)
      offsets.push_back(start + i);
  }
  return offsets;
}

static Tensor gather(GatherOp op, Operands in) {
  return pick(op.getType(), *in[0], sliceOffsets(*in[0], *in[1], op.getAxis()));
}

static Tensor gatherElements(GatherElementsOp op, Operands in) {
  return pick(op.getType(), *in[0],
              elementOffsets(*in[0], *in[1], op.getAxis()));
}

static Tensor gatherNd(GatherNdOp op, Operands in) {
  return pick(op.getType(), *in[0],
              tupleOffsets(*in[0], *in[1], op.getBatchDims()));
}

//===----------------------------------------------------------------------===//
// Scatters
//===----------------------------------------------------------------------===//

template <typename T> static T scattered(ScatterKind kind, T old, T update) {
  switch (kind) {
  case ScatterKind::Assign:
    return update;
  case ScatterKind::Add:
    return old + update;
  case ScatterKind::Mul:
    return multiply(old, update);
  case ScatterKind::Max:
    return larger(old, update);
  case ScatterKind::Min:
    return smaller(old, update);
  }
  llvm_unreachable("all kinds are listed");
}

/// The sums of narrow types are rounded at the end.
static Tensor scatter(ScatterKind kind, Operands in,
                      ArrayRef<int64_t> offsets) {
  Tensor y = *in[0];
  visitElements(y, [&](auto zero) {
    using T = decltype(zero);
    for (auto [i, at] : llvm::enumerate(offsets)) {
      T &element = y.elements<T>()[at];
      element = scattered(kind, element, in[2]->elements<T>()[i]);
    }
  });
  return y;
}

static Tensor iota(IotaOp op) {
  Tensor y(op.getType());
  Integer start = static_cast<int64_t>(op.getStart());
  Integer step = static_cast<int64_t>(op.getStep());
  for (int64_t i = 0; i < y.size(); ++i) {
    Integer value = start + step * i;
    if (y.isFloat())
      y.floats[i] = static_cast<double>(value);
    else
      y.integers[i] = value;
  }
  return y;
}

std::optional<Tensor> evaluateMovement(Operation *op, Operands in) {
  using Result = std::optional<Tensor>;
  // In an empty tensor, gathers read nothing and scatters have no place.
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  if (isa<ScatterOp, ScatterElementsOp, ScatterNdOp>(op) && in[0]->size() == 0)
    return in[2]->size() == 0 ? Result(*in[0]) : Result();
  if (hasRole(op, FusionRole::Lookup) && in[0]->size() == 0)
    return Tensor(type);
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case([&](ReshapeOp view) { return reshape(view, *in[0]); })
      .Case([&](BroadcastOp repeat) { return broadcast(repeat, *in[0]); })
      .Case([&](TransposeOp permute) {
        return transpose(*in[0], permute.getPermutation());
      })
      .Case([&](ConcatOp join) { return concat(join, in); })
      .Case([&](SliceOp cut) { return slice(cut, *in[0]); })
      .Case([&](PadOp extend) { return pad(extend, in); })
      .Case([&](GatherOp take) { return gather(take, in); })
      .Case([&](GatherElementsOp take) { return gatherElements(take, in); })
      .Case([&](GatherNdOp take) { return gatherNd(take, in); })
      .Case([&](ScatterOp put) {
        return scatter(put.getKind(), in,
                       sliceOffsets(*in[0], *in[1], put.getAxis()));
      })
      .Case([&](ScatterElementsOp put) {
        return scatter(put.getKind(), in,
                       elementOffsets(*in[0], *in[1], put.getAxis()));
      })
      .Case([&](ScatterNdOp put) {
        return scatter(put.getKind(), in, tupleOffsets(*in[0], *in[1], 0));
      })
      .Case([&](IotaOp count) { return iota(count); })
      .Default([](Operation *) { return Result(); });
}

} // namespace tinh::reference
