//===- ControlFlow.cpp - Random branches and loops --------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bodies are graphs like others, of a few ops, that read values from around.
// Loops run a few times; what they carry stays within its bound.
//
//===----------------------------------------------------------------------===//
#include "tests/end-to-end/random-graphs/Generator.h"

using namespace mlir;

namespace tinh::test {

using namespace graph;

namespace {

using Argument = Generator::Body::Argument;

template <typename Op, typename... Args> void end(Generator &g, Args... args) {
  Op::create(g.builder, g.builder.getUnknownLoc(), args...);
}

Argument argument(const Known &x) { return {x.type(), x.bound, x.exact}; }

/// The number of an iteration.
Argument counter(Generator &g) {
  return {countType(g.builder.getContext()), 8, true};
}

/// A boolean that the run computes: of an input or a value that is exact.
Value makeCondition(Generator &g) {
  Known x = g.any();
  if (!x.exact || x.isEmpty() || x.isBool())
    return g.leaf({}, g.builder.getI1Type()).value;
  Shape axes;
  for (int64_t i = 0; i < x.rank(); ++i)
    axes.push_back(i);
  Value largest = x.value;
  if (x.rank())
    largest = g.create<ReduceOp>(ReduceKind::Max, x.value, axes,
                                 /*keepdims=*/false);
  Known limit = g.constant({}, x.element(), 0, 1);
  return g.create<CompareOp>(ComparePredicate::Less, largest, limit.value);
}

/// A value of the type of `x` for the next iteration, within its bound.
Value makeNext(Generator &g, const Known &x) {
  g.makeOps(g.number(1, 3));
  return g.settle(g.like(x.type()), x.bound).value;
}

/// What is known of a carried value in all iterations.
Known carried(Known x) {
  x.exact = !x.isFloat();
  x.bound = x.isFloat() ? std::max(x.bound, 1.0)
                        : std::ldexp(1.0, x.element().getIntOrFloatBitWidth());
  return x;
}

bool makeIf(Generator &g) {
  if (g.depth > 1)
    return false;
  Value condition = makeCondition(g);
  Region regions[2];
  Known results[2];
  for (int i : {0, 1}) {
    Generator::Body body(g, regions[i]);
    g.makeOps(g.number(0, 3));
    results[i] = i ? g.like(results[0].type()) : g.any();
    end<YieldOp>(g, results[i].value);
  }
  auto op = IfOp::create(g.builder, g.builder.getUnknownLoc(),
                         TypeRange(results[0].type()), condition);
  op.getThenBranch().takeBody(regions[0]);
  op.getElseBranch().takeBody(regions[1]);
  return g.add(op.getResult(0), std::max(results[0].bound, results[1].bound),
               results[0].exact && results[1].exact);
}

/// Counts up to a number that is constant or an input.
bool makeWhile(Generator &g) {
  if (g.depth > 1)
    return false;
  Known x = carried(g.any());
  Type i64 = g.builder.getI64Type();
  Value zero = g.splat(i64, 0).value;
  Value limit = g.chance(0.5) ? g.splat(i64, g.number(0, 4)).value
                              : g.leaf({}, i64).value;
  Region regions[2];
  {
    Generator::Body test(g, regions[0], {argument(x), counter(g)});
    Value less =
        g.create<CompareOp>(ComparePredicate::Less, g.last().value,
                            g.create<MinOp>(limit, g.splat(i64, 4).value));
    if (g.chance(0.3))
      less = g.create<AndOp>(less, g.leaf({}, g.builder.getI1Type()).value);
    end<ConditionOp>(g, less);
  }
  {
    Generator::Body body(g, regions[1], {argument(x), counter(g)});
    Value next = g.create<AddOp>(g.last().value, g.splat(i64, 1).value);
    SmallVector<Value> values = {makeNext(g, x), next};
    end<YieldOp>(g, values);
  }
  auto op = WhileOp::create(g.builder, g.builder.getUnknownLoc(),
                            TypeRange({x.value.getType(), zero.getType()}),
                            ValueRange({x.value, zero}));
  op.getCondition().takeBody(regions[0]);
  op.getBody().takeBody(regions[1]);
  return g.add(op.getResult(0), x.bound, x.exact);
}

/// A scan, with what it takes and makes.
struct Scan {
  int64_t length;
  Value count, condition;
  SmallVector<Known> initial, xs, rows;
  Region region;
};

void chooseInputs(Generator &g, Scan &scan) {
  scan.length = g.number(0, 4);
  Known x = g.any();
  if (x.rank() && x.shape()[0] <= 6) {
    scan.xs.push_back(x);
    scan.length = x.shape()[0];
  }
  if (scan.xs.empty() || g.chance(0.7)) {
    // An input may be too large for what ops make.
    Known initial = g.any();
    if (isSmall(initial.shape()))
      scan.initial.push_back(carried(initial));
  }
  if (g.chance(0.2))
    scan.count = g.leaf({}, g.builder.getI64Type()).value;
  if (g.chance(0.3))
    scan.condition = makeCondition(g);
}

/// Carries values, and stacks some value of the body if that is small.
void makeScanBody(Generator &g, Scan &scan) {
  SmallVector<Argument> arguments = {counter(g)};
  for (const Known &x : scan.initial)
    arguments.push_back(argument(x));
  for (const Known &x : scan.xs)
    arguments.push_back({rowType(x.type()), x.bound, x.exact});
  Generator::Body body(g, scan.region, arguments);
  SmallVector<Value> yielded;
  if (scan.condition)
    yielded.push_back(makeCondition(g));
  for (const Known &x : scan.initial)
    yielded.push_back(makeNext(g, x));
  Known row = g.any();
  SmallVector<int64_t> stacked = {scan.length};
  llvm::append_range(stacked, row.shape());
  if (isSmall(stacked))
    scan.rows.push_back(row);
  for (const Known &known : scan.rows)
    yielded.push_back(known.value);
  end<YieldOp>(g, yielded);
}

bool makeScan(Generator &g) {
  if (g.depth > 1)
    return false;
  Scan scan;
  chooseInputs(g, scan);
  makeScanBody(g, scan);
  SmallVector<Value> initial, xs;
  SmallVector<Type> types;
  for (const Known &x : scan.initial) {
    initial.push_back(x.value);
    types.push_back(x.type());
  }
  for (const Known &x : scan.xs)
    xs.push_back(x.value);
  for (const Known &row : scan.rows)
    types.push_back(stackedType(row.type(), scan.length));
  if (types.empty())
    return false;
  auto op =
      ScanOp::create(g.builder, g.builder.getUnknownLoc(), types, scan.length,
                     scan.count, scan.condition, initial, xs);
  op.getBody().takeBody(scan.region);
  for (auto [value, known] : llvm::zip_equal(op.getFinals(), scan.initial))
    g.add(value, known.bound, known.exact);
  for (auto [value, known] : llvm::zip_equal(op.getStacked(), scan.rows))
    g.add(value, known.bound, known.exact);
  return true;
}

const Family kFamilies[] = {{2, makeIf}, {2, makeWhile}, {3, makeScan}};

} // namespace

ArrayRef<Family> controlFlowFamilies() { return kFamilies; }

} // namespace tinh::test
