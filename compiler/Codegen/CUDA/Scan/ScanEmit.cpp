//===- ScanEmit.cpp - The code of running sums and products -----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Along the last dimension, a block has a row, and its threads an element each
// at a time: a warp sums up in steps that double, then the sums of the warps
// before it are added, and of all elements before these. The warps' sums lie in
// two places in turn, so that nobody waits for those who still read. Along
// another dimension, a thread goes along it alone.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/Exchange.h"
#include "compiler/Codegen/CUDA/Scan/Scan.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tinh::cuda {

namespace {

class ScanEmitter {
public:
  ScanEmitter(EmittedKernel &kernel, const ScanKernel &form, int64_t threads,
              OpBuilder &b)
      : kernel(kernel), form(form), threads(threads), b(b),
        loc(kernel.source.getLoc()), scalar(kernel.makePull(b, 1)) {}

  LogicalResult emitBlock();
  LogicalResult emitThread();

private:
  using Values = FailureOr<SmallVector<Value>>;

  Indices findRow(Value number);
  Value combine(Value x, Value y) { return form.scan.combine(b, loc, x, y); }
  FailureOr<Value> load(Value source, const Indices &at);
  LogicalResult store(Value sum, const Indices &at);
  Value sumWarp(Value element, Value lane);
  std::pair<Value, Value> exchangeWarps(Value upTo, Value warp, Value lane,
                                        Value tile, Value carry);
  Values step(Indices at, Value tile, Value carry);

  EmittedKernel &kernel;
  const ScanKernel &form;
  int64_t threads; // Of the block.
  OpBuilder &b;
  Location loc;
  Pull scalar;
};

} // namespace

/// The index of the first element of row `number`.
Indices ScanEmitter::findRow(Value number) {
  Indices at(form.shape.size(), LaneIndex{scalar.index(0), 0, 1});
  for (int64_t dim = form.shape.size(); dim-- > 0;)
    if (dim != form.scan.axis)
      at[dim].base = scalar.takeDigit(number, form.shape[dim]);
  return at;
}

FailureOr<Value> ScanEmitter::load(Value source, const Indices &at) {
  Pull pull = kernel.makePull(b, 1);
  auto value = pull.at(source, at);
  if (failed(value))
    return failure();
  return value->value;
}

/// Stores what follows from the sum at `at`.
LogicalResult ScanEmitter::store(Value sum, const Indices &at) {
  Pull pull = kernel.makePull(b, 1);
  pull.registers[form.result] = {sum, true, {}};
  return kernel.storeResults(pull, at);
}

/// The sum of the warp's elements up to that of `lane`.
Value ScanEmitter::sumWarp(Value element, Value lane) {
  for (int64_t distance = 1; distance < kWarp; distance *= 2) {
    Value before = shuffle(b, loc, element, distance, gpu::ShuffleMode::UP);
    Value exists =
        scalar.compare(arith::CmpIPredicate::uge, lane, scalar.index(distance));
    element = scalar.select(exists, combine(element, before), element);
  }
  return element;
}

/// What the elements before those of this warp add up to, and all: each warp
/// says in shared memory what its own do, `upTo` of the last lane.
std::pair<Value, Value> ScanEmitter::exchangeWarps(Value upTo, Value warp,
                                                   Value lane, Value tile,
                                                   Value carry) {
  Type type = upTo.getType();
  Buffer sums = kernel.sharedBuffer(b, 0, {2, threads / kWarp}, type);
  Value half = scalar.remainder(tile, 2);
  auto place = [&](Value number) {
    return Indices{{half, 0, 1}, {number, 0, 1}};
  };
  (void)buildIf(b, loc, scalar.isEqual(lane, kWarp - 1), [&] {
    return scalar.store({upTo, true, {}}, sums, place(warp));
  });
  kernel.barrier(b);
  Value before = carry, all = carry;
  for (int64_t i = 0; i < threads / kWarp; ++i) {
    Value other = scalar.load(sums, type, place(scalar.index(i))).value;
    Value isBefore =
        scalar.compare(arith::CmpIPredicate::ugt, warp, scalar.index(i));
    before = scalar.select(isBefore, combine(before, other), before);
    all = combine(all, other);
  }
  return {before, all};
}

/// The sums of as many elements as there are threads; gives the next carry.
ScanEmitter::Values ScanEmitter::step(Indices at, Value tile, Value carry) {
  const Scan &scan = form.scan;
  Value last = scalar.index(scan.extent - 1);
  Value position = scalar.add(scalar.mul(tile, threads), kernel.thread);
  Value inside = scalar.compare(arith::CmpIPredicate::ule, position, last);
  Value index = scalar.minimum(position, last);
  if (scan.reverse)
    index = scalar.sub(last, index);
  at[scan.axis] = {index, 0, 1};
  auto element = load(scan.input, at);
  if (failed(element))
    return failure();
  Value neutral = scan.neutral(b, loc, element->getType());
  Value own = scalar.select(inside, *element, neutral);
  Value warp = kernel.thread, lane = scalar.takeDigit(warp, kWarp);
  Value upTo = sumWarp(own, lane);
  auto [before, all] = exchangeWarps(upTo, warp, lane, tile, carry);
  if (scan.exclusive) {
    Value moved = shuffle(b, loc, upTo, 1, gpu::ShuffleMode::UP);
    upTo = scalar.select(scalar.isEqual(lane, 0), neutral, moved);
  }
  if (failed(buildIf(b, loc, inside,
                     [&] { return store(combine(before, upTo), at); })))
    return failure();
  return SmallVector<Value>{all};
}

LogicalResult ScanEmitter::emitBlock() {
  Indices at = findRow(kernel.block);
  auto start = load(form.scan.init, at);
  if (failed(start))
    return failure();
  return buildLoop(
      b, loc, llvm::divideCeil(form.scan.extent, threads), 1, *start,
      [&](Value tile, ValueRange carry) { return step(at, tile, carry[0]); });
}

LogicalResult ScanEmitter::emitThread() {
  const Scan &scan = form.scan;
  Value number = scalar.add(scalar.mul(kernel.block, threads), kernel.thread);
  Value exists = scalar.isBelow(number, form.rows());
  return buildIf(b, loc, exists, [&]() -> LogicalResult {
    Indices at = findRow(number);
    auto start = load(scan.init, at);
    if (failed(start))
      return failure();
    Pull pull = kernel.makePull(b, 1);
    return emitScan(pull, scan, at, *start, [&](Value sum, const Indices &at) {
      return store(sum, at);
    });
  });
}

LogicalResult ScanStrategy::emit(EmittedKernel &kernel, const ScanKernel &form,
                                 ScanPlanAttr plan, const Target &) {
  OpBuilder b = kernel.builder();
  ScanEmitter emitter(kernel, form, plan.getThreads(), b);
  return plan.getRow() == SumsAlong::Block ? emitter.emitBlock()
                                           : emitter.emitThread();
}

} // namespace tinh::cuda
