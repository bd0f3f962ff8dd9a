//===- WindowsEmit.cpp - Sums over windows that slide -----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Pooling and depthwise convolutions, channels last: a thread has a vector of
// channels of a few results side by side, whose windows overlap. It loads each
// element of a line of the input once, and each weight once for all of them:
//
//   for each line of taps:
//     x[p] for all p that these windows have there
//     for each tap k, for each result t: y[t] += x[t · stride + k] · w[k]
//
// With four results a 3 × 3 window costs 4.5 loads of the input and 2.25 of
// weights a result, rather than 18: less than what memory takes for a result,
// so that lines need not be kept in shared memory.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/Contraction/Contraction.h"
#include "compiler/Codegen/Kernel/Stages.h"

#include "dialects/graph/Graph.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace tinh::cuda {

static constexpr int64_t kThreads = 256;

namespace {

struct Windows {
  linalg::GenericOp op;
  OpOperand *input = nullptr;
  unsigned inputDim = 0; ///< That windows slide along.
  unsigned tap = 0;      ///< The loop over a line of a window.
  int64_t stride = 1, dilation = 1;
  SmallVector<int64_t> shape; ///< Of the result.
  int64_t lanes = 1;
  int64_t strip = 1; ///< Results of a thread, along the last dimension but one.

  unsigned along() const { return shape.size() - 2; }
  int64_t taps() const {
    linalg::GenericOp windows = op;
    return windows.getStaticLoopRanges()[tap];
  }
  int64_t strips() const { return llvm::divideCeil(shape[along()], strip); }
  int64_t units() const {
    return ShapedType::getNumElements(shape) / shape[along()] * strips() /
           lanes;
  }
  /// Positions of a line that the windows of a strip cover.
  int64_t covered(int64_t count) const {
    return (count - 1) * stride + (taps() - 1) * dilation + 1;
  }
};

} // namespace

//===----------------------------------------------------------------------===//
// Recognition
//===----------------------------------------------------------------------===//

/// Finds an input's dimension that windows slide along as the results do along
/// their last dimension but one.
static bool findWindows(Windows &windows) {
  linalg::GenericOp op = windows.op;
  unsigned loops = op.getNumLoops(), along = windows.along();
  SmallVector<unsigned> reduced;
  op.getReductionDims(reduced);
  windows.tap = reduced.back();
  for (OpOperand *operand : op.getDpsInputOperands()) {
    if (op.getMatchingBlockArgument(operand).use_empty())
      continue;
    for (auto [dim, expr] :
         llvm::enumerate(op.getMatchingIndexingMap(operand).getResults())) {
      int64_t stride = loopCoefficient(expr, along, loops);
      int64_t dilation = loopCoefficient(expr, windows.tap, loops);
      if (stride <= 0 || dilation <= 0)
        continue;
      if (windows.input)
        return false;
      windows.input = operand;
      windows.inputDim = dim;
      windows.stride = stride;
      windows.dilation = dilation;
    }
  }
  return windows.input &&
         llvm::count(op->getOperands(), windows.input->get()) == 1;
}

/// Whether results share what they load.
static bool sharesLoads(const Windows &windows) {
  linalg::GenericOp op = windows.op;
  return windows.stride < windows.covered(1) ||
         llvm::any_of(
             op.getDpsInputOperands(),
             [&](OpOperand *operand) {
               return operand != windows.input &&
                      !op.getMatchingBlockArgument(operand).use_empty();
             });
}

/// Whether the result's dimensions are the first loops.
static bool hasLeadingLoops(linalg::GenericOp op) {
  AffineMap output = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  return llvm::all_of(llvm::enumerate(output.getResults()), [&](auto result) {
    return result.value() == getAffineDimExpr(result.index(), op.getContext());
  });
}

static std::optional<Windows> matchWindows(func::FuncOp kernel) {
  Windows windows;
  windows.op = onlyReduction(kernel);
  linalg::GenericOp op = windows.op;
  if (!op || op.getNumResults() != 1 || reducesLanes(op) ||
      llvm::is_contained(op.getStaticLoopRanges(), 0) || !hasLeadingLoops(op) ||
      !resultsFollowElementwise(kernel, op.getResult(0)))
    return std::nullopt;
  windows.shape.assign(
      cast<RankedTensorType>(op.getResult(0).getType()).getShape());
  if (windows.shape.size() < 2 || !findWindows(windows) ||
      !sharesLoads(windows))
    return std::nullopt;
  return windows;
}

//===----------------------------------------------------------------------===//
// Emission
//===----------------------------------------------------------------------===//

