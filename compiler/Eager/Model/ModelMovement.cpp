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
    int64_t from = std::min(std::max<int64_t>(0, -low[i]), x.size(d));
    int64_t to = x.size(d) - std::max<int64_t>(0, -high[i]);
    cut = cut.narrow(d, from, std::max<int64_t>(0, to - from));
    shape.push_back(x.size(d) + low[i] + high[i]);
  }
  Tensor y = empty(shape, x.dtype());
  y.copy_(value);
  if (cut.numel() == 0)
    return y;
  Tensor inside = y;
  for (int64_t d = 0; d < x.dim(); ++d)
    inside = inside.narrow(d, std::max<int64_t>(0, low[static_cast<size_t>(d)]),
                           cut.size(d));
  inside.copy_(cut);
  return y;
}

/// What is repeated may be among what is cut off at the other end.
static Tensor padByRepeating(const Tensor &x, const IntArray &low,
                             const IntArray &high, Padding mode) {
  IntArray before = low, after = high;
  for (size_t i = 0; i < low.size(); ++i) {
    before[i] = std::max<int64_t>(0, low[i]);
    after[i] = std::max<int64_t>(0, high[i]);
  }
  Tensor y = tinh::pad(x, before, after, mode);
  for (int64_t d = 0; d < x.dim(); ++d) {
    auto i = static_cast<size_t>(d);
    y = y.narrow(d, before[i] - low[i], x.size(d) + low[i] + high[i]);
  }
  return y;
}

