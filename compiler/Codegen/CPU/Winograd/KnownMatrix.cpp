//===- KnownMatrix.cpp - Products with a matrix that is known ---*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Winograd/KnownMatrix.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace tinh::cpu {

namespace {

/// Multiplies a matrix by a vector whose elements are vectors of lanes.
class KnownMatrix {
public:
  KnownMatrix(OpBuilder &b, Location loc, Matrix matrix)
      : b(b), loc(loc), matrix(std::move(matrix)) {}

  SmallVector<Value> times(SmallVector<Value> x);

private:
  /// What a row is of the vector: Σ coefficient · element.
  using Terms = SmallVector<std::pair<double, Value>>;
  Value sum(Terms terms);
  void pairColumns(SmallVector<Value> &x, Matrix &of);
  bool pairRows(const Matrix &of, int64_t first, int64_t second,
                ArrayRef<Value> x, SmallVector<Value> &results);

  OpBuilder &b;
  Location loc;
  Matrix matrix;
};

} // namespace

Value KnownMatrix::sum(Terms terms) {
  // One that is added as it is comes first.
  llvm::stable_sort(terms, [](const auto &x, const auto &y) {
    return (x.first == 1) > (y.first == 1);
  });
  Value result;
  for (auto [coefficient, element] : terms) {
    auto factor = [&, coefficient = coefficient, element = element] {
      auto type = cast<VectorType>(element.getType());
      Attribute known = b.getFloatAttr(type.getElementType(), coefficient);
      return arith::ConstantOp::create(b, loc,
                                       DenseElementsAttr::get(type, known));
    };
    if (!result)
      result = coefficient == 1
                   ? element
                   : arith::MulFOp::create(b, loc, element, factor());
    else if (coefficient == 1)
      result = arith::AddFOp::create(b, loc, result, element);
    else if (coefficient == -1)
      result = arith::SubFOp::create(b, loc, result, element);
    else
      result = vector::FMAOp::create(b, loc, element, factor(), result);
  }
  return result;
}

/// Elements that all rows have with coefficients of one size become their sum
/// and their difference, of which each row has one.
void KnownMatrix::pairColumns(SmallVector<Value> &x, Matrix &of) {
  auto isPair = [&](int64_t i, int64_t j) {
    bool isEven = false, isOdd = false;
    for (int64_t row = 0; row < of.rows; ++row) {
      double first = of.at(row, i), second = of.at(row, j);
      if (std::abs(first) != std::abs(second))
        return false;
      isEven |= first != 0 && first == second;
      isOdd |= first != 0 && first == -second;
    }
    return isEven && isOdd;
  };
  for (int64_t i = 0; i + 1 < of.columns; ++i) {
    if (!isPair(i, i + 1))
      continue;
    Value even = arith::AddFOp::create(b, loc, x[i], x[i + 1]),
          odd = arith::SubFOp::create(b, loc, x[i], x[i + 1]);
    x[i] = even;
    x[i + 1] = odd;
    for (int64_t row = 0; row < of.rows; ++row) {
      double &ofEven = of.at(row, i), &ofOdd = of.at(row, i + 1);
      bool isEven = ofEven == ofOdd;
      ofOdd = isEven ? 0 : ofEven;
      ofEven = isEven ? ofEven : 0;
    }
    ++i;
  }
}

/// Two rows whose elements are the same or opposite are the sum and the
/// difference of those parts.
bool KnownMatrix::pairRows(const Matrix &of, int64_t first, int64_t second,
                           ArrayRef<Value> x, SmallVector<Value> &results) {
  Terms same, opposite;
  for (int64_t column = 0; column < of.columns; ++column) {
    double one = of.at(first, column), other = of.at(second, column);
    if (std::abs(one) != std::abs(other))
      return false;
    if (one != 0)
      (one == other ? same : opposite).push_back({one, x[column]});
  }
  if (same.empty() || opposite.empty())
    return false;
  Value even = sum(same), odd = sum(opposite);
  results.push_back(arith::AddFOp::create(b, loc, even, odd));
  results.push_back(arith::SubFOp::create(b, loc, even, odd));
  return true;
}

SmallVector<Value> KnownMatrix::times(SmallVector<Value> x) {
  Matrix of = matrix;
  pairColumns(x, of);
  SmallVector<Value> results;
  while (static_cast<int64_t>(results.size()) < of.rows) {
    int64_t row = results.size();
    if (row + 1 < of.rows && pairRows(of, row, row + 1, x, results))
      continue;
    Terms terms;
    for (int64_t column = 0; column < of.columns; ++column)
      if (double coefficient = of.at(row, column); coefficient != 0)
        terms.push_back({coefficient, x[column]});
    results.push_back(sum(terms));
  }
  return results;
}

SmallVector<Value> multiplyBothSides(OpBuilder &b, Location loc,
                                     const Matrix &matrix, ArrayRef<Value> x) {
  KnownMatrix known(b, loc, matrix);
  int64_t side = matrix.columns; // Of x, which is square.
  SmallVector<SmallVector<Value>> columns;
  for (int64_t column = 0; column < side; ++column) {
    SmallVector<Value> elements;
    for (int64_t row = 0; row < side; ++row)
      elements.push_back(x[row * side + column]);
    columns.push_back(known.times(elements));
  }
  SmallVector<Value> results;
  for (int64_t row = 0; row < matrix.rows; ++row) {
    SmallVector<Value> elements;
    for (const SmallVector<Value> &column : columns)
      elements.push_back(column[row]);
    llvm::append_range(results, known.times(elements));
  }
  return results;
}

/// Additions and multiplications of the product of a matrix and a vector; those
/// of opposite points share all but the last one.
static double operationsOf(const Matrix &matrix) {
  double count = 0;
  for (double element : matrix.elements)
    count += element != 0;
  return count / 2 + matrix.rows / 2.0;
}

double transformCycles(const Matrix &matrix, double in, double out,
                       const Target &target) {
  const Machine &machine = *target.machine;
  double times =
      matrix.rows + matrix.columns; // Along one side, then the other.
  // Addresses, what registers have no room for, and the edges of images: seen
  // on Zen 4.
  constexpr double kBeside = 1.6;
  return kBeside *
         std::max(times * operationsOf(matrix) / machine.fmasPerCycle,
                  in / machine.loadsPerCycle + out / machine.storesPerCycle);
}

} // namespace tinh::cpu
