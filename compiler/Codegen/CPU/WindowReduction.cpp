//===- WindowReduction.cpp - Depthwise convolutions, pooling ----*- C++ -*-===//
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
#include "compiler/Codegen/CPU/WindowReduction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace tinh::cpu {

//===----------------------------------------------------------------------===//
// Recognition
//===----------------------------------------------------------------------===//

/// Whether `value` is zero where `argument` is: that itself, through
/// conversions and products.
static bool isZeroWith(Value value, BlockArgument argument) {
  if (value == argument)
    return true;
  Operation *op = value.getDefiningOp();
  return isa_and_nonnull<arith::ExtFOp, arith::ExtSIOp, arith::ExtUIOp,
                         arith::SIToFPOp, arith::UIToFPOp, arith::MulFOp,
                         arith::MulIOp>(op) &&
         llvm::any_of(op->getOperands(), [&](Value operand) {
           return isZeroWith(operand, argument);
         });
}

/// Whether a body's result is its accumulator when its input `argument` is the
/// padding value: a sum to which zero, or zero times something, is added, or an
/// extreme compared with the opposite end of its type.
static bool isNeutral(linalg::GenericOp op, BlockArgument argument,
                      TypedAttr padding) {
  Value yielded = op.getBody()->getTerminator()->getOperand(0);
  Operation *combiner = yielded.getDefiningOp();
  Value accumulator = op.getMatchingBlockArgument(op.getDpsInitOperand(0));
  if (!combiner || combiner->getNumOperands() != 2 ||
      !llvm::is_contained(combiner->getOperands(), accumulator))
    return false;
  Value other = combiner->getOperand(combiner->getOperand(0) == accumulator);
  if (isa<arith::AddFOp, arith::AddIOp>(combiner))
    return isZeroWith(other, argument) &&
           (matchPattern(padding, m_AnyZeroFloat()) ||
            matchPattern(padding, m_Zero()));
  if (other != argument)
    return false;
  if (auto number = dyn_cast<FloatAttr>(padding)) {
    APFloat value = number.getValue();
    return value.isInfinity() &&
           (value.isNegative() ? isa<arith::MaximumFOp>(combiner)
                               : isa<arith::MinimumFOp>(combiner));
  }
  APInt value = cast<IntegerAttr>(padding).getValue();
  return (isa<arith::MaxUIOp>(combiner) && value.isMinValue()) ||
         (isa<arith::MaxSIOp>(combiner) && value.isMinSignedValue());
}

/// Fills in the axes of a window over operand `input`.
static bool matchAxes(linalg::GenericOp op, OpOperand &input,
                      WindowReduction &w) {
  AffineMap map = op.getMatchingIndexingMap(&input);
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  SmallVector<unsigned> reduced;
  op.getReductionDims(reduced);
  llvm::SmallDenseSet<unsigned> covered;
  for (auto [position, expr] : llvm::enumerate(map.getResults())) {
    if (isa<AffineDimExpr>(expr) &&
        !llvm::is_contained(reduced, cast<AffineDimExpr>(expr).getPosition()))
      continue;
    WindowAxis axis;
    axis.position = position;
    int64_t outputs = 0, taps = 0;
    for (unsigned dim = 0; dim < extents.size(); ++dim) {
      int64_t factor = loopCoefficient(expr, dim, extents.size());
      if (factor == 0)
        continue;
      if (llvm::is_contained(reduced, dim)) {
        axis.kernel = dim;
        axis.dilation = factor;
        ++taps;
      } else {
        axis.output = dim;
        axis.stride = factor;
        ++outputs;
      }
    }
    if (outputs != 1 || taps != 1 || axis.stride < 1 || axis.dilation < 1 ||
        !covered.insert(axis.kernel).second)
      return false;
    w.axes.push_back(axis);
  }
  return !w.axes.empty() && covered.size() == reduced.size();
}

/// The padding of the operand under the window, if it can be skipped: it holds
/// what the reduction ignores, and only along the window.
static tensor::PadOp skippedPadding(OpOperand &input,
                                    const WindowReduction &w) {
  auto pad = input.get().getDefiningOp<tensor::PadOp>();
  Value value = pad ? pad.getConstantPaddingValue() : Value();
  auto op = w.op;
  TypedAttr constant;
  if (!value || !matchPattern(value, m_Constant(&constant)) ||
      !isNeutral(op, op.getMatchingBlockArgument(&input), constant))
    return {};
  for (auto [i, low, high] :
       llvm::enumerate(pad.getStaticLow(), pad.getStaticHigh())) {
    bool slides = llvm::any_of(
        w.axes, [&](const WindowAxis &axis) { return axis.position == i; });
    if (low < 0 || high < 0 || (!slides && (low || high)))
      return {};
  }
  return pad;
}

