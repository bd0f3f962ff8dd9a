//===- ModelMovement.cpp - Movement of elements -----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Model/ModelOps.h"

using namespace mlir;

namespace tinh::eager {

static IntArray toArray(ArrayRef<int64_t> values) {
  return IntArray(std::span(values.data(), values.size()));
}

/// A box with steps, some of which may be negative.
static Tensor takeBox(Tensor x, const IntArray &starts, const IntArray &sizes,
                      const IntArray &steps) {
  for (int64_t d = 0; d < x.dim(); ++d) {
    auto i = static_cast<size_t>(d);
    int64_t start = starts[i], step = steps[i];
    if (sizes[i] == 0) {
      x = x.narrow(d, 0, 0);
      continue;
    }
    if (step < 0) { // From the last element on, then turned round.
      start += (sizes[i] - 1) * step;
      x = flip(x.slice(d, start, start - (sizes[i] - 1) * step + 1, -step), d);
      continue;
    }
    x = x.slice(d, start, start + (sizes[i] - 1) * step + 1, step);
  }
  return x;
}

/// Indices as the graph has them: one out of bounds is clamped into them.
static Tensor clampIndices(const Tensor &indices, int64_t extent) {
  return clamp(indices.to(int64), -extent, extent - 1);
}

static Action sliceAction(graph::SliceOp slice, size_t in, size_t out) {
  return [=, starts = toArray(slice.getStarts()),
          sizes = toArray(slice.getSizes()),
          steps = toArray(slice.getSteps())](Frame &frame) {
    frame[out] = takeBox(frame[in], starts, sizes, steps);
  };
}

static Padding paddingOf(graph::PadMode mode) {
  switch (mode) {
  case graph::PadMode::Constant:
    return Padding::Constant;
  case graph::PadMode::Edge:
    return Padding::Edge;
  case graph::PadMode::Reflect:
    return Padding::Reflect;
  case graph::PadMode::Wrap:
    return Padding::Wrap;
  }
  llvm_unreachable("no such mode");
}

/// The padding's value may be computed, so that it is written around the rest.
static Tensor padWith(const Tensor &x, const Tensor &value, const IntArray &low,
                      const IntArray &high) {
  Tensor cut = x;
  Shape shape;
  for (int64_t d = 0; d < x.dim(); ++d) {
    auto i = static_cast<size_t>(d);
    int64_t from = std::max<int64_t>(0, -low[i]);
    int64_t to = x.size(d) - std::max<int64_t>(0, -high[i]);
    cut = cut.narrow(d, from, std::max<int64_t>(0, to - from));
    shape.push_back(x.size(d) + low[i] + high[i]);
  }
  Tensor y = empty(shape, x.dtype());
  y.copy_(value);
  Tensor inside = y;
  for (int64_t d = 0; d < x.dim(); ++d)
    inside = inside.narrow(d, std::max<int64_t>(0, low[static_cast<size_t>(d)]),
                           cut.size(d));
  inside.copy_(cut);
  return y;
}

static Action padAction(graph::PadOp pad, std::vector<size_t> in, size_t out) {
  return [=, low = toArray(pad.getLow()), high = toArray(pad.getHigh()),
          mode = pad.getMode()](Frame &frame) {
    const Tensor &x = frame[in[0]];
    frame[out] = mode == graph::PadMode::Constant
                     ? padWith(x, frame[in[1]], low, high)
                     : tinh::pad(x, low, high, paddingOf(mode));
  };
}

//===----------------------------------------------------------------------===//
// By index
//===----------------------------------------------------------------------===//

static Action gatherAction(graph::GatherOp gather, std::vector<size_t> in,
                           size_t out, const Shape &shape) {
  return [=, axis = int64_t(gather.getAxis())](Frame &frame) {
    const Tensor &x = frame[in[0]];
    Tensor indices = clampIndices(frame[in[1]].flatten(), x.size(axis));
    frame[out] = index_select(x, axis, indices).reshape(shape);
  };
}

static Action gatherNdAction(graph::GatherNdOp gather, std::vector<size_t> in,
                             size_t out, const Shape &shape) {
  int64_t batch = gather.getBatchDims();
  return [=](Frame &frame) {
    // Batches and tuples as rows of one dimension each, to be indexed by
    // number.
    const Tensor &x = frame[in[0]], &indices = frame[in[1]];
    int64_t width = indices.size(-1), rows = 1, size = 1, batches = 1;
    Tensor number = zeros({}, int64);
    for (int64_t d = 0; d < batch; ++d)
      batches *= x.size(d);
    for (int64_t d = 0; d < width; ++d) {
      int64_t extent = x.size(batch + d);
      Tensor index = clampIndices(indices.select(-1, d), extent);
      number = number * extent + remainder(index, extent);
      rows *= extent;
    }
    for (int64_t d = batch + width; d < x.dim(); ++d)
      size *= x.size(d);
    Tensor first = arange(0, batches, 1, int64).unsqueeze(1) * rows;
    Tensor flat = (number.reshape({batches, -1}) + first).flatten();
    frame[out] =
        index_select(x.reshape({batches * rows, size}), 0, flat).reshape(shape);
  };
}

Action ModelOps::movement(const Op &op) {
  std::vector<size_t> in = op.in;
  size_t out = op.out.empty() ? 0 : op.out[0];
  Shape shape = op.types.empty() ? Shape() : eager::toArray(op.types[0].second);
  if (isa<graph::ReshapeOp>(op.op))
    return [=](Frame &frame) { frame[out] = frame[in[0]].reshape(shape); };
  if (isa<graph::BroadcastOp>(op.op))
    return
        [=](Frame &frame) { frame[out] = broadcast_to(frame[in[0]], shape); };
  if (auto transpose = dyn_cast<graph::TransposeOp>(op.op))
    return [=, order = toArray(transpose.getPermutation())](Frame &frame) {
      frame[out] = frame[in[0]].permute(order);
    };
  if (auto concat = dyn_cast<graph::ConcatOp>(op.op))
    return [=, axis = int64_t(concat.getAxis())](Frame &frame) {
      std::vector<Tensor> parts;
      for (size_t part : in)
        parts.push_back(frame[part]);
      frame[out] = tinh::concat(parts, axis);
    };
  if (auto slice = dyn_cast<graph::SliceOp>(op.op))
    return sliceAction(slice, in[0], out);
  if (auto pad = dyn_cast<graph::PadOp>(op.op))
    return padAction(pad, in, out);
  if (auto gather = dyn_cast<graph::GatherOp>(op.op))
    return gatherAction(gather, in, out, shape);
  if (auto gather = dyn_cast<graph::GatherElementsOp>(op.op))
    return [=, axis = int64_t(gather.getAxis())](Frame &frame) {
      const Tensor &x = frame[in[0]];
      frame[out] =
          tinh::gather(x, axis, clampIndices(frame[in[1]], x.size(axis)));
    };
  if (auto gather = dyn_cast<graph::GatherNdOp>(op.op))
    return gatherNdAction(gather, in, out, shape);
  if (auto iota = dyn_cast<graph::IotaOp>(op.op))
    return [=, start = int64_t(iota.getStart()), step = int64_t(iota.getStep()),
            dtype = DType(op.types[0].first)](Frame &frame) {
      frame[out] = (arange(0, shape[0], 1, int64) * step + start).to(dtype);
    };
  return {};
}

} // namespace tinh::eager