namespace {

class WindowsEmitter {
public:
  WindowsEmitter(EmittedKernel &kernel, const Windows &windows, OpBuilder &b)
      : kernel(kernel), windows(windows), op(windows.op), b(b),
        loc(kernel.source.getLoc()), pull(b, loc, windows.lanes) {
    kernel.bindInputs(pull);
  }
  LogicalResult emit();

private:
  using Values = FailureOr<SmallVector<Value>>;

  Value findStrip(Value unit);
  Indices resultAt(int64_t number);
  Values emitInitial();
  Values emitLine(Indices dims, SmallVector<Value> state);
  Values emitLines(ArrayRef<unsigned> lines, Indices &dims, ValueRange state);
  LogicalResult store(Value sum, const Indices &at);

  EmittedKernel &kernel;
  const Windows &windows;
  linalg::GenericOp op;
  OpBuilder &b;
  Location loc;
  Pull pull;
  Indices first; // Of the strip's results.
};

} // namespace

/// Finds the strip of a unit; gives where it would begin if strips did not have
/// to end where the results do.
Value WindowsEmitter::findStrip(Value unit) {
  first.resize(windows.shape.size());
  Value wanted;
  for (int64_t i = windows.shape.size() - 1; i >= 0; --i) {
    bool last = i + 1 == static_cast<int64_t>(windows.shape.size());
    bool along = i == windows.along();
    int64_t extent = along  ? windows.strips()
                     : last ? windows.shape[i] / windows.lanes
                            : windows.shape[i];
    Value digit = i == 0 ? unit : pull.peel(unit, extent);
    first[i] = {digit, 0, 1};
    if (last && windows.lanes > 1)
      first[i] = {pull.mul(digit, windows.lanes), 1, windows.lanes};
    if (!along)
      continue;
    wanted = pull.mul(digit, windows.strip);
    first[i].base = arith::MinUIOp::create(
        b, loc, wanted, pull.index(windows.shape[i] - windows.strip));
    if (windows.shape[i] % windows.strip == 0)
      first[i].base = wanted;
  }
  return wanted;
}

/// Where result `number` of the strip is.
Indices WindowsEmitter::resultAt(int64_t number) {
  Indices at = first;
  LaneIndex &along = at[windows.along()];
  along.base = pull.add(along.base, pull.index(number));
  return at;
}

WindowsEmitter::Values WindowsEmitter::emitInitial() {
  SmallVector<Value> state;
  for (int64_t i = 0; i < windows.strip; ++i) {
    auto initial = pull.at(op.getDpsInits()[0], resultAt(i));
    if (failed(initial))
      return failure();
    state.push_back(pull.asVector(*initial));
  }
  return state;
}

/// Adds a line of taps, that of `dims`, to all results of the strip.
WindowsEmitter::Values WindowsEmitter::emitLine(Indices dims,
                                                SmallVector<Value> state) {
  AffineMap map = op.getMatchingIndexingMap(windows.input);
  dims[windows.tap] = {pull.index(0), 0, 1};
  auto start = pull.apply(map, dims);
  if (failed(start))
    return failure();
  llvm::DenseMap<int64_t, LaneValue> line;
  for (int64_t tap = 0; tap < windows.taps(); ++tap) {
    dims[windows.tap].base = pull.index(tap);
    for (int64_t i = 0; i < windows.strip; ++i) {
      int64_t position = i * windows.stride + tap * windows.dilation;
      if (!line.contains(position)) {
        Indices at = *start;
        LaneIndex &along = at[windows.inputDim];
        along = {pull.add(along.base, pull.index(position)), along.stride, 1};
        auto element = pull.at(windows.input->get(), at);
        if (failed(element))
          return failure();
        line[position] = *element;
      }
      Indices inner = dims;
      inner[windows.along()] = resultAt(i)[windows.along()];
      pull.registers[windows.input->get()] = line[position];
      auto next = pull.reduceStep(op, inner, state[i]);
      pull.registers.erase(windows.input->get());
      if (failed(next))
        return failure();
      state[i] = next->front();
    }
  }
  return state;
}

/// The same for all lines of these loops.
WindowsEmitter::Values WindowsEmitter::emitLines(ArrayRef<unsigned> lines,
                                                 Indices &dims,
                                                 ValueRange state) {
  if (lines.empty())
    return emitLine(dims, llvm::to_vector(state));
  int64_t extent = op.getStaticLoopRanges()[lines.front()];
  return buildLoop(b, loc, extent, 1, state, [&](Value iv, ValueRange values) {
    dims[lines.front()] = {iv, 0, 1};
    return emitLines(lines.drop_front(), dims, values);
  });
}