/// Takes the padding off the source, and says where taps may miss it.
static void placeWindow(OpOperand &input, WindowReduction &w) {
  tensor::PadOp pad = skippedPadding(input, w);
  w.input = input.getOperandNumber();
  w.source = pad ? pad.getSource() : input.get();
  auto type = cast<RankedTensorType>(w.source.getType());
  SmallVector<int64_t> extents = w.op.getStaticLoopRanges();
  for (WindowAxis &axis : w.axes) {
    axis.size = type.getDimSize(axis.position);
    axis.low = pad ? pad.getStaticLow()[axis.position] : 0;
    int64_t last = (extents[axis.output] - 1) * axis.stride +
                   (extents[axis.kernel] - 1) * axis.dilation - axis.low;
    axis.padded = axis.low > 0 || last >= axis.size;
  }
}

std::optional<WindowReduction> matchWindows(func::FuncOp kernel) {
  linalg::GenericOp op = onlyReduction(kernel);
  if (!op || op.getNumResults() != 1 ||
      llvm::is_contained(op.getStaticLoopRanges(), 0) ||
      !resultsFollowElementwise(kernel, op.getResult(0)))
    return std::nullopt;
  AffineMap output = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  if (!output.isProjectedPermutation() || output.getNumResults() < 3)
    return std::nullopt;
  WindowReduction w;
  w.op = op;
  for (unsigned i = 0; i < output.getNumResults(); ++i)
    w.outer.push_back(output.getDimPosition(i));
  w.lane = w.outer.pop_back_val();
  w.inner = w.outer.pop_back_val();
  for (OpOperand *input : op.getDpsInputOperands()) {
    w.axes.clear();
    AffineMap map = op.getMatchingIndexingMap(input);
    if (map.getNumResults() == 0 || !matchAxes(op, *input, w))
      continue;
    auto last = dyn_cast<AffineDimExpr>(map.getResults().back());
    if (!last || last.getPosition() != w.lane ||
        w.axes.back().output != w.inner)
      return std::nullopt;
    placeWindow(*input, w);
    return w.tiles().empty() ? std::nullopt : std::optional(w);
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Planning
//===----------------------------------------------------------------------===//

SmallVector<WindowTile> WindowReduction::tiles() {
  // Eight accumulators hide the latency of their FMAs, and leave registers for
  // what is loaded, with 16 of them, too.
  constexpr int64_t kMostOutputs = 8, kMostTaps = 128;
  constexpr size_t kMostTiles = 12;
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  const WindowAxis &axis = axes.back();
  int64_t width = extents[inner], taps = extents[axis.kernel];
  int64_t most = std::clamp<int64_t>(kMostTaps / std::max<int64_t>(taps, 1), 1,
                                     kMostOutputs);
  int64_t count = llvm::divideCeil(width, most);
  int64_t each = count ? llvm::divideCeil(width, count) : 0;
  SmallVector<WindowTile> tiles;
  for (int64_t start = 0; start < width && tiles.size() <= kMostTiles;
       start += each) {
    WindowTile tile{start, std::min(each, width - start), 1, false};
    int64_t first = start * axis.stride - axis.low,
            last = (start + tile.outputs - 1) * axis.stride +
                   (taps - 1) * axis.dilation - axis.low;
    tile.inside = first >= 0 && last < axis.size;
    if (tile.inside && !tiles.empty() && tiles.back().inside &&
        tiles.back().outputs == tile.outputs)
      ++tiles.back().repeats;
    else
      tiles.push_back(tile);
  }
  if (tiles.size() > kMostTiles || taps > kMostTaps)
    tiles.clear();
  return tiles;
}

WindowsPlan planWindows(const WindowReduction &w) {
  auto op = w.op;
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  WindowsPlan plan;
  int64_t lines = 1, work = 1;
  for (unsigned dim : w.outer)
    lines *= extents[dim];
  for (int64_t extent : extents)
    work *= extent;
  // Chunks of at least 50,000 taps, some 32 of them; channels are divided only
  // where there are few lines.
  constexpr int64_t kChannels = 64;
  int64_t wanted = std::clamp<int64_t>(work / 50000, 1, 32);
  int64_t channels = extents[w.lane];
  int64_t most = std::max<int64_t>(channels / kChannels, 1);
  int64_t groups = std::clamp<int64_t>(
      llvm::divideCeil(wanted, std::max<int64_t>(lines, 1)), 1, most);
  int64_t each = llvm::divideCeil(channels, groups);
  plan.channelsPerGroup = llvm::alignTo(each, kChannels);
  if (groups == 1)
    plan.channelsPerGroup = channels;
  plan.groups = llvm::divideCeil(channels, plan.channelsPerGroup);
  plan.units = lines * plan.groups;
  plan.unitsPerChunk =
      std::max<int64_t>(1, llvm::divideCeil(plan.units, wanted));
  plan.chunks =
      std::max<int64_t>(1, llvm::divideCeil(plan.units, plan.unitsPerChunk));
  return plan;
}

//===----------------------------------------------------------------------===//
// Emission
//===----------------------------------------------------------------------===//

namespace {

class WindowsEmitter {
public:
  WindowsEmitter(EmittedKernel &kernel, WindowReduction &w,
                 const WindowsPlan &plan, const Target &target, OpBuilder &b)
      : kernel(kernel), w(w), plan(plan), b(b), loc(kernel.source.getLoc()),
        scalar(b, loc, 1), extents(w.op.getStaticLoopRanges()),
        lanes(target.lanes()) {}

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
  FailureOr<Value> combineTap(Value sum);
  Pull makePull();
  Indices outputAt(Value column);

  EmittedKernel &kernel;
  WindowReduction &w;
  const WindowsPlan &plan;
  OpBuilder &b;
  Location loc;
  Pull scalar;
  SmallVector<int64_t> extents;
  int64_t lanes;

  Indices dims;            // Of the loops, at the code being emitted.
  Value mask;              // The lanes of the last channels.
  SmallVector<Taps> taps;  // Of all axes but the last, for the current line.
  Value group, begin, end; // The channels of the unit in whole vectors.
};

} // namespace

Pull WindowsEmitter::makePull() {
  Pull pull(b, loc, lanes);
  pull.mask = mask;
  kernel.bindInputs(pull);
  return pull;
}

/// Indices of the result where the last window axis has its output `column`.
Indices WindowsEmitter::outputAt(Value column) {
  dims[w.inner] = {column, 0, 1};
  AffineMap map = w.op.getMatchingIndexingMap(w.op.getDpsInitOperand(0));
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
    Value distance = arith::SubIOp::create(
        b, loc, scalar.index(bound + axis.dilation - 1), at);
    distance = arith::MaxSIOp::create(b, loc, distance, scalar.index(0));
    Value steps =
        arith::DivUIOp::create(b, loc, distance, scalar.index(axis.dilation));
    return Value(arith::MinUIOp::create(b, loc, steps, all));
  };
  return {firstFrom(0), firstFrom(axis.size)};
}

/// The sum after one more element of the window.
FailureOr<Value> WindowsEmitter::combineTap(Value sum) {
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
  arguments.push_back({sum, lanes == 1, {}});
  auto yielded = pull.body(w.op, dims, arguments);
  if (failed(yielded))
    return failure();
  return pull.asVector((*yielded)[0]);
}

FailureOr<SmallVector<Value>> WindowsEmitter::reduceAxis(size_t level,
                                                         Value start,
                                                         const WindowTile &tile,
                                                         ValueRange state) {
  const WindowAxis &axis = w.axes[level];
  if (level + 1 < w.axes.size()) {
    auto loop = scf::ForOp::create(b, loc, taps[level].begin, taps[level].end,
                                   scalar.index(1), state);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    dims[axis.kernel] = {loop.getInductionVar(), 0, 1};
    auto sums = reduceAxis(level + 1, start, tile, loop.getRegionIterArgs());
    if (failed(sums))
      return failure();
    scf::YieldOp::create(b, loc, *sums);
    return Values(loop.getResults());
  }
  Values sums(state);
  for (int64_t tap = 0; tap < extents[axis.kernel]; ++tap)
    for (int64_t i = 0; i < tile.outputs; ++i) {
      int64_t at =
          (tile.start + i) * axis.stride + tap * axis.dilation - axis.low;
      if (!tile.inside && (at < 0 || at >= axis.size))
        continue;
      dims[axis.kernel] = {scalar.index(tap), 0, 1};
      dims[w.inner] = {scalar.add(start, scalar.index(i)), 0, 1};
      auto sum = combineTap(sums[i]);
      if (failed(sum))
        return failure();
      sums[i] = *sum;
    }
  return sums;
}

LogicalResult WindowsEmitter::emitTile(Value start, const WindowTile &tile) {
  Values sums;
  for (int64_t i = 0; i < tile.outputs; ++i) {
    Indices at = outputAt(scalar.add(start, scalar.index(i)));
    Pull pull = makePull();
    auto initial = pull.at(w.op.getDpsInits()[0], at);
    if (failed(initial))
      return failure();
    sums.push_back(pull.asVector(*initial));
  }
  auto results = reduceAxis(0, start, tile, sums);
  if (failed(results))
    return failure();
  for (int64_t i = 0; i < tile.outputs; ++i) {
    Indices at = outputAt(scalar.add(start, scalar.index(i)));
    Pull pull = makePull();
    pull.registers[w.op.getResult(0)] = {(*results)[i], lanes == 1, {}};
    if (failed(storeResults(kernel, pull, at)))
      return failure();
  }
  return success();
}

/// A tile at each vector of the unit's channels.
LogicalResult WindowsEmitter::emitChannels(Value start,
                                           const WindowTile &tile) {
  OpBuilder::InsertionGuard guard(b);
  auto loop = scf::ForOp::create(b, loc, begin, end, scalar.index(lanes));
  b.setInsertionPointToStart(loop.getBody());
  dims[w.lane] = {loop.getInductionVar(), lanes > 1 ? 1 : 0, lanes};
  if (failed(emitTile(start, tile)))
    return failure();
  int64_t channels = extents[w.lane], tail = channels % lanes;
  if (tail == 0)
    return success();
  b.setInsertionPointAfter(loop);
  if (plan.groups > 1) {
    Value last = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, group,
                                       scalar.index(plan.groups - 1));
    auto branch = scf::IfOp::create(b, loc, TypeRange(), last, false);
    b.setInsertionPointToStart(branch.thenBlock());
  }
  mask = firstLanes(b, loc, tail, lanes);
  dims[w.lane] = {scalar.index(channels - tail), 1, lanes};
  LogicalResult result = emitTile(start, tile);
  mask = {};
  return result;
}

