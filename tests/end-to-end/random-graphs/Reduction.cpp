//===- Reduction.cpp - Random reductions and norms --------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tests/end-to-end/random-graphs/Generator.h"

using namespace mlir;

namespace tinh::test {

using namespace graph;

namespace {

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

bool makeVariance(Generator &g) {
  Known x = g.anyBounded(100);
  if (!x.isFloat() || x.isEmpty())
    return false;
  Shape axes;
  for (int64_t i = 0; i < x.rank(); ++i)
    if (g.chance(0.5))
      axes.push_back(i);
  Value y = g.create<VarianceOp>(x.value, axes, g.chance(0.5));
  return g.add(y, x.bound * x.bound, false);
}

bool makeReduce(Generator &g) {
  Known x = g.any();
  Shape axes;
  double count = 1;
  for (int64_t i = 0; i < x.rank(); ++i)
    if (g.chance(0.5)) {
      axes.push_back(i);
      count *= x.shape()[i];
    }
  ReduceKind kind = g.choose({ReduceKind::Max, ReduceKind::Min, ReduceKind::Sum,
                              ReduceKind::Mean, ReduceKind::Prod});
  bool extreme = kind == ReduceKind::Max || kind == ReduceKind::Min;
  // Of nothing, they are no numbers of a bound that is known.
  if (count == 0 && (extreme || kind == ReduceKind::Mean) &&
      !(x.isFloat() && g.special))
    return false;
  if (x.isBool() && !extreme)
    return false;
  // Sums that wrap have no mean; products of many have no digits left.
  if (kind == ReduceKind::Mean && !x.isFloat() && x.bound * count > 1e6)
    return false;
  if (kind == ReduceKind::Prod && x.isFloat() && (count > 8 || x.bound > 4))
    return false;
  double bound = kind == ReduceKind::Sum    ? x.bound * count
                 : kind == ReduceKind::Prod ? std::pow(x.bound, count)
                                            : x.bound;
  return g.add(g.create<ReduceOp>(kind, x.value, axes, g.chance(0.5)), bound,
               x.exact && (extreme || !x.isFloat()));
}

bool makeArg(Generator &g) {
  Known x = g.any();
  if (!x.exact || x.rank() == 0 || x.isBool() || x.isEmpty())
    return false;
  int64_t axis = g.number(0, x.rank() - 1);
  bool keepdims = g.chance(0.5), last = g.chance(0.3);
  Value y;
  if (g.chance(0.5))
    y = g.create<ArgmaxOp>(x.value, axis, keepdims, last);
  else
    y = g.create<ArgminOp>(x.value, axis, keepdims, last);
  return g.add(y, x.shape()[axis], true);
}

bool makeCumsum(Generator &g) {
  Known x = g.any();
  if (x.rank() == 0 || x.isBool())
    return false;
  int64_t axis = g.number(0, x.rank() - 1);
  bool exclusive = g.chance(0.3), reverse = g.chance(0.3);
  return g.add(g.create<CumsumOp>(x.value, axis, exclusive, reverse),
               x.bound * x.shape()[axis], !x.isFloat());
}

bool makeCumprod(Generator &g) {
  Known x = g.anyBounded(1);
  if (!x.isFloat() || x.rank() == 0)
    return false;
  int64_t axis = g.number(0, x.rank() - 1);
  bool exclusive = g.chance(0.3), reverse = g.chance(0.3);
  return g.add(g.create<CumprodOp>(x.value, axis, exclusive, reverse), 1,
               false);
}

//===----------------------------------------------------------------------===//
// Norms
//===----------------------------------------------------------------------===//

bool makeSoftmax(Generator &g) {
  Known x = g.anyBounded(50);
  if (!x.isFloat() || x.rank() == 0)
    return false;
  int64_t axis = g.number(0, x.rank() - 1);
  if (g.chance(0.7))
    return g.add(g.create<SoftmaxOp>(x.value, axis), 1, false);
  return g.add(g.create<LogSoftmaxOp>(x.value, axis), 2 * x.bound + 10, false);
}

bool makeLayerNorm(Generator &g) {
  Known x = g.anyBounded(50);
  if (!x.isFloat() || x.rank() == 0)
    return false;
  int64_t axis = g.chance(0.6) ? x.rank() - 1 : g.number(0, x.rank() - 1);
  auto parameter = [&] {
    Shape shape(x.shape().drop_front(axis));
    for (int64_t &extent : shape)
      if (g.chance(0.15))
        extent = 1;
    return g.leaf(shape, x.element()).value;
  };
  Value scale = parameter();
  Value bias = g.chance(0.6) ? parameter() : Value();
  bool rms = g.chance(0.3);
  return g.add(
      g.create<LayerNormOp>(x.value, scale, bias, axis, APFloat(0.1), rms), 50,
      false);
}

bool makeLrn(Generator &g) {
  Known x = g.anyBounded(10);
  if (!x.isFloat() || x.rank() < 2)
    return false;
  Layout layout = g.chance(0.5) ? Layout::ChannelsFirst : Layout::ChannelsLast;
  return g.add(g.create<LrnOp>(x.value, g.number(1, 5), APFloat(0.1),
                               APFloat(g.choose({0.5, 0.75, 1.0})),
                               APFloat(1.0), layout),
               x.bound, false);
}

bool makeAttention(Generator &g) {
  Known q = g.anyBounded(4);
  if (!q.isFloat() || q.rank() != 4 || q.isEmpty() || g.chance(0.3)) {
    Shape shape = {g.number(1, 2), g.number(1, 4), g.number(1, 9),
                   g.number(1, 9)};
    q = g.leaf(shape, g.builder.getF32Type());
  }
  int64_t heads = q.shape()[1], queries = q.shape()[2];
  // A value that is masked may be multiplied by zero, or left out.
  bool causal = g.chance(0.3) && !g.special;
  int64_t keys = g.number(1, 12) + (causal ? queries : 0);
  Shape shape = {q.shape()[0], g.chance(0.3) ? 1 : heads, keys, q.shape()[3]};
  Value key = g.leaf(shape, q.element()).value;
  shape[3] = g.number(1, 9);
  Known value = g.leaf(shape, q.element());
  Value mask;
  if (g.chance(0.5))
    mask = g.leaf({g.chance(0.5) ? queries : 1, keys}, q.element()).value;
  Value y = g.create<AttentionOp>(q.value, key, value.value, mask,
                                  APFloat(g.choose({0.25, 1.0})), causal);
  return g.add(y, value.bound, false);
}

const Family kFamilies[] = {
    {7, makeReduce}, {1, makeVariance},  {2, makeArg},
    {1, makeCumsum}, {1, makeCumprod},   {4, makeSoftmax},
    {2, makeLrn},    {5, makeLayerNorm}, {3, makeAttention},
};

} // namespace

ArrayRef<Family> reductionFamilies() { return kFamilies; }

} // namespace tinh::test
