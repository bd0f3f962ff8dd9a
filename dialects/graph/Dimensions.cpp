//===- Dimensions.cpp - Where the dimensions of results come from ---------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/Dimensions.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tinh::graph {

namespace {

using Sources = SmallVector<SmallVector<DimensionSource, 2>>;

ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

int64_t rankOf(Value value) { return shapeOf(value).size(); }

/// Collects the sources of one op's result.
class Builder {
public:
  explicit Builder(Operation *op) : op(op), sources(rankOf(op->getResult(0))) {}

  Builder &add(int64_t result, unsigned operand, int64_t dimension,
               bool isSame = true) {
    sources[result].push_back({operand, dimension, isSame});
    return *this;
  }
  /// Dimensions `begin` … `end` - 1 of an operand, from `result` on.
  Builder &addRange(int64_t result, unsigned operand, int64_t begin,
                    int64_t end) {
    for (int64_t d = begin; d < end; ++d)
      add(result + d - begin, operand, d);
    return *this;
  }
  /// Those of an operand that is broadcast to the result's first `rank`.
  Builder &addBroadcast(unsigned operand, int64_t count, int64_t rank) {
    ArrayRef<int64_t> from = shapeOf(op->getOperand(operand));
    ArrayRef<int64_t> to = shapeOf(op->getResult(0));
    for (int64_t d = 0; d < count; ++d)
      if (int64_t result = rank - count + d; from[d] == to[result])
        add(result, operand, d);
    return *this;
  }
  Builder &addBroadcast(unsigned operand) {
    return addBroadcast(operand, rankOf(op->getOperand(operand)),
                        rankOf(op->getResult(0)));
  }
  Builder &addAll(unsigned operand) {
    return addRange(0, operand, 0, rankOf(op->getOperand(operand)));
  }

  operator Sources() { return std::move(sources); }

private:
  Operation *op;
  Sources sources;
};

Sources ofElementwise(Operation *op) {
  Builder builder(op);
  for (unsigned i = 0; i < op->getNumOperands(); ++i)
    builder.addBroadcast(i);
  return builder;
}

Sources ofTranspose(TransposeOp op) {
  Builder builder(op);
  for (auto [to, from] : llvm::enumerate(op.getPermutation()))
    builder.add(to, 0, from);
  return builder;
}

Sources ofReshape(ReshapeOp op) {
  Builder builder(op);
  ArrayRef<int64_t> from = shapeOf(op.getX()), to = shapeOf(op.getY());
  for (const ReshapedRun &run : reshapedRuns(from, to)) {
    bool isSame =
        run.fromEnd - run.fromBegin == 1 && run.toEnd - run.toBegin == 1;
    for (int64_t t = run.toBegin; t < run.toEnd; ++t)
      for (int64_t f = run.fromBegin; f < run.fromEnd; ++f)
        builder.add(t, 0, f, isSame);
  }
  return builder;
}

Sources ofConcat(ConcatOp op) {
  Builder builder(op);
  for (unsigned i = 0; i < op->getNumOperands(); ++i)
    for (int64_t d = 0; d < rankOf(op.getY()); ++d)
      builder.add(d, i, d, d != static_cast<int64_t>(op.getAxis()));
  return builder;
}

Sources ofSlice(SliceOp op) {
  Builder builder(op);
  for (auto [d, extent] : llvm::enumerate(shapeOf(op.getX())))
    builder.add(d, 0, d,
                op.getSizes()[d] == extent &&
                    (op.getSteps()[d] == 1 || extent == 1));
  return builder;
}

Sources ofPad(PadOp op) {
  Builder builder(op);
  for (int64_t d = 0; d < rankOf(op.getX()); ++d)
    builder.add(d, 0, d, op.getLow()[d] == 0 && op.getHigh()[d] == 0);
  return builder;
}

Sources ofGather(GatherOp op) {
  int64_t axis = op.getAxis(), picked = rankOf(op.getIndices());
  return Builder(op)
      .addRange(0, 0, 0, axis)
      .addRange(axis, 1, 0, picked)
      .addRange(axis + picked, 0, axis + 1, rankOf(op.getX()));
}

Sources ofGatherNd(GatherNdOp op) {
  int64_t tuples = rankOf(op.getIndices()) - 1;
  int64_t indexed = op.getBatchDims() + shapeOf(op.getIndices()).back();
  return Builder(op)
      .addRange(0, 1, 0, tuples)
      .addRange(tuples, 0, indexed, rankOf(op.getX()));
}

/// `axes` of the operand are gone or, with `keepdims`, ones.
Sources ofReduction(Operation *op, ArrayRef<int64_t> axes, bool keepdims) {
  Builder builder(op);
  int64_t to = 0;
  for (int64_t d = 0; d < rankOf(op->getOperand(0)); ++d)
    if (!llvm::is_contained(axes, d))
      builder.add(to++, 0, d);
    else if (keepdims)
      ++to;
  return builder;
}

Sources ofMatmul(MatmulOp op) {
  Builder builder(op);
  int64_t a = rankOf(op.getA()), b = rankOf(op.getB());
  int64_t inner = (a > 1) + (b > 1), batch = rankOf(op.getY()) - inner;
  builder.addBroadcast(0, std::max<int64_t>(a - 2, 0), batch)
      .addBroadcast(1, std::max<int64_t>(b - 2, 0), batch);
  if (a > 1)
    builder.add(batch, 0, op.getTransposeA() ? a - 1 : a - 2);
  if (b > 1)
    builder.add(batch + inner - 1, 1, op.getTransposeB() ? b - 2 : b - 1);
  return builder;
}

/// The images stay, and the channels if a window has its own of each; spatial
/// dimensions become others.
Sources ofWindows(Operation *op, Layout layout, bool channelsStay) {
  Builder builder(op);
  int64_t rank = rankOf(op->getResult(0));
  int64_t channels = layout == Layout::ChannelsFirst ? 1 : rank - 1;
  for (int64_t d = 0; d < rank; ++d)
    if (d != channels || channelsStay)
      builder.add(d, 0, d, d == 0 || d == channels);
  if (!channelsStay)
    builder.add(channels, 1, 0);
  return builder;
}

} // namespace

