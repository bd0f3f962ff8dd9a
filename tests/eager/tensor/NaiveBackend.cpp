//===- NaiveBackend.cpp - Operations, slowly and plainly --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "NaiveBackend.h"

#include "NaiveArray.h"
#include "compiler/Eager/Random.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace tinh;
using namespace tinh::eager;

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

void NaiveBackend::allocate(TensorImpl &out) {
  uint64_t size =
      static_cast<uint64_t>(out.numElements()) * DType(out.dtype).size();
  out.storage = Storage::allocate(std::max<uint64_t>(size, 1));
  // So that what is read without having been written is seen.
  std::memset(out.storage->data(), 0xC5, size);
}

void NaiveBackend::fromHost(const void *data, TensorImpl &out, const Call &) {
  std::memcpy(out.storage->data(), data,
              size_t(out.numElements()) * DType(out.dtype).size());
}

const void *NaiveBackend::waitToRead(const TensorImpl &x, const Call &) {
  return x.storage->data();
}

void *NaiveBackend::waitToWrite(const TensorImpl &x, const Call &) {
  return x.storage->data();
}

//===----------------------------------------------------------------------===//
// Primitives
//===----------------------------------------------------------------------===//

#define TINH_FUNCTION(NAME, FUNCTION) naive::FUNCTION,
static PrimitiveFunction *const kFunctions[] = {TINH_PRIMITIVES(TINH_FUNCTION)};
#undef TINH_FUNCTION

void NaiveBackend::perform(const Primitive &primitive) {
  kFunctions[primitive.kind()](primitive);
}

//===----------------------------------------------------------------------===//
// Sources
//===----------------------------------------------------------------------===//

void naive::iota(const Primitive &primitive) {
  const auto &[start, step] = primitive.get<primitives::Iota>();
  TensorImpl &out = primitive.output();
  for (int64_t i = 0; i < out.sizes[0]; ++i) {
    Element element;
    if (isFloating(start.dtype)) {
      element.real = start.real + double(i) * step.real;
      element.integer = __int128(element.real);
    } else {
      element.integer = __int128(start.integer) + __int128(i) * step.integer;
      element.real = double(element.integer);
    }
    Array(out).set({i}, element);
  }
}

