//===- WindowsEmit.cpp - Depthwise convolutions, pooling --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A reduction over a window that slides along an image, for each channel alone:
//
//   y[n, h, w, c] = combine over i, j of x[n, h·s + i·d, w·s + j·d, c], k[i, j,
//   c]
//
// Lanes lie along the channels. A tile is some outputs that follow one another
// along w, their accumulators in registers; the taps along the last window
// dimension are unrolled, so that outputs share what they load. Padding is
// neutral for the reduction and therefore skipped (a weight that is infinite or
// NaN does not meet its zeros): where tiles touch it is known when the code is
// made, along the other dimensions the taps' range is computed for each line.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Windows/Windows.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace tinh::cpu {

namespace {

class WindowsEmitter {
public:
  WindowsEmitter(EmittedKernel &kernel, Windows &w, const WindowsPlan &plan,
                 OpBuilder &b)
      : kernel(kernel), w(w), plan(plan), b(b), loc(kernel.source.getLoc()),
        scalar(b, loc, 1), extents(w.op.getStaticLoopRanges()),
        lanes(plan.lanes), results(w.op->getNumResults()) {}

  LogicalResult emitUnit(Value unit);

private:
  using Values = SmallVector<Value>;
  /// The taps along an axis that lie in the image: [begin, end).
  struct Taps {
    Value begin, end;
  };

  Taps tapsInside(const WindowAxis &axis, Value output);
  void startLine(Value line);
  LogicalResult emitChannels(Value start, const WindowTile &tile);
  LogicalResult emitTile(Value start, const WindowTile &tile);
  FailureOr<Values> reduceAxis(size_t axis, Value start, const WindowTile &tile,
                               ValueRange sums);
  FailureOr<Values> combineTap(ValueRange sums);
  Pull makePull();
  Indices outputAt(Value column);

  EmittedKernel &kernel;
  Windows &w;
  const WindowsPlan &plan;
  OpBuilder &b;
  Location loc;
  Pull scalar;
  SmallVector<int64_t> extents;
  int64_t lanes;
  size_t results; // Of the reduction: each output has as many sums.

  Indices dims;            // Of the loops, at the code being emitted.
  Value mask;              // The lanes of the last channels.
  SmallVector<Taps> taps;  // Of all axes but the last, for the current line.
  Value group, begin, end; // The channels of the unit in whole vectors.
};

} // namespace

Pull WindowsEmitter::makePull() {
  Pull pull = kernel.makePull(b, lanes);
  pull.mask = mask;
  return pull;
}

/// Indices of the result where the last window axis has its output `column`.
Indices WindowsEmitter::outputAt(Value column) {
  dims[w.inner] = {column, 0, 1};
  AffineMap map = outputMap(w.op);
  Indices indices;
  for (unsigned i = 0; i < map.getNumResults(); ++i)
    indices.push_back(dims[map.getDimPosition(i)]);
  return indices;
}

WindowsEmitter::Taps WindowsEmitter::tapsInside(const WindowAxis &axis,
                                                Value output) {
  Value all = scalar.index(extents[axis.kernel]);
  if (!axis.padded)
    return {scalar.index(0), all};
  // The least k with output · stride - low + k · dilation at least `bound`.
  Value at =
      scalar.add(scalar.mul(output, axis.stride), scalar.index(-axis.low));
  auto firstFrom = [&](int64_t bound) {
    Value distance = scalar.sub(scalar.index(bound + axis.dilation - 1), at);
    distance = arith::MaxSIOp::create(b, loc, distance, scalar.index(0));
    Value steps =
        arith::DivUIOp::create(b, loc, distance, scalar.index(axis.dilation));
    return scalar.minimum(steps, all);
  };
  return {firstFrom(0), firstFrom(axis.size)};
}

/// An output's sums, one for each result, after one more element of the window.
FailureOr<SmallVector<Value>> WindowsEmitter::combineTap(ValueRange sums) {
  Pull pull = makePull();
  SmallVector<LaneValue> arguments;
  for (OpOperand *operand : w.op.getDpsInputOperands()) {
    if (w.op.getMatchingBlockArgument(operand).use_empty()) {
      arguments.push_back({});
      continue;
    }
    auto at = pull.apply(w.op.getMatchingIndexingMap(operand), dims);
    if (failed(at))
      return failure();
    Value tensor = operand->get();
    if (operand->getOperandNumber() == w.input) {
      tensor = w.source;
      for (const WindowAxis &axis : w.axes) {
        LaneIndex &index = (*at)[axis.position];
        index.base = pull.add(index.base, pull.index(-axis.low));
        index.alignment = 1;
      }
    }
    auto value = pull.at(tensor, *at);
    if (failed(value))
      return failure();
    arguments.push_back(*value);
  }
  for (Value sum : sums)
    arguments.push_back(pull.inRegisters(sum));
  auto yielded = pull.body(w.op, dims, arguments);
  if (failed(yielded))
    return failure();
  return llvm::map_to_vector(
      *yielded, [&](LaneValue value) { return pull.asVector(value); });
}

