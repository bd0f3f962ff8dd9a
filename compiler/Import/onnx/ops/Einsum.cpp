//===- Einsum.cpp - Sums of products by index names -------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The operands are multiplied two at a time. What the two share and a later one
// or the result still needs are batch dimensions; what only they have is summed
// in the product:
//
//   "bij,bjk->bik"   [b | i, j] · [b | j, k]
//
// An ellipsis stands for dimensions with names of their own, counted from the
// last.
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/onnx/OpTable.h"

#include <map>

using namespace mlir;

namespace tinh::onnx {

namespace {

/// The name of a dimension: a letter or, of an ellipsis, 1000 and up.
using Labels = SmallVector<int>;

struct Term {
  Labels labels;
  Value value;
};

struct Equation {
  SmallVector<Labels> operands;
  Labels result;
};

constexpr int kEllipsis = 1000;

/// The names in "ab...c", of which the ellipsis has `hidden` dimensions.
bool readLabels(StringRef text, int64_t hidden, Labels &labels) {
  while (!text.empty()) {
    if (text.consume_front("...")) {
      for (int64_t i = hidden; i > 0; --i)
        labels.push_back(kEllipsis + static_cast<int>(i));
      continue;
    }
    if (!llvm::isAlpha(text.front()))
      return false;
    labels.push_back(text.front());
    text = text.drop_front();
  }
  return true;
}

/// Without "->": the names that occur once, those of the ellipsis first.
Labels impliedResult(const Equation &equation) {
  std::map<int, int> counts;
  int64_t hidden = 0;
  for (const Labels &labels : equation.operands)
    for (int label : labels) {
      ++counts[label];
      hidden = std::max<int64_t>(hidden, label - kEllipsis);
    }
  Labels result;
  for (int64_t i = hidden; i > 0; --i)
    result.push_back(kEllipsis + static_cast<int>(i));
  for (auto [label, count] : counts)
    if (label < kEllipsis && count == 1)
      result.push_back(label);
  return result;
}

std::optional<Equation> readEquation(NodeBuilder &b, ArrayRef<Value> inputs) {
  std::string text = b.stringAttribute("equation", "");
  llvm::erase(text, ' ');
  auto [left, right] = StringRef(text).split("->");
  SmallVector<StringRef> parts;
  left.split(parts, ',');
  Equation equation;
  auto malformed = [&]() -> std::optional<Equation> {
    b.fail("the equation \"" + text + "\" does not fit its operands");
    return std::nullopt;
  };
  if (parts.size() != inputs.size())
    return malformed();
  int64_t most = 0;
  for (auto [part, input] : llvm::zip(parts, inputs)) {
    auto letters = static_cast<int64_t>(llvm::count_if(part, llvm::isAlpha));
    int64_t hidden = part.contains("...") ? b.rank(input) - letters : 0;
    Labels labels;
    if (hidden < 0 || !readLabels(part, hidden, labels) ||
        static_cast<int64_t>(labels.size()) != b.rank(input))
      return malformed();
    most = std::max(most, hidden);
    equation.operands.push_back(labels);
  }
  if (!StringRef(text).contains("->"))
    equation.result = impliedResult(equation);
  else if (!readLabels(right, most, equation.result))
    return malformed();
  for (int label : equation.result)
    if (llvm::count(equation.result, label) > 1 ||
        llvm::none_of(equation.operands, [&](const Labels &labels) {
          return llvm::is_contained(labels, label);
        }))
      return malformed();
  return equation;
}

/// Permutes the dimensions of `term` to the order of `labels`, all of them.
Value arrange(NodeBuilder &b, const Term &term, const Labels &labels) {
  Ints permutation;
  for (int label : labels)
    permutation.push_back(llvm::find(term.labels, label) - term.labels.begin());
  return labels == term.labels ? term.value
                               : b.transpose(term.value, permutation);
}

/// A name that an operand has twice stands for the diagonal.
bool takeDiagonals(NodeBuilder &b, Term &term) {
  for (size_t i = 0; i < term.labels.size(); ++i) {
    auto *again = std::find(term.labels.begin() + i + 1, term.labels.end(),
                            term.labels[i]);
    if (again == term.labels.end())
      continue;
    int label = *again;
    // Both to the end: the diagonal of [n, n] is every (n + 1)th of n².
    Ints permutation;
    for (size_t d = 0; d < term.labels.size(); ++d)
      if (term.labels[d] != label)
        permutation.push_back(static_cast<int64_t>(d));
    auto second = static_cast<int64_t>(again - term.labels.begin());
    Ints kept = permutation;
    permutation.push_back(static_cast<int64_t>(i));
    permutation.push_back(second);
    Value x = b.transpose(term.value, permutation);
    Ints shape(b.shape(x));
    int64_t n = shape.pop_back_val();
    if (shape.back() != n || llvm::count(term.labels, label) > 2) {
      b.fail("a name that an operand has twice must stand for one extent");
      return false;
    }
    shape.back() = n * n;
    Ints starts(shape.size(), 0), steps(shape.size(), 1);
    Value flat = b.reshape(x, shape);
    shape.back() = n;
    steps.back() = n + 1;
    term.value = b.create<graph::SliceOp>({flat}, {b.attr("starts", starts),
                                                   b.attr("sizes", shape),
                                                   b.attr("steps", steps)});
    Labels labels;
    for (int64_t d : kept)
      labels.push_back(term.labels[d]);
    labels.push_back(label);
    term.labels = labels;
    i = static_cast<size_t>(-1); // from the first again
  }
  return true;
}

/// Sums over the dimensions that nothing needs.
void dropUnneeded(NodeBuilder &b, Term &term, const Labels &needed) {
  Ints axes;
  Labels kept;
  for (auto [i, label] : llvm::enumerate(term.labels)) {
    if (llvm::is_contained(needed, label))
      kept.push_back(label);
    else
      axes.push_back(static_cast<int64_t>(i));
  }
  if (axes.empty())
    return;
  term.value = b.reduce(Kind::Sum, term.value, axes, false);
  term.labels = kept;
}

int64_t extentOf(const Term &term, int label) {
  auto *at = llvm::find(term.labels, label);
  return at == term.labels.end()
             ? 1
             : NodeBuilder::shape(term.value)[at - term.labels.begin()];
}

/// Dimensions of extent 1 repeat where the other operand has more.
bool broadcastTo(NodeBuilder &b, Term &term, const Term &other) {
  Ints shape(b.shape(term.value));
  for (auto [extent, label] : llvm::zip(shape, term.labels)) {
    int64_t theirs = extentOf(other, label);
    if (extent != theirs && extent != 1 && theirs != 1) {
      b.fail("a name stands for the extents " + Twine(extent) + " and " +
             Twine(theirs));
      return false;
    }
    extent = theirs == 1 ? extent : theirs;
  }
  term.value = b.broadcast(term.value, shape);
  return !b.failed();
}

/// The sum of products of two terms; `needed` are the names that stay.
Term multiply(NodeBuilder &b, Term x, Term y, const Labels &needed) {
  auto both = [&](const Term &a, const Term &c) {
    Labels labels = needed;
    labels.append(c.labels);
    Term result = a;
    dropUnneeded(b, result, labels);
    return result;
  };
  Term left = both(x, y), right = both(y, x);
  if (!left.value || !right.value || !broadcastTo(b, left, right) ||
      !broadcastTo(b, right, left))
    return {};
  Labels batch, rows, summed, columns;
  for (int label : left.labels) {
    bool isShared = llvm::is_contained(right.labels, label);
    bool stays = llvm::is_contained(needed, label);
    (isShared ? stays ? batch : summed : rows).push_back(label);
  }
  for (int label : right.labels)
    if (!llvm::is_contained(left.labels, label))
      columns.push_back(label);
  auto flat = [&](const Term &term, const Labels &first, const Labels &second) {
    Labels order = batch;
    order.append(first);
    order.append(second);
    auto product = [&](const Labels &labels) {
      int64_t n = 1;
      for (int label : labels)
        n *= extentOf(term, label);
      return n;
    };
    return b.reshape(arrange(b, term, order),
                     {product(batch), product(first), product(second)});
  };
  Value value =
      b.matmul(flat(left, rows, summed), flat(right, summed, columns));
  Term result;
  Ints shape;
  for (const Labels *part : {&batch, &rows, &columns})
    for (int label : *part) {
      result.labels.push_back(label);
      shape.push_back(std::max(extentOf(left, label), extentOf(right, label)));
    }
  result.value = b.reshape(value, shape);
  return result;
}

Results einsum(NodeBuilder &b) {
  SmallVector<Value> inputs = b.inputs();
  if (b.failed())
    return {Value()};
  auto equation = readEquation(b, inputs);
  if (!equation)
    return {Value()};
  SmallVector<Term> terms;
  for (auto [labels, input] : llvm::zip(equation->operands, inputs)) {
    terms.push_back({labels, input});
    if (!takeDiagonals(b, terms.back()) || b.failed())
      return {Value()};
  }
  Term result = terms[0];
  for (size_t i = 1; i < terms.size(); ++i) {
    Labels needed = equation->result;
    for (size_t later = i + 1; later < terms.size(); ++later)
      needed.append(terms[later].labels);
    result = multiply(b, result, terms[i], needed);
    if (!result.value)
      return {Value()};
  }
  dropUnneeded(b, result, equation->result);
  return {result.value ? arrange(b, result, equation->result) : Value()};
}

} // namespace

OpFamily einsumOps() { return {{"Einsum", einsum}}; }

} // namespace tinh::onnx
