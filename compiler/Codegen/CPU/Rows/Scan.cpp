//===- Scan.cpp - Running sums and products ---------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Along lanes, a vector is combined in steps that double: each adds the vector
// moved by 1, 2, 4 … lanes, or multiplies by it. The sum, or product, of all
// vectors before it is carried.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Rows/Scan.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace tinh::cpu {

LogicalResult emitScan(Pull &pull, const Scan &scan, const Buffer &result,
                       const Indices &at) {
  auto start = pull.at(scan.init, at);
  if (failed(start))
    return failure();
  return codegen::emitScan(
      pull, scan, at, pull.asVector(*start), [&](Value sum, const Indices &at) {
        return pull.store(pull.inRegisters(sum), result, at);
      });
}

/// The lanes of `vector` moved by `distance` in the direction of the scan, with
/// the neutral element before the first.
static Value moveLanes(Pull &pull, const Scan &scan, Value vector,
                       int64_t distance) {
  OpBuilder &b = pull.builder();
  Location loc = pull.location();
  int64_t lanes = pull.laneCount();
  Value neutral = scan.neutral(b, loc, vector.getType());
  SmallVector<int64_t> sources;
  for (int64_t lane = 0; lane < lanes; ++lane) {
    int64_t source = scan.reverse ? lane + distance : lane - distance;
    sources.push_back(source >= 0 && source < lanes ? source : lanes);
  }
  return vector::ShuffleOp::create(b, loc, vector, neutral, sources);
}

/// One vector at `at`, after elements that lead to `carry`; gives what all up
/// to its end lead to.
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
  if (pull.mask)
    sums = pull.select(pull.mask, sums, scan.neutral(b, loc, type));
  for (int64_t distance = 1; distance < lanes; distance *= 2)
    sums = scan.combine(b, loc, sums, moveLanes(pull, scan, sums, distance));
  Value total =
      vector::ExtractOp::create(b, loc, sums, scan.reverse ? 0 : lanes - 1);
  if (scan.exclusive)
    sums = moveLanes(pull, scan, sums, 1);
  sums = scan.combine(b, loc, vector::BroadcastOp::create(b, loc, type, carry),
                      sums);
  if (failed(pull.store({sums, false, {}}, result, at)))
    return failure();
  return scan.combine(b, loc, carry, total);
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
          base = pull.sub(pull.index(whole - lanes), iv);
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