static Action padAction(graph::PadOp pad, std::vector<size_t> in, size_t out) {
  return [=, low = toArray(pad.getLow()), high = toArray(pad.getHigh()),
          mode = pad.getMode()](Frame &frame) {
    const Tensor &x = frame[in[0]];
    frame[out] = mode == graph::PadMode::Constant
                     ? padWith(x, frame[in[1]], low, high)
                     : padByRepeating(x, low, high, paddingOf(mode));
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

namespace {
/// Tuples that index dimensions of x from `batch` on as numbers of rows.
struct Rows {
  Tensor number;
  int64_t count = 1, size = 1;

  Rows(const Tensor &x, const Tensor &indices, int64_t batch)
      : number(zeros({}, int64)) {
    int64_t width = indices.size(-1);
    for (int64_t d = 0; d < width; ++d) {
      int64_t extent = x.size(batch + d);
      Tensor index = clampIndices(indices.select(-1, d), extent);
      number = number * extent + remainder(index, extent);
      count *= extent;
    }
    for (int64_t d = batch + width; d < x.dim(); ++d)
      size *= x.size(d);
  }
};
} // namespace

static Action gatherNdAction(graph::GatherNdOp gather, std::vector<size_t> in,
                             size_t out, const Shape &shape) {
  int64_t batch = gather.getBatchDims();
  return [=](Frame &frame) {
    const Tensor &x = frame[in[0]];
    Rows rows(x, frame[in[1]], batch);
    int64_t batches = 1;
    for (int64_t d = 0; d < batch; ++d)
      batches *= x.size(d);
    Tensor first = arange(0, batches, 1, int64).unsqueeze(1) * rows.count;
    Tensor flat = (rows.number.reshape({batches, -1}) + first).flatten();
    frame[out] =
        index_select(x.reshape({batches * rows.count, rows.size}), 0, flat)
            .reshape(shape);
  };
}

static ScatterOp scatterOp(graph::ScatterKind kind) {
  switch (kind) {
  case graph::ScatterKind::Assign:
    return ScatterOp::Assign;
  case graph::ScatterKind::Add:
    return ScatterOp::Add;
  case graph::ScatterKind::Mul:
    return ScatterOp::Mul;
  case graph::ScatterKind::Max:
    return ScatterOp::Max;
  case graph::ScatterKind::Min:
    return ScatterOp::Min;
  }
  llvm_unreachable("no such kind");
}

/// A copy of x, which `write` puts the updates into if there are any.
template <typename Write>
static Action scatterAction(std::vector<size_t> in, size_t out, Write write) {
  return [=](Frame &frame) {
    const Tensor &indices = frame[in[1]], &updates = frame[in[2]];
    Tensor y = frame[in[0]].clone();
    if (updates.numel() > 0)
      write(y, indices, updates);
    frame[out] = y;
  };
}

/// Rows of y, at their numbers.
static void scatterRows(ScatterOp op, const Tensor &y, const Tensor &number,
                        const Tensor &updates, const Call &call) {
  Tensor tuples = number.unsqueeze(-1);
  TensorImpl &out = use(y, call);
  perform(primitives::ScatterNd{op},
          {&out, &use(tuples, call), &use(updates, call)}, out, call);
}

/// Writes to a view of y whose first dimension is the axis.
static Action scatterAction(graph::ScatterOp scatter, std::vector<size_t> in,
                            size_t out, const Call &call) {
  return scatterAction(
      in, out,
      [=, op = scatterOp(scatter.getKind()), axis = int64_t(scatter.getAxis())](
          const Tensor &y, const Tensor &indices, const Tensor &updates) {
        Tensor number = clampIndices(indices.flatten(), y.size(axis));
        Tensor parts = updates;
        if (indices.dim() != 1) {
          Shape shape = y.shape();
          shape[static_cast<size_t>(axis)] = indices.numel();
          parts = updates.reshape(shape);
        }
        std::vector<int64_t> order = {axis};
        for (int64_t d = 0; d < y.dim(); ++d)
          if (d != axis)
            order.push_back(d);
        scatterRows(op, y.permute(order), number, parts.permute(order), call);
      });
}

static Action scatterElementsAction(graph::ScatterElementsOp scatter,
                                    std::vector<size_t> in, size_t out,
                                    const Call &call) {
  return scatterAction(
      in, out,
      [=, op = scatterOp(scatter.getKind()), axis = int64_t(scatter.getAxis())](
          const Tensor &y, const Tensor &indices, const Tensor &updates) {
        Tensor places = clampIndices(indices, y.size(axis));
        TensorImpl &out = use(y, call);
        perform(primitives::ScatterElements{op, axis},
                {&out, &use(places, call), &use(updates, call)}, out, call);
      });
}

static Action scatterNdAction(graph::ScatterNdOp scatter,
                              std::vector<size_t> in, size_t out,
                              const Call &call) {
  return scatterAction(
      in, out,
      [=, op = scatterOp(scatter.getKind())](
          const Tensor &y, const Tensor &indices, const Tensor &updates) {
        Rows rows(y, indices, 0);
        scatterRows(op, y.reshape({rows.count, rows.size}),
                    rows.number.flatten(), updates.reshape({-1, rows.size}),
                    call);
      });
}

/// The actions of gathers and scatters.
static Action indexing(mlir::Operation *op, const std::vector<size_t> &in,
                       size_t out, const Shape &shape, const Call &call) {
  if (auto gather = dyn_cast<graph::GatherOp>(op))
    return gatherAction(gather, in, out, shape);
  if (auto gather = dyn_cast<graph::GatherElementsOp>(op))
    return [=, axis = int64_t(gather.getAxis())](Frame &frame) {
      const Tensor &x = frame[in[0]];
      frame[out] =
          tinh::gather(x, axis, clampIndices(frame[in[1]], x.size(axis)));
    };
  if (auto gather = dyn_cast<graph::GatherNdOp>(op))
    return gatherNdAction(gather, in, out, shape);
  if (auto scatter = dyn_cast<graph::ScatterOp>(op))
    return scatterAction(scatter, in, out, call);
  if (auto scatter = dyn_cast<graph::ScatterElementsOp>(op))
    return scatterElementsAction(scatter, in, out, call);
  if (auto scatter = dyn_cast<graph::ScatterNdOp>(op))
    return scatterNdAction(scatter, in, out, call);
  return {};
}

Action ModelOps::movement(const Op &op) {
  std::vector<size_t> in = op.in;
  size_t out = op.out.empty() ? 0 : op.out[0];
  Shape shape = op.types.empty() ? Shape() : toArray(op.types[0].second);
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
  if (auto iota = dyn_cast<graph::IotaOp>(op.op))
    return [=, start = int64_t(iota.getStart()), step = int64_t(iota.getStep()),
            dtype = DType(op.types[0].first)](Frame &frame) {
      frame[out] = (arange(0, shape[0], 1, int64) * step + start).to(dtype);
    };
  return indexing(op.op, in, out, shape, op.call);
}

} // namespace tinh::eager
