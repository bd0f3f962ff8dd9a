//===- DepthwiseGradientEmit.cpp - Their code -------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A chunk computes all sums of a block of channels. They wait in scratch memory
// while the left factor goes through a slab there, a block of the loops that
// are summed over at a time.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Contraction/Tile.h"
#include "compiler/Codegen/CPU/DepthwiseGradient/DepthwiseGradient.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace tinh::cpu {

namespace {

class DepthwiseGradientEmitter : TileEmitter {
public:
  DepthwiseGradientEmitter(EmittedKernel &kernel, const DepthwiseGradient &g,
                           const DepthwiseGradientPlan &plan,
                           const Target &target, OpBuilder &b,
                           const llvm::DenseMap<Value, Buffer> &buffers)
      : TileEmitter(kernel, b, g.element(),
                    target.vectorBytes / g.elementBytes(), buffers),
        g(g), plan(plan), vectors(plan.channelsPerBlock / lanes) {}

  LogicalResult emitChunk(Value chunk);

private:
  /// The place of the sums of a tap, of so many vectors after the first.
  Value sumsAt(int64_t tap, int64_t v) {
    return scalar.index(tap * plan.channelsPerBlock + v * lanes);
  }

  void findMasks();
  FailureOr<LaneValue> pullChannels(const Factor &factor, const Indices &at,
                                    int64_t v);
  LogicalResult stage();
  LogicalResult addSums(size_t level);
  LogicalResult emitTile(int64_t first, int64_t end, Value count);
  FailureOr<Values> multiply(size_t level, Value slabAt, Value count,
                             ArrayRef<int64_t> taps, ValueRange state);
  FailureOr<Values> multiplyPosition(Value slabAt, ArrayRef<int64_t> taps,
                                     ValueRange state);
  int64_t tapOffset(int64_t tap) const;
  LogicalResult store();
  LogicalResult storeTaps(ArrayRef<unsigned> loops, Value tap, Value channel);

  const DepthwiseGradient &g;
  const DepthwiseGradientPlan &plan;
  int64_t vectors; // Of a block's channels.

  Indices dims; // Of the loops, at the code being emitted.
  Value firstChannel;
  Values masks; // Of vectors, where not all are full.
  Buffer slab;
};

} // namespace

//===----------------------------------------------------------------------===//
// Factors
//===----------------------------------------------------------------------===//

/// Of the last block only some lanes may be channels.
void DepthwiseGradientEmitter::findMasks() {
  masks.assign(vectors, {});
  if (g.channels() % plan.channelsPerBlock == 0)
    return;
  Value channels = scalar.index(g.channels());
  for (int64_t v = 0; v < vectors; ++v) {
    Value first = scalar.add(firstChannel, scalar.index(v * lanes));
    masks[v] =
        firstLanes(b, loc, sub(channels, minimum(first, channels)), lanes);
  }
}

/// Vector `v` of the block's channels of a factor, at the indices `at` of its
/// first channel, in the type of the sums.
FailureOr<LaneValue>
DepthwiseGradientEmitter::pullChannels(const Factor &factor, const Indices &at,
                                       int64_t v) {
  Pull pull(b, loc, lanes);
  pull.buffers = buffers;
  pull.mask = masks[v];
  Indices of = at;
  unsigned dim = *factor.map.getResultPosition(
      getAffineDimExpr(g.channel, b.getContext()));
  of[dim] = {scalar.add(of[dim].base, scalar.index(v * lanes)), 1, 1};
  auto elements = pullAs(element, pull, factor.value, of);
  if (failed(elements))
    return failure();
  return LaneValue{pull.asVector(*elements), /*uniform=*/false, {}};
}

