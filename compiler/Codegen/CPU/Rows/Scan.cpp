//===- Scan.cpp - Running sums ----------------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Along lanes, a vector is summed in steps that double: each adds the vector
// moved by 1, 2, 4 … lanes. The sum of all vectors before it is carried.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Rows/Scan.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace tinh::cpu {

static Value add(OpBuilder &b, Location loc, Value x, Value y) {
  if (isa<FloatType>(getElementTypeOrSelf(x)))
    return arith::AddFOp::create(b, loc, x, y);
  return arith::AddIOp::create(b, loc, x, y);
}

LogicalResult emitScan(Pull &pull, const Scan &scan, const Buffer &result,
                       Indices at) {
  OpBuilder &b = pull.builder();
  Location loc = pull.location();
  auto start = pull.at(scan.init, at);
  if (failed(start))
    return failure();
  auto step = [&](Value iv, ValueRange state) -> FailureOr<SmallVector<Value>> {
    Value i = iv;
    if (scan.reverse)
      i = arith::SubIOp::create(b, loc, pull.index(scan.extent - 1), iv);
    at[scan.axis] = {i, 0, 1};
    auto element = pull.at(scan.input, at);
    if (failed(element))
      return failure();
    Value sum = add(b, loc, state[0], pull.asVector(*element));
    LaneValue stored{
        scan.exclusive ? state[0] : sum, pull.laneCount() == 1, {}};
    if (failed(pull.store(stored, result, at)))
      return failure();
    return SmallVector<Value>{sum};
  };
  return buildLoop(b, loc, scan.extent, 1, pull.asVector(*start), step);
}

/// The lanes of `vector` moved by `distance` in the direction of the scan, with
/// zeros before the first.
static Value moveLanes(Pull &pull, const Scan &scan, Value vector,
                       int64_t distance) {
  OpBuilder &b = pull.builder();
  Location loc = pull.location();
  int64_t lanes = pull.laneCount();
  auto type = vector.getType();
  Value zero = arith::ConstantOp::create(b, loc, type, b.getZeroAttr(type));
  SmallVector<int64_t> sources;
  for (int64_t lane = 0; lane < lanes; ++lane) {
    int64_t source = scan.reverse ? lane + distance : lane - distance;
    sources.push_back(source >= 0 && source < lanes ? source : lanes);
  }
  return vector::ShuffleOp::create(b, loc, vector, zero, sources);
}

/// One vector at `at`, after elements that sum up to `carry`; gives the sum up
/// to its end.
static FailureOr<Value> scanVector(Pull &pull, const Scan &scan,
                                   const Buffer &result, const Indices &at,
                                   Value carry) {
  OpBuilder &b = pull.builder();
  Location loc = pull.location();
  int64_t lanes = pull.laneCount();
  auto element = pull.at(scan.input, at);
  if (failed(element))
    return failure();
  Value sums = pull.asVector(*element);
  auto type = cast<VectorType>(sums.getType());
  if (pull.mask) {
    Value zero = arith::ConstantOp::create(b, loc, type, b.getZeroAttr(type));
    sums = arith::SelectOp::create(b, loc, pull.mask, sums, zero);
  }
  for (int64_t distance = 1; distance < lanes; distance *= 2)
    sums = add(b, loc, sums, moveLanes(pull, scan, sums, distance));
  Value total =
      vector::ExtractOp::create(b, loc, sums, scan.reverse ? 0 : lanes - 1);
  if (scan.exclusive)
    sums = moveLanes(pull, scan, sums, 1);
  sums = add(b, loc, vector::BroadcastOp::create(b, loc, type, carry), sums);
  if (failed(pull.store({sums, false, {}}, result, at)))
    return failure();
  return add(b, loc, carry, total);
}

LogicalResult emitScanAlongLanes(Pull &pull, const Scan &scan,
                                 const Buffer &result, Indices at) {
  OpBuilder &b = pull.builder();
  Location loc = pull.location();
  int64_t lanes = pull.laneCount(), extent = scan.extent;
  int64_t whole = extent / lanes * lanes;
  auto start = pull.at(scan.init, at);
  if (failed(start))
    return failure();
  Value carry = start->value;
  auto tail = [&]() -> LogicalResult {
    if (whole == extent)
      return success();
    pull.mask = firstLanes(b, loc, extent - whole, lanes);
    at[scan.axis] = {pull.index(whole), 1, lanes};
    auto next = scanVector(pull, scan, result, at, carry);
    pull.mask = {};
    if (succeeded(next))
      carry = *next;
    return next;
  };
  if (scan.reverse && failed(tail()))
    return failure();
  auto sums = buildLoop(
      b, loc, whole, lanes, carry,
      [&](Value iv, ValueRange state) -> FailureOr<SmallVector<Value>> {
        Value base = iv;
        if (scan.reverse)
          base = arith::SubIOp::create(b, loc, pull.index(whole - lanes), iv);
        at[scan.axis] = {base, 1, lanes};
        auto next = scanVector(pull, scan, result, at, state[0]);
        if (failed(next))
          return failure();
        return SmallVector<Value>{*next};
      });
  if (failed(sums))
    return failure();
  carry = sums->front();
  return scan.reverse ? success() : tail();
}

} // namespace tinh::cpu
