//===- Steps.cpp - What the steps of a program can be -----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Values stay between about -4 and 4: products and sums are brought back by
// tanh or by a mean. Comparisons are of integers, which are exact.
//
//===----------------------------------------------------------------------===//
#include "Steps.h"

namespace tinh::test {

namespace {

using Operands = std::span<const Tensor>;
using Numbers = std::span<const int64_t>;
using Chosen = std::optional<Step>;

bool isFloat(const Tensor &x) { return x.dtype().is_floating_point(); }
bool isInteger(const Tensor &x) { return x.dtype().is_integer(); }
bool isWide(const Tensor &x) {
  return x.dtype() == float32 || x.dtype() == float64;
}
bool isNotEmpty(const Tensor &x) { return x.numel() > 0; }
/// Whether each element has a place of its own.
bool isWritable(const Tensor &x) {
  for (int64_t i = 0; i < x.dim(); ++i)
    if (x.strides()[static_cast<size_t>(i)] == 0 && x.size(i) > 1)
      return false;
  return true;
}
bool broadcastsTo(const Tensor &from, const Tensor &to) {
  if (from.dim() > to.dim())
    return false;
  for (int64_t i = 1; i <= from.dim(); ++i)
    if (from.size(-i) != 1 && from.size(-i) != to.size(-i))
      return false;
  return true;
}

Chosen step(std::vector<size_t> operands, std::vector<int64_t> numbers = {}) {
  return Step{0, std::move(operands), std::move(numbers)};
}

/// One operand for which the condition holds.
template <bool (*isRight)(const Tensor &)> Chosen chooseOne(Chooser &chooser) {
  auto x = chooser.find(isRight);
  return x ? step({*x}, {chooser.random.below(1000)}) : std::nullopt;
}
/// One operand and one of its axes.
template <bool (*isRight)(const Tensor &)> Chosen chooseAxis(Chooser &chooser) {
  auto x = chooser.find([](const Tensor &x) {
    return x.dim() > 0 && isNotEmpty(x) && isRight(x);
  });
  return x ? step({*x}, {chooser.random.below(chooser.tensors[*x].dim()),
                         chooser.random.below(1000)})
           : std::nullopt;
}
bool isAny(const Tensor &) { return true; }

/// Two operands, one of which broadcasts to the other.
template <bool (*isRight)(const Tensor &)> Chosen chooseTwo(Chooser &chooser) {
  auto x = chooser.find(isRight);
  if (!x)
    return std::nullopt;
  auto y = chooser.find([&](const Tensor &y) {
    return isRight(y) && broadcastsTo(y, chooser.tensors[*x]);
  });
  return step({*x, *y});
}

/// A tensor to be written, and another one that broadcasts to it, of a
/// category that is not above.
Chosen chooseWritten(Chooser &chooser) {
  auto x =
      chooser.find([](const Tensor &x) { return isWritable(x) && isWide(x); });
  if (!x)
    return std::nullopt;
  auto y = chooser.find([&](const Tensor &y) {
    return isWide(y) && broadcastsTo(y, chooser.tensors[*x]);
  });
  return step({*x, *y});
}

Tensor bounded(const Tensor &x) { return isFloat(x) ? tanh(x) : x % 7; }

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

Chosen chooseSlice(Chooser &chooser) {
  auto x = chooser.find(
      [](const Tensor &x) { return x.dim() > 0 && isNotEmpty(x); });
  if (!x)
    return std::nullopt;
  const Tensor &tensor = chooser.tensors[*x];
  int64_t axis = chooser.random.below(tensor.dim());
  int64_t extent = tensor.size(axis);
  int64_t start = chooser.random.below(extent);
  int64_t stop = start + 1 + chooser.random.below(extent - start);
  return step({*x}, {axis, start, stop, 1 + chooser.random.below(3)});
}

Chosen chooseTwoAxes(Chooser &chooser) {
  auto x = chooser.find([](const Tensor &x) { return x.dim() >= 2; });
  if (!x)
    return std::nullopt;
  int64_t rank = chooser.tensors[*x].dim();
  return step({*x}, {chooser.random.below(rank), chooser.random.below(rank)});
}

Tensor runExpand(Operands x, Numbers n) {
  Shape shape = x[0].shape();
  Shape wider{1 + n[0] % 3};
  for (int64_t extent : shape)
    wider.push_back(extent);
  return x[0].expand(wider);
}

//===----------------------------------------------------------------------===//
// Others
//===----------------------------------------------------------------------===//

Chosen chooseMatmul(Chooser &chooser) {
  auto a = chooser.find([](const Tensor &a) {
    return a.dim() >= 2 && isWide(a) && isNotEmpty(a);
  });
  if (!a)
    return std::nullopt;
  const Tensor &left = chooser.tensors[*a];
  auto b = chooser.find([&](const Tensor &b) {
    return b.dim() == 2 && b.dtype() == left.dtype() &&
           b.size(0) == left.size(-1) && isNotEmpty(b);
  });
  return b ? step({*a, *b}) : std::nullopt;
}

/// Tensors that differ in no dimension.
Chosen chooseSame(Chooser &chooser) {
  auto x = chooser.find([](const Tensor &x) { return x.dim() > 0; });
  if (!x)
    return std::nullopt;
  const Tensor &first = chooser.tensors[*x];
  auto y = chooser.find([&](const Tensor &y) {
    return y.dtype() == first.dtype() && y.shape() == first.shape();
  });
  return step({*x, *y}, {chooser.random.below(first.dim())});
}

Chosen chooseIndexed(Chooser &chooser) {
  auto x = chooser.find(
      [](const Tensor &x) { return x.dim() > 0 && isNotEmpty(x); });
  auto index = chooser.find([](const Tensor &index) {
    return index.dtype() == int64 && index.dim() == 1 && isNotEmpty(index);
  });
  if (!x || !index)
    return std::nullopt;
  return step({*x, *index}, {chooser.random.below(chooser.tensors[*x].dim())});
}

Tensor runIndexSelect(Operands x, Numbers n) {
  return index_select(x[0], n[0], x[1] % x[0].size(n[0]));
}

Chosen chooseWhere(Chooser &chooser) {
  auto x = chooser.find(isWide);
  if (!x)
    return std::nullopt;
  auto condition = chooser.find([&](const Tensor &c) {
    return c.dtype() == boolean && broadcastsTo(c, chooser.tensors[*x]);
  });
  return condition ? step({*condition, *x}) : std::nullopt;
}

const DType kDTypes[] = {float32, float64, int32, int64, float16};

} // namespace

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

std::span<const StepKind> stepKinds() {
  static const StepKind kinds[] = {
      {"tanh", chooseOne<isFloat>,
       [](Operands x, Numbers) { return tanh(x[0]); }},
      {"sigmoid", chooseOne<isFloat>,
       [](Operands x, Numbers) { return sigmoid(x[0]); }},
      {"gelu", chooseOne<isWide>,
       [](Operands x, Numbers) { return gelu(x[0]); }},
      {"neg", chooseOne<isFloat>, [](Operands x, Numbers) { return -x[0]; }},
      {"abs", chooseOne<isFloat>,
       [](Operands x, Numbers) { return abs(x[0]); }},
      {"add number", chooseOne<isFloat>,
       [](Operands x, Numbers n) { return tanh(x[0] + 0.001 * n[0]); }},
      {"cast", chooseOne<isNotEmpty>,
       [](Operands x, Numbers n) {
         DType to = kDTypes[n[0] % 5];
         // Whole numbers, well apart from where rounding changes them.
         if (isFloat(x[0]) && to.is_integer())
           return (x[0] * 0).to(to);
         return bounded(x[0].to(to));
       }},
      {"add", chooseTwo<isWide>,
       [](Operands x, Numbers) { return tanh(x[0] + x[1]); }},
      {"mul", chooseTwo<isWide>,
       [](Operands x, Numbers) { return tanh(x[0] * x[1]); }},
      {"maximum", chooseTwo<isWide>,
       [](Operands x, Numbers) { return maximum(x[0], x[1]); }},
      {"integer add", chooseTwo<isInteger>,
       [](Operands x, Numbers) { return (x[0] + x[1]) % 7; }},
      {"less", chooseTwo<isInteger>,
       [](Operands x, Numbers) { return x[0] < x[1]; }},
      {"where", chooseWhere,
       [](Operands x, Numbers) { return where(x[0], x[1], 0.5); }},

      {"slice", chooseSlice,
       [](Operands x, Numbers n) {
         return x[0].slice(n[0], n[1], n[2], n[3]);
       }},
      {"transpose", chooseTwoAxes,
       [](Operands x, Numbers n) { return x[0].transpose(n[0], n[1]); }},
      {"select", chooseAxis<isAny>,
       [](Operands x, Numbers n) {
         return x[0].select(n[0], n[1] % x[0].size(n[0]));
       }},
      {"flatten", chooseOne<isAny>,
       [](Operands x, Numbers) { return x[0].flatten(); }},
      {"unsqueeze", chooseAxis<isAny>,
       [](Operands x, Numbers n) {
         return x[0].dim() < 5 ? x[0].unsqueeze(n[0]) : x[0];
       }},
      {"expand",
       [](Chooser &chooser) {
         auto x = chooser.find([](const Tensor &x) { return x.dim() < 4; });
         return x ? step({*x}, {chooser.random.below(10)}) : std::nullopt;
       },
       runExpand},
      {"clone", chooseOne<isAny>,
       [](Operands x, Numbers) { return x[0].clone(); }},

      {"add_", chooseWritten,
       [](Operands x, Numbers) {
         x[0].mul_(0.5).add_(tanh(x[1]));
         return Tensor();
       }},
      {"copy_", chooseWritten,
       [](Operands x, Numbers) {
         x[0].copy_(x[1]);
         return Tensor();
       }},
      {"sigmoid_", chooseOne<isWide>,
       [](Operands x, Numbers) {
         if (isWritable(x[0]))
           x[0].sigmoid_();
         return Tensor();
       }},
      {"fill_", chooseOne<isWritable>,
       [](Operands x, Numbers n) {
         x[0].fill_(n[0] % 2);
         return Tensor();
       }},
      {"integer add_", chooseOne<isInteger>,
       [](Operands x, Numbers n) {
         if (isWritable(x[0]))
           x[0].add_(n[0]).remainder_(7);
         return Tensor();
       }},

      {"sum", chooseAxis<isWide>,
       [](Operands x, Numbers n) { return tanh(x[0].sum(n[0])); }},
      {"mean", chooseAxis<isWide>,
       [](Operands x, Numbers n) { return x[0].mean(n[0], true); }},
      {"max", chooseAxis<isWide>,
       [](Operands x, Numbers n) { return x[0].max(n[0]); }},
      {"sum of all", chooseOne<isWide>,
       [](Operands x, Numbers) { return tanh(x[0].sum()); }},
      {"integer sum", chooseAxis<isInteger>,
       [](Operands x, Numbers n) { return x[0].sum(n[0]) % 7; }},
      {"argmax", chooseAxis<isInteger>,
       [](Operands x, Numbers n) { return x[0].argmax(n[0]); }},
      {"cumsum", chooseAxis<isWide>,
       [](Operands x, Numbers n) { return tanh(cumsum(x[0], n[0])); }},
      {"cumprod", chooseAxis<isWide>,
       [](Operands x, Numbers n) { return cumprod(tanh(x[0]), n[0]); }},
      {"softmax", chooseAxis<isWide>,
       [](Operands x, Numbers n) { return softmax(x[0], n[0]); }},
      {"layer_norm", chooseAxis<isWide>,
       [](Operands x, Numbers) {
         return layer_norm(x[0], x[0].size(-1), {}, {}, 0.1);
       }},
      {"matmul", chooseMatmul,
       [](Operands x, Numbers) { return tanh(matmul(x[0], x[1])); }},
      {"concat", chooseSame,
       [](Operands x, Numbers n) { return concat({x[0], x[1]}, n[0]); }},
      {"index_select", chooseIndexed, runIndexSelect},
      {"flip", chooseAxis<isAny>,
       [](Operands x, Numbers n) { return flip(x[0], n[0]); }},
      {"sort", chooseAxis<isInteger>,
       [](Operands x, Numbers n) { return sort(x[0], n[0]).indices; }},
      {"uniform", chooseOne<isAny>,
       [](Operands x, Numbers n) {
         return uniform(x[0].shape(), Generator(static_cast<uint64_t>(n[0])));
       }},
  };
  return kinds;
}

} // namespace tinh::test
