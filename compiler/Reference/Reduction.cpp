//===- Reduction.cpp - Reductions and scans, evaluated ----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Reference/Families.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tinh::reference {

using namespace graph;

//===----------------------------------------------------------------------===//
// Extremes
//===----------------------------------------------------------------------===//

template <> double lowest<double>(Type) { return -INFINITY; }
template <> double highest<double>(Type) { return INFINITY; }

template <> Integer lowest<Integer>(Type element) {
  if (element.isUnsignedInteger() || element.isInteger(1))
    return 0;
  return -(Integer(1) << (element.getIntOrFloatBitWidth() - 1));
}

template <> Integer highest<Integer>(Type element) {
  bool hasSign = !element.isUnsignedInteger() && !element.isInteger(1);
  return (Integer(1) << (element.getIntOrFloatBitWidth() - hasSign)) - 1;
}

//===----------------------------------------------------------------------===//
// reduce
//===----------------------------------------------------------------------===//

template <typename T> using Combine = T (*)(T, T);

template <typename T> static Combine<T> combination(ReduceKind kind) {
  switch (kind) {
  case ReduceKind::Sum:
  case ReduceKind::Mean:
    return [](T a, T b) { return a + b; };
  case ReduceKind::Prod:
    return [](T a, T b) { return multiply(a, b); };
  case ReduceKind::Max:
    return larger<T>;
  case ReduceKind::Min:
    return smaller<T>;
  }
  llvm_unreachable("all kinds are listed");
}

template <typename T> static T neutral(ReduceKind kind, Type element) {
  switch (kind) {
  case ReduceKind::Sum:
  case ReduceKind::Mean:
    return 0;
  case ReduceKind::Prod:
    return 1;
  case ReduceKind::Max:
    return lowest<T>(element);
  case ReduceKind::Min:
    return highest<T>(element);
  }
  llvm_unreachable("all kinds are listed");
}

static Tensor reduce(ReduceOp op, const Tensor &x) {
  Tensor y(op.getType());
  SmallVector<int64_t> kept(x.shape());
  int64_t count = 1;
  for (int64_t axis : op.getAxes()) {
    count *= kept[axis];
    kept[axis] = 1;
  }
  // A reduced dimension does not move in the result.
  std::array<Strides, 1> strides = {broadcastStrides(kept, x.shape())};
  visitElements(x, [&](auto kind) {
    using T = decltype(kind);
    Combine<T> combine = combination<T>(op.getKind());
    std::vector<T> &to = y.elements<T>();
    std::fill(to.begin(), to.end(), neutral<T>(op.getKind(), x.element()));
    const T *from = x.elements<T>().data();
    walk(x.shape(), strides, [&](const std::array<int64_t, 1> &at) {
      to[at[0]] = combine(to[at[0]], *from++);
    });
    if (op.getKind() == ReduceKind::Mean)
      for (T &sum : to)
        sum = count == 0 && !x.isFloat() ? T(0) : sum / count;
  });
  return y;
}

/// By definition: the mean, then the mean of squared distances from it.
static Tensor variance(VarianceOp op, const Tensor &x) {
  Tensor y(op.getType());
  SmallVector<int64_t> kept(x.shape());
  for (int64_t axis : op.getAxes())
    kept[axis] = 1;
  std::array<Strides, 1> strides = {broadcastStrides(kept, x.shape())};
  auto average = [&](auto valueOf) {
    std::vector<double> sums(y.size(), 0);
    const double *from = x.floats.data();
    walk(x.shape(), strides, [&](const std::array<int64_t, 1> &at) {
      sums[at[0]] += valueOf(*from++, at[0]);
    });
    for (double &sum : sums)
      sum /= static_cast<double>(x.size()) / static_cast<double>(y.size());
    return sums;
  };
  std::vector<double> means = average([](double x, int64_t) { return x; });
  y.floats = average(
      [&](double x, int64_t at) { return (x - means[at]) * (x - means[at]); });
  return y;
}

//===----------------------------------------------------------------------===//
// argmax, argmin, cumsum, cumprod
//===----------------------------------------------------------------------===//

/// Whether x takes the place of `best`, which came before it.
template <typename T> static bool beats(T x, T best, bool largest, bool last) {
  if (isNan(x) || isNan(best))
    return isNan(x) && (last || !isNan(best));
  if (x == best)
    return last;
  return largest ? x > best : x < best;
}

template <typename Op> static Tensor findExtreme(Op op, const Tensor &x) {
  constexpr bool largest = std::is_same_v<Op, ArgmaxOp>;
  bool last = op.getSelectLastIndex();
  Tensor y(op.getType());
  AxisView view(x.shape(), op.getAxis());
  visitElements(x, [&](auto kind) {
    using T = decltype(kind);
    const std::vector<T> &from = x.elements<T>();
    for (int64_t o = 0; o < view.outer; ++o)
      for (int64_t inner = 0; inner < view.inner; ++inner) {
        int64_t best = 0;
        for (int64_t i = 1; i < view.extent; ++i)
          if (beats(from[view.at(o, i, inner)], from[view.at(o, best, inner)],
                    largest, last))
            best = i;
        y.integers[o * view.inner + inner] = best;
      }
  });
  return y;
}

template <typename Op>
static Tensor cumulative(Op op, const Tensor &x, ReduceKind kind) {
  Tensor y(op.getType());
  AxisView view(x.shape(), op.getAxis());
  visitElements(x, [&](auto element) {
    using T = decltype(element);
    Combine<T> combine = combination<T>(kind);
    for (int64_t o = 0; o < view.outer; ++o)
      for (int64_t inner = 0; inner < view.inner; ++inner) {
        T sum = neutral<T>(kind, x.element());
        for (int64_t step = 0; step < view.extent; ++step) {
          int64_t i = op.getReverse() ? view.extent - 1 - step : step;
          int64_t at = view.at(o, i, inner);
          T before = sum;
          sum = combine(sum, x.elements<T>()[at]);
          y.elements<T>()[at] = op.getExclusive() ? before : sum;
        }
      }
  });
  return y;
}

std::optional<Tensor> evaluateReduction(Operation *op, Operands in) {
  using Result = std::optional<Tensor>;
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case([&](ReduceOp reduction) { return reduce(reduction, *in[0]); })
      .Case([&](VarianceOp spread) { return variance(spread, *in[0]); })
      .Case([&](ArgmaxOp arg) { return findExtreme(arg, *in[0]); })
      .Case([&](ArgminOp arg) { return findExtreme(arg, *in[0]); })
      .Case([&](CumsumOp scan) {
        return cumulative(scan, *in[0], ReduceKind::Sum);
      })
      .Case([&](CumprodOp scan) {
        return cumulative(scan, *in[0], ReduceKind::Prod);
      })
      .Default([](Operation *) { return Result(); });
}

} // namespace tinh::reference