void naive::random(const Primitive &primitive) {
  const Draw &draw = primitive.get<primitives::Random>().draw;
  TensorImpl &out = primitive.output();
  uint64_t index = 0;
  forEach(out.sizes, [&](const Place &place) {
    uint64_t perBlock = drawsWideNumbers(draw.kind, out.dtype) ? 2 : 4;
    DrawnNumbers numbers = drawBlock(draw, out.dtype, index / perBlock);
    size_t i = index++ % perBlock;
    Element element;
    if (draw.kind == Draw::Integers)
      element.integer = numbers.integer[i];
    else
      element = {numbers.real[i], __int128(numbers.real[i])};
    Array(out).set(place, element);
  });
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

/// Whether `a` comes before `b`, NaN being the largest.
static bool isLess(const Element &a, const Element &b, tinh_dtype_t dtype) {
  if (!isFloating(dtype))
    return a.integer < b.integer;
  if (std::isnan(a.real) || std::isnan(b.real))
    return !std::isnan(a.real);
  return a.real < b.real;
}

static Element combine(ReduceOp op, const Element &a, const Element &b,
                       tinh_dtype_t dtype) {
  switch (op) {
  case ReduceOp::Sum:
  case ReduceOp::Mean:
    return {a.real + b.real, a.integer + b.integer};
  case ReduceOp::Prod:
    return {a.real * b.real,
            __int128(static_cast<unsigned __int128>(a.integer) *
                     static_cast<unsigned __int128>(b.integer))};
  case ReduceOp::Max:
  case ReduceOp::Min:
    if (isFloating(dtype) && (std::isnan(a.real) || std::isnan(b.real)))
      return std::isnan(a.real) ? a : b;
    return isLess(a, b, dtype) == (op == ReduceOp::Max) ? b : a;
  }
  __builtin_unreachable();
}

void naive::reduce(const Primitive &primitive) {
  const auto &[op, axes] = primitive.get<primitives::Reduce>();
  const TensorImpl &x = primitive.input(0);
  TensorImpl &out = primitive.output();
  forEach(out.sizes, [&](const Place &place) {
    Dims extents = Dims::filled(x.rank(), 1);
    for (int64_t axis : axes)
      extents[axis] = x.sizes[axis];
    bool isFirst = true;
    Element result;
    forEach(extents, [&](const Place &inner) {
      Place at = place;
      for (int64_t axis : axes)
        at[axis] = inner[axis];
      Element element = Array(x)[at];
      result = isFirst ? element : combine(op, result, element, x.dtype);
      isFirst = false;
    });
    if (op == ReduceOp::Mean)
      result.real /= double(extents.product());
    Array(out).set(place, result);
  });
}

void naive::argReduce(const Primitive &primitive) {
  const auto &[op, axis] = primitive.get<primitives::ArgReduce>();
  const TensorImpl &x = primitive.input(0);
  TensorImpl &out = primitive.output();
  forEach(out.sizes, [&](const Place &place) {
    Place at = place;
    Element best = Array(x)[at];
    int64_t found = 0;
    for (int64_t i = 1; i < x.sizes[axis]; ++i) {
      at[axis] = i;
      Element element = Array(x)[at];
      bool bestIsNaN = isFloating(x.dtype) && std::isnan(best.real);
      bool isNaN = isFloating(x.dtype) && std::isnan(element.real);
      bool isBetter =
          isNaN || (op == ArgOp::Max ? isLess(best, element, x.dtype)
                                     : isLess(element, best, x.dtype));
      if (!bestIsNaN && isBetter) {
        best = element;
        found = i;
      }
    }
    Array(out).set(place, {0, found});
  });
}

/// The product modulo 2^128.
static __int128 wrapped(__int128 a, __int128 b) {
  using Unsigned = unsigned __int128;
  return static_cast<__int128>(static_cast<Unsigned>(a) *
                               static_cast<Unsigned>(b));
}

void naive::cumulative(const Primitive &primitive) {
  const auto &[op, axis] = primitive.get<primitives::Cumulative>();
  const TensorImpl &x = primitive.input(0);
  TensorImpl &out = primitive.output();
  Dims starts = x.sizes;
  starts[axis] = 1;
  forEach(starts, [&](const Place &place) {
    Place at = place;
    bool multiplies = op == CumulativeOp::Cumprod;
    Element sum;
    for (int64_t i = 0; i < x.sizes[axis]; ++i) {
      at[axis] = i;
      Element element = Array(x)[at];
      if (i == 0)
        sum = element;
      else if (multiplies)
        sum = {sum.real * element.real, wrapped(sum.integer, element.integer)};
      else
        sum = {sum.real + element.real, sum.integer + element.integer};
      Array(out).set(at, sum);
    }
  });
}

void naive::sort(const Primitive &primitive) {
  const auto &[axis, descending, hasValues] = primitive.get<primitives::Sort>();
  const TensorImpl &x = primitive.input(0);
  TensorImpl *values = primitive.values(), *indices = primitive.indices();
  Dims starts = x.sizes;
  starts[axis] = 1;
  forEach(starts, [&](const Place &place) {
    std::vector<std::pair<Element, int64_t>> row;
    Place at = place;
    for (at[axis] = 0; at[axis] < x.sizes[axis]; ++at[axis])
      row.push_back({Array(x)[at], at[axis]});
    std::sort(row.begin(), row.end(), [&](auto &a, auto &b) {
      const Element &low = descending ? b.first : a.first;
      const Element &high = descending ? a.first : b.first;
      bool isTie = !isLess(low, high, x.dtype) && !isLess(high, low, x.dtype);
      return isTie ? a.second < b.second : isLess(low, high, x.dtype);
    });
    int64_t count = primitive.output().sizes[axis];
    for (at[axis] = 0; at[axis] < count; ++at[axis]) {
      if (values)
        Array(*values).set(at, row[at[axis]].first);
      if (indices)
        Array(*indices).set(at, {0, row[at[axis]].second});
    }
  });
}

//===----------------------------------------------------------------------===//
// Products and windows
//===----------------------------------------------------------------------===//

void naive::matmul(const Primitive &primitive) {
  const TensorImpl &a = primitive.input(0), &b = primitive.input(1);
  const TensorImpl *bias = primitive.optionalInput(2);
  TensorImpl &out = primitive.output();
  uint32_t rank = out.rank();
  forEach(out.sizes, [&](const Place &place) {
    Element sum;
    Place left = place, right = place;
    for (int64_t k = 0; k < a.sizes.back(); ++k) {
      left[rank - 1] = right[rank - 2] = k;
      Element x = Array(a).broadcast(left), y = Array(b).broadcast(right);
      sum = {sum.real + x.real * y.real, sum.integer + x.integer * y.integer};
    }
    if (bias) {
      Element element = Array(*bias).broadcast(place);
      sum = {sum.real + element.real, sum.integer + element.integer};
    }
    Array(out).set(place, sum);
  });
}

/// Calls `body` with each place of the kernel and of the input that a place of
/// the result sees; `inside` is whether the latter exists.
static void
forWindow(const Window &window, const TensorImpl &x, const Place &outPlace,
          const std::function<void(const Place &, Place, bool)> &body) {
  forEach(window.kernel, [&](const Place &kernel) {
    Place at = {outPlace[0], 0};
    bool inside = true;
    for (uint32_t i = 0; i < window.kernel.size(); ++i) {
      at.push_back(outPlace[2 + i] * window.strides[i] - window.padLow[i] +
                   kernel[i] * window.dilations[i]);
      inside &= at.back() >= 0 && at.back() < x.sizes[2 + i];
    }
    body(kernel, at, inside);
  });
}

void naive::conv(const Primitive &primitive) {
  const Window &window = primitive.get<primitives::Conv>().window;
  const TensorImpl &x = primitive.input(0), &weights = primitive.input(1);
  const TensorImpl *bias = primitive.optionalInput(2);
  TensorImpl &out = primitive.output();
  int64_t perGroup = weights.sizes[1];
  forEach(out.sizes, [&](const Place &place) {
    Element sum;
    int64_t group = place[1] / (weights.sizes[0] / window.groups);
    forWindow(window, x, place,
              [&](const Place &kernel, Place at, bool inside) {
                Place w = {place[1], 0};
                w.insert(w.end(), kernel.begin(), kernel.end());
                for (w[1] = 0; inside && w[1] < perGroup; ++w[1]) {
                  at[1] = group * perGroup + w[1];
                  Element a = Array(x)[at], b = Array(weights)[w];
                  sum = {sum.real + a.real * b.real,
                         sum.integer + a.integer * b.integer};
                }
              });
    if (bias) {
      Element element = Array(*bias)[{place[1]}];
      sum = {sum.real + element.real, sum.integer + element.integer};
    }
    Array(out).set(place, sum);
  });
}

void naive::convWeightGradient(const Primitive &primitive) {
  const Window &window = primitive.get<primitives::ConvWeightGradient>().window;
  const TensorImpl &x = primitive.input(0), &dy = primitive.input(1);
  TensorImpl &out = primitive.output();
  int64_t perGroup = out.sizes[0] / window.groups;
  forEach(out.sizes, [&](const Place &place) {
    Element sum;
    forEach(dy.sizes, [&](const Place &from) {
      if (from[1] != place[0])
        return;
      Place at = {from[0], place[0] / perGroup * out.sizes[1] + place[1]};
      bool inside = true;
      for (uint32_t i = 0; i < window.kernel.size(); ++i) {
        at.push_back(from[2 + i] * window.strides[i] - window.padLow[i] +
                     place[2 + i] * window.dilations[i]);
        inside &= at.back() >= 0 && at.back() < x.sizes[2 + i];
      }
      if (!inside)
        return;
      Element a = Array(x)[at], b = Array(dy)[from];
      sum = {sum.real + a.real * b.real, sum.integer + a.integer * b.integer};
    });
    Array(out).set(place, sum);
  });
}

void naive::maxPoolGradient(const Primitive &primitive) {
  const Window &window = primitive.get<primitives::MaxPoolGradient>().window;
  const TensorImpl &x = primitive.input(0), &dy = primitive.input(1);
  TensorImpl &out = primitive.output();
  forEach(out.sizes,
          [&](const Place &place) { Array(out).set(place, Element()); });
  forEach(dy.sizes, [&](const Place &place) {
    Place largest;
    forWindow(window, x, place, [&](const Place &, Place at, bool inside) {
      at[1] = place[1];
      if (!inside)
        return;
      double value = Array(x)[at].real;
      double best = largest.empty() ? 0 : Array(x)[largest].real;
      if (largest.empty() || value > best ||
          (std::isnan(value) && !std::isnan(best)))
        largest = at;
    });
    double sum = Array(out)[largest].real + Array(dy)[place].real;
    Array(out).set(largest, {sum, 0});
  });
}

void naive::pool(const Primitive &primitive) {
  const auto &[op, window] = primitive.get<primitives::Pool>();
  const TensorImpl &x = primitive.input(0);
  TensorImpl &out = primitive.output();
  forEach(out.sizes, [&](const Place &place) {
    Element result;
    bool isFirst = true;
    double count = 0;
    forWindow(window, x, place, [&](const Place &, Place at, bool inside) {
      at[1] = place[1];
      bool counted = op == PoolOp::MeanWithPadding || inside;
      for (uint32_t i = 0; i < window.kernel.size(); ++i)
        counted &=
            at[2 + i] < x.sizes[2 + i] + window.padHigh[i] - window.ceilPad[i];
      count += counted;
      if (!inside)
        return;
      ReduceOp how = op == PoolOp::Max ? ReduceOp::Max : ReduceOp::Sum;
      result =
          isFirst ? Array(x)[at] : combine(how, result, Array(x)[at], x.dtype);
      isFirst = false;
    });
    if (op != PoolOp::Max)
      result.real /= count;
    Array(out).set(place, result);
  });
}

//===----------------------------------------------------------------------===//
// Norms
//===----------------------------------------------------------------------===//

void naive::softmax(const Primitive &primitive) {
  const auto &[op, axis] = primitive.get<primitives::Softmax>();
  const TensorImpl &x = primitive.input(0);
  TensorImpl &out = primitive.output();
  Dims starts = x.sizes;
  starts[axis] = 1;
  forEach(starts, [&](const Place &place) {
    Place at = place;
    std::vector<double> row;
    for (at[axis] = 0; at[axis] < x.sizes[axis]; ++at[axis])
      row.push_back(Array(x)[at].real);
    double largest = -INFINITY, sum = 0;
    for (double value : row)
      largest = std::isnan(value) ? value : std::max(largest, value);
    for (double value : row)
      sum += std::exp(value - largest);
    for (at[axis] = 0; at[axis] < x.sizes[axis]; ++at[axis]) {
      double value = row[at[axis]] - largest;
      Array(out).set(at, {op == SoftmaxOp::Softmax ? std::exp(value) / sum
                                                   : value - std::log(sum),
                          0});
    }
  });
}

void naive::layerNorm(const Primitive &primitive) {
  const Normalization &norm = primitive.get<primitives::LayerNorm>().norm;
  const TensorImpl &x = primitive.input(0);
  const TensorImpl *scale = primitive.scale(), *bias = primitive.bias();
  TensorImpl &out = primitive.output();
  uint32_t first = x.rank() - norm.numDims;
  Dims outer = x.sizes, inner;
  for (uint32_t i = first; i < x.rank(); ++i) {
    outer[i] = 1;
    inner.push_back(x.sizes[i]);
  }
  forEach(outer, [&](const Place &place) {
    auto with = [&](const Place &rest) {
      Place at = place;
      std::copy(rest.begin(), rest.end(), at.begin() + first);
      return at;
    };
    double count = double(inner.product()), sum = 0, squares = 0;
    forEach(inner, [&](const Place &at) { sum += Array(x)[with(at)].real; });
    double mean = norm.rms ? 0 : sum / count;
    forEach(inner, [&](const Place &at) {
      squares += std::pow(Array(x)[with(at)].real - mean, 2);
    });
    double factor = 1 / std::sqrt(squares / count + norm.epsilon);
    forEach(inner, [&](const Place &at) {
      double value = (Array(x)[with(at)].real - mean) * factor;
      if (scale)
        value *= Array(*scale)[at].real;
      if (bias)
        value += Array(*bias)[at].real;
      Array(out).set(with(at), {value, 0});
    });
  });
}