FailureOr<SmallVector<Value>> WindowsEmitter::reduceAxis(size_t level,
                                                         Value start,
                                                         const WindowTile &tile,
                                                         ValueRange state) {
  const WindowAxis &axis = w.axes[level];
  if (level + 1 < w.axes.size())
    return buildLoop(b, loc, taps[level].begin, taps[level].end, 1, state,
                     [&](Value tap, ValueRange values) {
                       dims[axis.kernel] = {tap, 0, 1};
                       return reduceAxis(level + 1, start, tile, values);
                     });
  Values sums(state);
  for (int64_t tap = 0; tap < extents[axis.kernel]; ++tap)
    for (int64_t i = 0; i < tile.outputs; ++i) {
      int64_t at =
          (tile.start + i) * axis.stride + tap * axis.dilation - axis.low;
      if (!tile.inside && (at < 0 || at >= axis.size))
        continue;
      dims[axis.kernel] = {scalar.index(tap), 0, 1};
      dims[w.inner] = {scalar.add(start, scalar.index(i)), 0, 1};
      MutableArrayRef<Value> own =
          MutableArrayRef(sums).slice(i * results, results);
      auto combined = combineTap(own);
      if (failed(combined))
        return failure();
      llvm::copy(*combined, own.begin());
    }
  return sums;
}

LogicalResult WindowsEmitter::emitTile(Value start, const WindowTile &tile) {
  Values sums;
  for (int64_t i = 0; i < tile.outputs; ++i) {
    Indices at = outputAt(scalar.add(start, scalar.index(i)));
    Pull pull = makePull();
    for (Value init : w.op.getDpsInits()) {
      auto initial = pull.at(init, at);
      if (failed(initial))
        return failure();
      sums.push_back(pull.asVector(*initial));
    }
  }
  auto reduced = reduceAxis(0, start, tile, sums);
  if (failed(reduced))
    return failure();
  for (int64_t i = 0; i < tile.outputs; ++i) {
    Indices at = outputAt(scalar.add(start, scalar.index(i)));
    Pull pull = makePull();
    for (auto [result, value] : llvm::zip_equal(
             w.op.getResults(), ArrayRef(*reduced).slice(i * results, results)))
      pull.registers[result] = pull.inRegisters(value);
    if (failed(kernel.storeResults(pull, at)))
      return failure();
  }
  return success();
}

/// A tile at each vector of the unit's channels.
LogicalResult WindowsEmitter::emitChannels(Value start,
                                           const WindowTile &tile) {
  auto emitVector = [&](Value channel) {
    dims[w.lane] = {channel, lanes > 1 ? 1 : 0, lanes};
    return emitTile(start, tile);
  };
  if (failed(buildLoop(b, loc, begin, end, lanes, emitVector)))
    return failure();
  int64_t channels = extents[w.lane], tail = channels % lanes;
  if (tail == 0)
    return success();
  Value last;
  if (plan.groups > 1)
    last = scalar.isEqual(group, plan.groups - 1);
  return buildIf(b, loc, last, [&] {
    mask = firstLanes(b, loc, tail, lanes);
    LogicalResult result = emitVector(scalar.index(channels - tail));
    mask = {};
    return result;
  });
}

void WindowsEmitter::startLine(Value line) {
  dims.assign(extents.size(), {scalar.index(0), 0, 1});
  for (unsigned dim : llvm::reverse(w.outer))
    dims[dim].base = scalar.takeDigit(line, extents[dim]);
  taps.clear();
  for (const WindowAxis &axis : ArrayRef(w.axes).drop_back())
    taps.push_back(tapsInside(axis, dims[axis.output].base));
}

/// A group of the channels of a line.
LogicalResult WindowsEmitter::emitUnit(Value unit) {
  group = scalar.takeDigit(unit, plan.groups);
  startLine(unit);
  begin = scalar.mul(group, plan.channelsPerGroup);
  end = scalar.minimum(scalar.add(begin, scalar.index(plan.channelsPerGroup)),
                       extents[w.lane] / lanes * lanes);
  for (const WindowTile &tile : plan.tiles) {
    if (tile.repeats == 1) {
      if (failed(emitChannels(scalar.index(tile.start), tile)))
        return failure();
      continue;
    }
    Value tilesEnd = scalar.index(tile.start + tile.repeats * tile.outputs);
    if (failed(
            buildLoop(b, loc, scalar.index(tile.start), tilesEnd, tile.outputs,
                      [&](Value start) { return emitChannels(start, tile); })))
      return failure();
  }
  return success();
}

LogicalResult WindowsStrategy::emit(EmittedKernel &kernel, Windows &w,
                                    const WindowsPlan &plan, const Target &) {
  OpBuilder b = kernel.builder();
  Value unit = kernel.loopOverUnits(b, plan.units, plan.unitsPerChunk);
  return WindowsEmitter(kernel, w, plan, b).emitUnit(unit);
}

} // namespace tinh::cpu