/// Stores what follows from the sum at `at`.
LogicalResult WindowsEmitter::store(Value sum, const Indices &at) {
  Pull after(b, loc, windows.lanes);
  kernel.bindInputs(after);
  after.registers[op.getResult(0)] = {sum, windows.lanes == 1, {}};
  Operation *terminator = kernel.source.getBody().front().getTerminator();
  unsigned inputs = kernel.source.getNumArguments();
  for (auto [i, result] : llvm::enumerate(terminator->getOperands())) {
    auto value = after.at(result, at);
    if (failed(value) ||
        failed(after.store(*value, kernel.operand(inputs + i), at)))
      return failure();
  }
  return success();
}

LogicalResult WindowsEmitter::emit() {
  Value unit = pull.add(pull.mul(kernel.block, kThreads), kernel.thread);
  Value exists = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, unit,
                                       pull.index(windows.units()));
  auto branch = scf::IfOp::create(b, loc, TypeRange(), exists, false);
  b.setInsertionPointToStart(branch.thenBlock());
  Value wanted = findStrip(unit);
  auto dims = pull.loopIndices(op, first);
  auto initial = emitInitial();
  SmallVector<unsigned> lines;
  op.getReductionDims(lines);
  lines.pop_back();
  if (failed(dims) || failed(initial))
    return failure();
  Values sums = emitLines(lines, *dims, *initial);
  if (failed(sums))
    return failure();
  bool overlaps = windows.shape[windows.along()] % windows.strip != 0;
  for (auto [i, sum] : llvm::enumerate(*sums)) {
    OpBuilder::InsertionGuard guard(b);
    Indices at = resultAt(i);
    if (overlaps) { // The strip before has stored the others.
      Value own = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::uge,
                                        at[windows.along()].base, wanted);
      auto stores = scf::IfOp::create(b, loc, TypeRange(), own, false);
      b.setInsertionPointToStart(stores.thenBlock());
    }
    if (failed(store(sum, at)))
      return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Planning
//===----------------------------------------------------------------------===//

static LogicalResult emitAs(EmittedKernel &kernel, const Windows &windows) {
  OpBuilder b(kernel.function.getBody().front().getTerminator());
  return WindowsEmitter(kernel, windows, b).emit();
}

/// The longest strip that leaves enough threads, and enough registers.
static int64_t chooseStrip(Windows windows) {
  constexpr int64_t kEnoughUnits = 1 << 15, kMostCovered = 12;
  for (int64_t strip : {4, 2}) {
    windows.strip = strip;
    if (windows.shape[windows.along()] >= strip &&
        windows.covered(strip) <= kMostCovered &&
        windows.units() >= kEnoughUnits)
      return strip;
  }
  return 1;
}

static std::optional<Windows> planWindows(func::FuncOp kernel) {
  constexpr int64_t kMostTaps = 16;
  auto windows = matchWindows(kernel);
  if (!windows || windows->taps() > kMostTaps)
    return std::nullopt;
  int64_t widest = widestVector(kernel);
  for (int64_t lanes : {widest, int64_t(1)}) {
    windows->lanes = lanes;
    if (windows->shape.back() % lanes != 0)
      continue;
    windows->strip = chooseStrip(*windows);
    if (canEmit(kernel,
                [&](EmittedKernel &trial) { return emitAs(trial, *windows); }))
      return windows;
  }
  return std::nullopt;
}

std::optional<Division> divideWindows(func::FuncOp kernel) {
  auto windows = planWindows(kernel);
  if (!windows)
    return std::nullopt;
  return Division{
      static_cast<int64_t>(llvm::divideCeil(windows->units(), kThreads)),
      kThreads};
}

LogicalResult emitWindows(EmittedKernel &kernel, const Target &) {
  auto windows = planWindows(kernel.source);
  kernel.preferRegisters();
  return windows ? emitAs(kernel, *windows) : failure();
}

void packTaps(OpBuilder &b, SymbolTable &symbols, func::FuncOp kernel,
              graph::DispatchOp dispatch) {
  auto windows = planWindows(kernel);
  if (!windows)
    return;
  linalg::GenericOp op = windows->op;
  AffineExpr last =
      getAffineDimExpr(windows->shape.size() - 1, op.getContext());
  for (OpOperand *operand : op.getDpsInputOperands()) {
    AffineMap map = op.getMatchingIndexingMap(operand);
    auto dim = map.getResultPosition(last);
    if (operand == windows->input || !map.isProjectedPermutation() || !dim ||
        *dim + 1 == map.getNumResults() ||
        !packableArgument(kernel, operand->get()))
      continue;
    SmallVector<int64_t> order;
    for (unsigned i = 0; i < map.getNumResults(); ++i)
      if (i != *dim)
        order.push_back(i);
    order.push_back(*dim);
    packOperand(b, symbols, kernel, dispatch, operand->get(), order);
  }
}

} // namespace tinh::cuda