SmallVector<ReshapedRun> reshapedRuns(ArrayRef<int64_t> from,
                                      ArrayRef<int64_t> to) {
  SmallVector<ReshapedRun> runs;
  int64_t f = 0, t = 0;
  auto numFrom = static_cast<int64_t>(from.size()),
       numTo = static_cast<int64_t>(to.size());
  // The next dimensions that are alike are a run of their own; ones that the
  // other side lacks are in no run.
  while (f < numFrom && t < numTo) {
    if (from[f] == to[t]) {
      runs.push_back({f, f + 1, t, t + 1});
      ++f, ++t;
      continue;
    }
    if (from[f] == 1) {
      ++f;
      continue;
    }
    if (to[t] == 1) {
      ++t;
      continue;
    }
    ReshapedRun run{f, f + 1, t, t + 1};
    int64_t a = from[f], b = to[t];
    while (a != b && (a < b ? run.fromEnd < numFrom : run.toEnd < numTo))
      (a < b ? a : b) *= a < b ? from[run.fromEnd++] : to[run.toEnd++];
    runs.push_back(run);
    f = run.fromEnd;
    t = run.toEnd;
  }
  return runs;
}

std::optional<Sources> dimensionSources(Operation *op) {
  using Result = std::optional<Sources>;
  if (op->hasTrait<ElementwiseOpTrait>())
    return ofElementwise(op);
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case<ConstantOp, IotaOp, DimensionSizeOp>(
          [](auto op) { return Builder(op); })
      .Case<SetDimensionSizeOp, StopGradientOp, DropoutOp, AlongAxisOpInterface,
            BatchNormOp, ScatterOp, ScatterElementsOp, ScatterNdOp>(
          [](auto op) { return Builder(op).addAll(0); })
      // Not those that it normalises over.
      .Case([](LayerNormOp op) {
        return Builder(op).addRange(0, 0, 0,
                                    static_cast<int64_t>(op.getAxis()));
      })
      .Case([](BroadcastOp op) { return Builder(op).addBroadcast(0); })
      .Case([](TransposeOp op) { return ofTranspose(op); })
      .Case([](ReshapeOp op) { return ofReshape(op); })
      .Case([](ConcatOp op) { return ofConcat(op); })
      .Case([](SliceOp op) { return ofSlice(op); })
      .Case([](PadOp op) { return ofPad(op); })
      .Case([](GatherOp op) { return ofGather(op); })
      .Case([](GatherElementsOp op) { return Builder(op).addAll(1); })
      .Case([](GatherNdOp op) { return ofGatherNd(op); })
      .Case<ReduceOp, VarianceOp>([](auto op) {
        return ofReduction(op, op.getAxes(), op.getKeepdims());
      })
      .Case<ArgmaxOp, ArgminOp>([](auto op) {
        return ofReduction(op, static_cast<int64_t>(op.getAxis()),
                           op.getKeepdims());
      })
      .Case([](MatmulOp op) { return ofMatmul(op); })
      .Case([](ConvOp op) { return ofWindows(op, op.getLayout(), false); })
      .Case([](ConvTransposeOp op) { return Builder(op).add(0, 0, 0); })
      .Case<MaxPoolOp, AvgPoolOp>(
          [](auto op) { return ofWindows(op, op.getLayout(), true); })
      .Case([](AttentionOp op) {
        return Builder(op).addRange(0, 0, 0, 3).add(3, 2, 3);
      })
      .Default([](Operation *) { return std::nullopt; });
}

} // namespace tinh::graph