/// Copies what the current block of sums reads of the left factor.
LogicalResult DepthwiseGradientEmitter::stage() {
  Indices start = dims;
  for (unsigned loop : g.left.loops)
    start[loop].base = scalar.index(0);
  auto from = scalar.apply(g.left.map, start);
  if (failed(from))
    return failure();
  slab.origin.clear();
  for (LaneIndex &index : *from)
    slab.origin.push_back(index.base);
  auto shape = cast<RankedTensorType>(g.left.value.getType()).getShape();
  unsigned along = *g.left.map.getResultPosition(
      getAffineDimExpr(g.channel, b.getContext()));
  Indices at = *from;
  std::function<LogicalResult(size_t)> nest = [&](size_t dim) -> LogicalResult {
    if (dim == along)
      return nest(dim + 1);
    if (dim < plan.slab.size()) {
      // The last block of sums may read less.
      Value end = minimum(scalar.index(plan.slab[dim]),
                          sub(scalar.index(shape[dim]), (*from)[dim].base));
      return loop(scalar.index(0), end, 1, [&](Value iv) {
        at[dim] = {scalar.add((*from)[dim].base, iv), 0, 1};
        return nest(dim + 1);
      });
    }
    for (int64_t v = 0; v < vectors; ++v) {
      auto value = pullChannels(g.left, at, v);
      if (failed(value))
        return failure();
      Pull pull(b, loc, lanes);
      Indices to = at;
      to[along] = {scalar.add(at[along].base, scalar.index(v * lanes)), 1, 1};
      if (failed(pull.store(*value, slab, to)))
        return failure();
    }
    return success();
  };
  return nest(0);
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

/// The sums over the loops from `level` on, all tiles a block after the other.
LogicalResult DepthwiseGradientEmitter::addSums(size_t level) {
  unsigned loopOfLevel = g.depth[level];
  int64_t extent = g.extents[loopOfLevel];
  if (level < plan.level)
    return loop(extent, 1, [&](Value iv) {
      dims[loopOfLevel].base = iv;
      return addSums(level + 1);
    });
  return loop(extent, plan.sumsPerBlock, [&](Value iv) -> LogicalResult {
    dims[loopOfLevel].base = iv;
    for (unsigned inner : ArrayRef(g.depth).drop_front(level + 1))
      dims[inner].base = scalar.index(0);
    if (failed(stage()))
      return failure();
    Value count =
        minimum(sub(scalar.index(extent), iv), scalar.index(plan.sumsPerBlock));
    for (int64_t tap = 0; tap < g.taps(); tap += plan.tapsPerTile)
      if (failed(
              emitTile(tap, std::min(tap + plan.tapsPerTile, g.taps()), count)))
        return failure();
    return success();
  });
}

/// Adds what a block gives to the sums of these taps.
LogicalResult DepthwiseGradientEmitter::emitTile(int64_t first, int64_t end,
                                                 Value count) {
  auto taps = llvm::to_vector(llvm::seq(first, end));
  Values state;
  for (int64_t tap : taps)
    for (int64_t v = 0; v < vectors; ++v)
      state.push_back(
          vector::LoadOp::create(b, loc, vectorType(), sums, sumsAt(tap, v)));
  auto added = multiply(plan.level, scalar.index(0), count, taps, state);
  if (failed(added))
    return failure();
  for (auto [i, sum] : llvm::enumerate(*added))
    vector::StoreOp::create(b, loc, sum, sums,
                            sumsAt(taps[i / vectors], i % vectors));
  return success();
}

FailureOr<SmallVector<Value>>
DepthwiseGradientEmitter::multiply(size_t level, Value slabAt, Value count,
                                   ArrayRef<int64_t> taps, ValueRange state) {
  unsigned loopOfLevel = g.depth[level];
  Value start = dims[loopOfLevel].base;
  Value end =
      level == plan.level ? count : scalar.index(g.extents[loopOfLevel]);
  auto added =
      buildLoop(b, loc, scalar.index(0), end, 1, state,
                [&](Value iv, ValueRange values) -> FailureOr<Values> {
                  dims[loopOfLevel].base = scalar.add(start, iv);
                  Value at = scalar.add(
                      slabAt, scalar.mul(iv, step(g.left, slab, loopOfLevel)));
                  if (level + 1 < g.depth.size())
                    return multiply(level + 1, at, count, taps, values);
                  return multiplyPosition(at, taps, values);
                });
  dims[loopOfLevel].base = start;
  return added;
}

/// How far an element that this tap meets lies in the slab from that of the
/// first.
int64_t DepthwiseGradientEmitter::tapOffset(int64_t tap) const {
  int64_t offset = 0;
  for (unsigned loopOfTaps : llvm::reverse(g.left.loops)) {
    int64_t extent = g.extents[loopOfTaps];
    offset += tap % extent * step(g.left, slab, loopOfTaps);
    tap /= extent;
  }
  return offset;
}

/// Adds the products of one position.
FailureOr<SmallVector<Value>>
DepthwiseGradientEmitter::multiplyPosition(Value slabAt, ArrayRef<int64_t> taps,
                                           ValueRange state) {
  Values added(state);
  auto at = scalar.apply(g.right.map, dims);
  if (failed(at))
    return failure();
  for (int64_t v = 0; v < vectors; ++v) {
    auto right = pullChannels(g.right, *at, v);
    if (failed(right))
      return failure();
    for (auto [i, tap] : llvm::enumerate(taps)) {
      Value place =
          scalar.add(slabAt, scalar.index(tapOffset(tap) + v * lanes));
      Value left =
          vector::LoadOp::create(b, loc, vectorType(), slab.memref, place);
      Value &sum = added[i * vectors + v];
      sum = vector::FMAOp::create(b, loc, left, right->value, sum);
    }
  }
  return added;
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// All taps along `loops`, which come after `tap` of those before.
LogicalResult DepthwiseGradientEmitter::storeTaps(ArrayRef<unsigned> loops,
                                                  Value tap, Value channel) {
  if (loops.empty()) {
    Value at = scalar.add(scalar.mul(tap, plan.channelsPerBlock), channel);
    return finish(g, dims, memref::LoadOp::create(b, loc, sums, at));
  }
  int64_t extent = g.extents[loops.front()];
  return loop(extent, 1, [&](Value iv) {
    dims[loops.front()].base = iv;
    return storeTaps(loops.drop_front(),
                     scalar.add(scalar.mul(tap, extent), iv), channel);
  });
}

/// One element after the other: the taps of a channel are neighbours in memory.
LogicalResult DepthwiseGradientEmitter::store() {
  Value count = minimum(sub(scalar.index(g.channels()), firstChannel),
                        scalar.index(plan.channelsPerBlock));
  return loop(scalar.index(0), count, 1, [&](Value channel) {
    dims[g.channel].base = scalar.add(firstChannel, channel);
    return storeTaps(g.left.loops, scalar.index(0), channel);
  });
}

LogicalResult DepthwiseGradientEmitter::emitChunk(Value chunk) {
  dims.assign(g.extents.size(), {scalar.index(0), 0, 1});
  Value rest = chunk;
  firstChannel = scalar.mul(scalar.takeDigit(rest, plan.channelBlocks),
                            plan.channelsPerBlock);
  for (unsigned loopOfBatch : llvm::reverse(g.batch))
    dims[loopOfBatch].base =
        loopOfBatch == g.channel
            ? firstChannel
            : scalar.takeDigit(rest, g.extents[loopOfBatch]);
  findMasks();
  slab = kernel.scratchBuffer(b, 0, plan.slab, g.element());
  clearSums(plan.sumsOffset, g.taps() * plan.channelsPerBlock);
  return failed(addSums(0)) ? failure() : store();
}

LogicalResult DepthwiseGradientStrategy::emit(EmittedKernel &kernel,
                                              const DepthwiseGradient &gradient,
                                              const DepthwiseGradientPlan &plan,
                                              const Target &target) {
  return emitChunks<DepthwiseGradientEmitter>(kernel, gradient, plan, target);
}

} // namespace tinh::cpu