void WindowsEmitter::startLine(Value line) {
  dims.assign(extents.size(), {scalar.index(0), 0, 1});
  for (unsigned dim : llvm::reverse(w.outer))
    dims[dim].base = scalar.peel(line, extents[dim]);
  taps.clear();
  for (const WindowAxis &axis : ArrayRef(w.axes).drop_back())
    taps.push_back(tapsInside(axis, dims[axis.output].base));
}

/// A group of the channels of a line.
LogicalResult WindowsEmitter::emitUnit(Value unit) {
  group = scalar.peel(unit, plan.groups);
  startLine(unit);
  begin = scalar.mul(group, plan.channelsPerGroup);
  end = b.createOrFold<arith::MinUIOp>(
      loc, scalar.add(begin, scalar.index(plan.channelsPerGroup)),
      scalar.index(extents[w.lane] / lanes * lanes));
  for (const WindowTile &tile : w.tiles()) {
    if (tile.repeats == 1) {
      if (failed(emitChannels(scalar.index(tile.start), tile)))
        return failure();
      continue;
    }
    auto loop = scf::ForOp::create(
        b, loc, scalar.index(tile.start),
        scalar.index(tile.start + tile.repeats * tile.outputs),
        scalar.index(tile.outputs));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    if (failed(emitChannels(loop.getInductionVar(), tile)))
      return failure();
  }
  return success();
}

LogicalResult emitWindows(EmittedKernel &kernel, const Target &target) {
  auto w = matchWindows(kernel.source);
  if (!w)
    return failure();
  WindowsPlan plan = planWindows(*w);
  OpBuilder b(kernel.function.getContext());
  Value unit = kernel.loopOverUnits(b, plan.units, plan.unitsPerChunk);
  return WindowsEmitter(kernel, *w, plan, target, b).emitUnit(unit);
}

} // namespace tinh::cpu
