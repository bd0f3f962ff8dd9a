//===- Reduction.cpp - Reductions and scans ---------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/onnx/OpTable.h"

using namespace mlir;

namespace tinh::onnx {

namespace {

/// The axes are an attribute, or the second input from opset `asInput` on.
/// None means all, or none with noop_with_empty_axes.
std::optional<Ints> readAxes(NodeBuilder &b, Value x, int asInput) {
  Ints given;
  if (b.opset() < asInput) {
    given = b.intsAttribute("axes");
  } else if (b.has(1)) {
    auto constant = b.ints(1, "axes");
    if (!constant)
      return std::nullopt;
    given = *constant;
  }
  if (given.empty() && !b.intAttribute("noop_with_empty_axes", 0))
    for (int64_t i = 0; i < b.rank(x); ++i)
      given.push_back(i);
  return b.axes(given, b.rank(x));
}

struct Reduction {
  Value x;
  Ints axes;
  bool keepdims;
};

std::optional<Reduction> read(NodeBuilder &b, int asInput = 18) {
  Value x = b.input(0);
  auto axes = readAxes(b, x, asInput);
  if (!axes)
    return std::nullopt;
  return Reduction{x, *axes, b.intAttribute("keepdims", 1) != 0};
}

template <Kind kind> Results plain(NodeBuilder &b) {
  auto r = read(b, kind == Kind::Sum ? 13 : 18);
  if (!r)
    return {Value()};
  return {b.reduce(kind, r->x, r->axes, r->keepdims)};
}

Results l1(NodeBuilder &b) {
  auto r = read(b);
  if (!r)
    return {Value()};
  Value abs = b.create<graph::AbsOp>({r->x});
  return {b.reduce(Kind::Sum, abs, r->axes, r->keepdims)};
}

Value sumOfSquares(NodeBuilder &b) {
  auto r = read(b);
  if (!r)
    return {};
  return b.reduce(Kind::Sum, b.mul(r->x, r->x), r->axes, r->keepdims);
}

Results sumSquare(NodeBuilder &b) { return {sumOfSquares(b)}; }

Results l2(NodeBuilder &b) {
  return {b.create<graph::SqrtOp>({sumOfSquares(b)})};
}

Results logSum(NodeBuilder &b) {
  auto r = read(b);
  if (!r)
    return {Value()};
  return {b.create<graph::LogOp>(
      {b.reduce(Kind::Sum, r->x, r->axes, r->keepdims)})};
}

/// The largest element is taken out first, so that no exponential overflows;
/// where it is infinite, 0 is.
Results logSumExp(NodeBuilder &b) {
  auto r = read(b);
  if (!r)
    return {Value()};
  Value zero = b.scalarLike(r->x, 0);
  Value largest = b.reduce(Kind::Max, r->x, r->axes, true);
  Value infinite = b.create<graph::IsInfOp>({largest});
  largest = b.where(infinite, zero, largest);
  Value exp = b.create<graph::ExpOp>({b.sub(r->x, largest)});
  Value log = b.create<graph::LogOp>({b.reduce(Kind::Sum, exp, r->axes, true)});
  Value y = b.add(log, largest);
  if (!y || r->keepdims)
    return {y};
  Ints shape;
  for (int64_t i = 0; i < b.rank(r->x); ++i)
    if (!llvm::is_contained(r->axes, i))
      shape.push_back(b.shape(r->x)[i]);
  return {b.reshape(y, shape)};
}

template <typename OpTy> Results arg(NodeBuilder &b) {
  Value x = b.input(0);
  auto axis = b.axis(b.intAttribute("axis", 0), b.rank(x));
  if (!axis)
    return {Value()};
  SmallVector<NamedAttribute> attributes = {b.attr("axis", *axis)};
  if (b.intAttribute("keepdims", 1))
    attributes.push_back(b.unit("keepdims"));
  if (b.intAttribute("select_last_index", 0))
    attributes.push_back(b.unit("select_last_index"));
  return {b.create<OpTy>({x}, attributes)};
}

template <typename OpTy> Results cumulative(NodeBuilder &b) {
  Value x = b.input(0);
  auto given = b.integer(1, "axis");
  auto axis = given ? b.axis(*given, b.rank(x)) : std::nullopt;
  if (!axis)
    return {Value()};
  SmallVector<NamedAttribute> attributes = {b.attr("axis", *axis)};
  for (StringRef flag : {"exclusive", "reverse"})
    if (b.intAttribute(flag, 0))
      attributes.push_back(b.unit(flag));
  return {b.create<OpTy>({x}, attributes)};
}

/// 1 at the largest element of each row, 0 elsewhere.
Results hardmax(NodeBuilder &b) {
  Value x = b.input(0);
  if (b.opset() < 13 && b.rank(x) != 2)
    return {b.fail("before opset 13 only matrices are supported")};
  auto axis =
      b.axis(b.intAttribute("axis", b.opset() < 13 ? 1 : -1), b.rank(x));
  if (!axis)
    return {Value()};
  Value index = b.create<graph::ArgmaxOp>(
      {x}, {b.attr("axis", *axis), b.unit("keepdims")});
  int64_t extent = b.shape(x)[*axis];
  Ints shape(b.rank(x), 1);
  shape[*axis] = extent;
  Value chosen =
      b.compare(Predicate::Equal, index, b.reshape(b.iota(extent), shape));
  return {b.cast(chosen, b.element(x))};
}

} // namespace

OpFamily reductionOps() {
  return {
      {"ArgMax", arg<graph::ArgmaxOp>},
      {"ArgMin", arg<graph::ArgminOp>},
#define CUMULATIVE_ONNX(NAME, STRING, OPSET)                                   \
  {STRING, cumulative<graph::NAME##Op>},
#include "dialects/graph/ReductionOps.inc"
      {"Hardmax", hardmax},
      {"ReduceL1", l1},
      {"ReduceL2", l2},
      {"ReduceLogSum", logSum},
      {"ReduceLogSumExp", logSumExp},
      {"ReduceMax", plain<Kind::Max>},
      {"ReduceMean", plain<Kind::Mean>},
      {"ReduceMin", plain<Kind::Min>},
      {"ReduceProd", plain<Kind::Prod>},
      {"ReduceSum", plain<Kind::Sum>},
      {"ReduceSumSquare", sumSquare},
  };
}

} // namespace tinh::onnx
