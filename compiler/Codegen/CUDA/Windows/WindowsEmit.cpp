//===- WindowsEmit.cpp - The code of windows that slide ---------*- C++ -*-===//
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
#include "compiler/Codegen/CUDA/Windows/Windows.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace tinh::cuda {

namespace {

class WindowsEmitter {
public:
  WindowsEmitter(EmittedKernel &kernel, const Windows &windows,
                 WindowsPlanAttr plan, OpBuilder &b)
      : kernel(kernel), windows(windows), plan(plan), op(windows.op), b(b),
        loc(kernel.source.getLoc()), lanes(plan.getLanes()),
        outputs(plan.getOutputs()), pull(kernel.makePull(b, lanes)) {}

  LogicalResult emit();

private:
  using Values = FailureOr<SmallVector<Value>>;

  Value findStrip(Value unit);
  LogicalResult emitUnit(Value unit);
  Indices resultAt(int64_t number);
  Values emitInitial();
  Values emitLine(Indices dims, SmallVector<Value> state);
  Values emitLines(ArrayRef<unsigned> lines, Indices &dims, ValueRange state);
  LogicalResult store(Value sum, const Indices &at);

  EmittedKernel &kernel;
  const Windows &windows;
  WindowsPlanAttr plan;
  linalg::GenericOp op;
  OpBuilder &b;
  Location loc;
  int64_t lanes, outputs;
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
    int64_t extent = along  ? windows.strips(outputs)
                     : last ? windows.shape[i] / lanes
                            : windows.shape[i];
    Value digit = i == 0 ? unit : pull.takeDigit(unit, extent);
    first[i] = {digit, 0, 1};
    if (last && lanes > 1)
      first[i] = {pull.mul(digit, lanes), 1, lanes};
    if (!along)
      continue;
    wanted = pull.mul(digit, outputs);
    first[i].base = windows.shape[i] % outputs == 0
                        ? wanted
                        : pull.minimum(wanted, windows.shape[i] - outputs);
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
  for (int64_t i = 0; i < outputs; ++i) {
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
    for (int64_t i = 0; i < outputs; ++i) {
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
  Pull after = kernel.makePull(b, lanes);
  after.registers[op.getResult(0)] = after.inRegisters(sum);
  return kernel.storeResults(after, at);
}

/// Computes the results of a unit.
LogicalResult WindowsEmitter::emitUnit(Value unit) {
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
  bool overlaps = windows.shape[windows.along()] % outputs != 0;
  for (auto [i, sum] : llvm::enumerate(*sums)) {
    Indices at = resultAt(i);
    Value own;
    if (overlaps) // The strip before has stored the others.
      own = pull.compare(arith::CmpIPredicate::uge, at[windows.along()].base,
                         wanted);
    if (failed(buildIf(b, loc, own, [&] { return store(sum, at); })))
      return failure();
  }
  return success();
}

LogicalResult WindowsEmitter::emit() {
  Value unit =
      pull.add(pull.mul(kernel.block, plan.getThreads()), kernel.thread);
  return buildIf(b, loc, pull.isBelow(unit, windows.units(lanes, outputs)),
                 [&] { return emitUnit(unit); });
}

LogicalResult WindowsStrategy::emit(EmittedKernel &kernel,
                                    const Windows &windows,
                                    WindowsPlanAttr plan, const Target &) {
  kernel.preferRegisters();
  OpBuilder b = kernel.builder();
  return WindowsEmitter(kernel, windows, plan, b).emit();
}

} // namespace tinh::cuda
