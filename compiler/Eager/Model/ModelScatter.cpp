//===- ModelScatter.cpp - Elements put where indices say ------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Model/ModelOps.h"

#include "tinh/runtime.hpp"

using namespace mlir;

namespace tinh::eager {

template <typename Op> static ScatterOp kindOf(Op op) {
  switch (op.getKind()) {
  case graph::ScatterKind::Assign:
    return ScatterOp::Assign;
  case graph::ScatterKind::Add:
    return ScatterOp::Add;
  default:
    throw Error(TINH_INVALID_ARGUMENT,
                "eager execution of " + op->getName().getStringRef().str() +
                    " is for assign and add, not " +
                    graph::stringifyScatterKind(op.getKind()).str());
  }
}

/// A copy of x, of which `write` changes some unless there is nothing to write.
template <typename Write>
static Tensor changedCopy(const Tensor &x, const Tensor &updates, Write write) {
  Tensor y = x.clone();
  if (y.numel() > 0 && updates.numel() > 0)
    write(y);
  return y;
}

/// Along one axis: as tuples of one index, with the axis in front.
static Tensor scatterAlong(ScatterOp kind, int64_t axis, const Tensor &x,
                           const Tensor &indices, const Tensor &updates,
                           const Call &call) {
  return changedCopy(x, updates, [&](const Tensor &y) {
    Tensor places = clampIndices(indices, x.size(axis)).reshape({-1, 1});
    Shape shape = x.shape();
    shape[static_cast<size_t>(axis)] = places.size(0);
    Tensor parts = updates.reshape(shape);
    parts = movedAxis(use(parts, call), axis, 0);
    Tensor target = movedAxis(use(y, call), axis, 0);
    Backend::current().scatterNd(kind, use(places, call), use(parts, call),
                                 use(target, call), call);
  });
}

static Tensor scatterTuples(ScatterOp kind, const Tensor &x,
                            const Tensor &indices, const Tensor &updates,
                            const Call &call) {
  return changedCopy(x, updates, [&](const Tensor &y) {
    std::vector<int64_t> extents;
    for (int64_t d = 0; d < indices.size(-1); ++d)
      extents.push_back(x.size(d));
    Tensor limits = from_data(extents);
    Tensor places = clamp(indices.to(int64), -limits, limits - 1);
    Backend::current().scatterNd(kind, use(places, call), use(updates, call),
                                 use(y, call), call);
  });
}

Action ModelOps::scatter(const Op &op) {
  std::vector<size_t> in = op.in;
  size_t out = op.out.empty() ? 0 : op.out[0];
  if (auto scatter = dyn_cast<graph::ScatterOp>(op.op))
    return [=, kind = kindOf(scatter), axis = int64_t(scatter.getAxis()),
            call = op.call](Frame &frame) {
      frame[out] = scatterAlong(kind, axis, frame[in[0]], frame[in[1]],
                                frame[in[2]], call);
    };
  if (auto scatter = dyn_cast<graph::ScatterElementsOp>(op.op))
    return [=, kind = kindOf(scatter), axis = int64_t(scatter.getAxis()),
            call = op.call](Frame &frame) {
      const Tensor &x = frame[in[0]], &updates = frame[in[2]];
      frame[out] = changedCopy(x, updates, [&](const Tensor &y) {
        Tensor places = clampIndices(frame[in[1]], x.size(axis));
        Backend::current().scatterElements(kind, use(places, call),
                                           use(updates, call), axis,
                                           use(y, call), call);
      });
    };
  if (auto scatter = dyn_cast<graph::ScatterNdOp>(op.op))
    return [=, kind = kindOf(scatter), call = op.call](Frame &frame) {
      frame[out] =
          scatterTuples(kind, frame[in[0]], frame[in[1]], frame[in[2]], call);
    };
  return {};
}

} // namespace tinh::eager
