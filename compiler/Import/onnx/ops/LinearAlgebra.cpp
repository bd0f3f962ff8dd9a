//===- LinearAlgebra.cpp - Determinants -------------------------*- C++ -*-===//
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

/// Gaussian elimination of matrices [batch, n, n], a column at a time.
struct Elimination {
  Value matrices, determinants; ///< [batch, n, n], [batch, 1, 1]
};

/// Takes the column with the row that has its largest element out of the
/// matrices, which are left with a row and a column less.
Elimination eliminate(NodeBuilder &b, const Elimination &before) {
  Value m = before.matrices;
  int64_t batch = b.shape(m)[0], n = b.shape(m)[1];
  Value column = b.sliceAxis(m, 2, 0, 1);
  Value place = b.create<graph::ArgmaxOp>(
      {b.create<graph::AbsOp>({column})},
      {b.attr("axis", int64_t(1)), b.unit("keepdims")});
  Value row = b.create<graph::GatherElementsOp>(
      {m, b.broadcast(place, {batch, 1, n})}, {b.attr("axis", int64_t(1))});
  Value pivot = b.sliceAxis(row, 2, 0, 1);
  Value zero = b.scalarLike(place, 0);
  Value isFirst = b.compare(Predicate::Equal, place, zero);
  Value factor = b.where(isFirst, pivot, b.create<graph::NegOp>({pivot}));
  Elimination after{{}, b.mul(before.determinants, factor)};
  if (n == 1)
    return after;
  // The first row takes the place of the chosen one.
  Value isChosen =
      b.compare(Predicate::Equal, b.reshape(b.iota(n), {1, n, 1}), place);
  Value rest = b.where(isChosen, b.sliceAxis(m, 1, 0, 1), m);
  rest = b.sliceAxis(rest, 1, 1, n - 1);
  // A column of zeros makes the determinant 0, and no NaN.
  Value isZero = b.compare(Predicate::Equal, pivot, b.scalarLike(pivot, 0));
  Value divisor = b.where(isZero, b.scalarLike(pivot, 1), pivot);
  Value multiple = b.div(b.sliceAxis(rest, 2, 0, 1), divisor);
  after.matrices = b.sub(b.sliceAxis(rest, 2, 1, n - 1),
                         b.mul(multiple, b.sliceAxis(row, 2, 1, n - 1)));
  return after;
}

/// As a loop, for matrices that are large: what is left is filled with zeros,
/// which are never chosen before the rest is gone.
Value eliminateInLoop(NodeBuilder &b, const Elimination &start, int64_t n) {
  auto step = [&](const ScanArguments &arguments) -> ScanResults {
    Elimination next =
        eliminate(b, {arguments.carried[0], arguments.carried[1]});
    Value whole = b.pad(next.matrices, b.scalarLike(next.matrices, 0),
                        {0, 0, 0}, {0, 1, 1});
    return {{whole, next.determinants}};
  };
  return b.scan({n}, {start.matrices, start.determinants}, {}, step).carried[1];
}

Results determinant(NodeBuilder &b) {
  Value x = b.input(0);
  int64_t rank = b.rank(x);
  if (rank < 2 || b.shape(x)[rank - 1] != b.shape(x)[rank - 2])
    return {b.fail("expected square matrices, found " +
                   graph::shapeToString(x.getType()))};
  Ints shape(b.shape(x).drop_back(2));
  int64_t n = b.shape(x).back(), batch = *countElements(shape);
  Type element = b.element(x);
  if (!isa<FloatType>(element))
    return {b.fail("expected matrices of floats, found " +
                   graph::shapeToString(x.getType()))};
  Type wide = element.isF64() ? element : b.graph.raw().getF32Type();
  Value one = b.broadcast(b.scalar(wide, 1), {batch, 1, 1});
  Elimination state{b.reshape(b.cast(x, wide), {batch, n, n}), one};
  constexpr int64_t kMostUnrolled = 4;
  if (n > kMostUnrolled)
    state.determinants = eliminateInLoop(b, state, n);
  else
    for (int64_t i = 0; i < n && !b.failed(); ++i)
      state = eliminate(b, state);
  return {b.reshape(b.cast(state.determinants, element), shape)};
}

} // namespace

OpFamily linearAlgebraOps() { return {{"Det", determinant}}; }

} // namespace tinh::onnx
