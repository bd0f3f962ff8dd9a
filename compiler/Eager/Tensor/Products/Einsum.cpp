//===- Einsum.cpp - Sums of products by Einstein's convention ---*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operands are multiplied from the left to the right. For each product, all are
// brought to the same order of letters:
//
//   batch letters (in both, and still needed), rows (of the left one only),
//   inner letters (in both, needed no more), columns (of the right one only)
//
// which is a batched matrix product. Letters of one operand that nothing else
// needs are summed before.
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Tensor/Elementwise.h"

#include <cctype>

using namespace tinh;
using namespace tinh::eager;

namespace {

/// A dimension of an operand: a letter, or one of those that "..." stands for,
/// numbered from the last.
using Label = int;
constexpr Label kEllipsis = 256;

struct Term {
  Tensor tensor;
  std::vector<Label> labels;
};

using Labels = std::vector<Label>;

class Einsum {
public:
  Einsum(std::string_view equation, std::span<const Operand> inputs,
         const Call &call)
      : equation(equation), call(call) {
    parse(inputs);
  }

  Tensor run();

private:
  void parse(std::span<const Operand> inputs);
  Labels parseLabels(std::string_view text, uint32_t ellipsisRank) const;
  void addTerm(std::string_view text, const Operand &input);
  void chooseOutput(bool isGiven, std::string_view text);

  Term takeDiagonals(Term term) const;
  /// Sums over letters that are neither among `kept`, nor in the result, nor in
  /// terms from `next` on.
  Term sumUnneeded(Term term, const Labels &kept, size_t next) const;
  /// What the letters of two terms are in their matrix product.
  struct Roles {
    Labels batch, rows, inner, columns;
  };
  Roles rolesOf(const Term &a, const Term &b, size_t next) const;
  int64_t extentOf(const Term &term, Label label) const;
  Term multiply(const Term &a, const Term &b, size_t next) const;
  bool isNeeded(Label label, size_t next) const;
  /// The term's dimensions in the order of `labels`, new ones of 1.
  Tensor arrange(const Term &term, const Labels &labels) const;

  std::string_view equation;
  Call call;
  std::vector<Term> terms;
  Labels output;
  uint32_t ellipsisRank = 0;
};

bool contains(const Labels &labels, Label label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

} // namespace

//===----------------------------------------------------------------------===//
// Parsing
//===----------------------------------------------------------------------===//

Labels Einsum::parseLabels(std::string_view text, uint32_t rank) const {
  Labels labels;
  for (size_t i = 0; i < text.size(); ++i) {
    if (std::isspace(static_cast<unsigned char>(text[i])))
      continue;
    if (text.substr(i, 3) == "...") {
      if (!labels.empty() && contains(labels, kEllipsis))
        fail(call, "\"", equation, "\": '...' occurs twice in one operand");
      for (uint32_t d = rank; d-- > 0;)
        labels.push_back(kEllipsis + int(d));
      i += 2;
    } else if (std::isalpha(static_cast<unsigned char>(text[i]))) {
      labels.push_back(text[i]);
    } else {
      fail(call, "\"", equation, "\": '", text[i],
           "' is neither a letter nor '...', ',' or '->'");
    }
  }
  return labels;
}

void Einsum::addTerm(std::string_view text, const Operand &input) {
  Tensor tensor = toTensor(input, call);
  uint32_t rank = use(tensor, call).rank();
  uint32_t letters = static_cast<uint32_t>(parseLabels(text, 0).size());
  bool hasEllipsis = text.find("...") != std::string_view::npos;
  if (letters > rank || (letters < rank && !hasEllipsis))
    fail(call, "\"", equation, "\": operand ", terms.size(), " has shape ",
         use(tensor, call).sizes, ", but its letters \"", text, "\" are for ",
         letters, hasEllipsis ? " or more" : "", " dimensions");
  ellipsisRank = std::max(ellipsisRank, rank - letters);
  terms.push_back({tensor, parseLabels(text, rank - letters)});
}

void Einsum::chooseOutput(bool isGiven, std::string_view text) {
  if (isGiven) {
    output = parseLabels(text, ellipsisRank);
    for (Label label : output) {
      if (std::count(output.begin(), output.end(), label) > 1)
        fail(call, "\"", equation, "\": '", char(label),
             "' occurs twice in the result");
      bool isKnown = false;
      for (const Term &term : terms)
        isKnown |= contains(term.labels, label);
      if (!isKnown)
        fail(call, "\"", equation, "\": '", char(label),
             "' of the result is in no operand");
    }
    return;
  }
  for (uint32_t d = ellipsisRank; d-- > 0;)
    output.push_back(kEllipsis + int(d));
  for (Label label = 0; label < kEllipsis; ++label) {
    size_t count = 0;
    for (const Term &term : terms)
      count +=
          size_t(std::count(term.labels.begin(), term.labels.end(), label));
    if (count == 1)
      output.push_back(label);
  }
}

void Einsum::parse(std::span<const Operand> inputs) {
  std::string_view operands = equation, result;
  size_t arrow = equation.find("->");
  bool isGiven = arrow != std::string_view::npos;
  if (isGiven) {
    operands = equation.substr(0, arrow);
    result = equation.substr(arrow + 2);
  }
  size_t begin = 0;
  for (size_t i = 0;; ++i) {
    size_t comma = std::min(operands.find(',', begin), operands.size());
    if (i == inputs.size())
      fail(call, "\"", equation, "\" is for more than the ", inputs.size(),
           " operands given");
    addTerm(operands.substr(begin, comma - begin), inputs[i]);
    if (comma == operands.size())
      break;
    begin = comma + 1;
  }
  if (terms.size() != inputs.size())
    fail(call, "\"", equation, "\" is for ", terms.size(), " operands, but ",
         inputs.size(), " are given");
  chooseOutput(isGiven, result);
}

//===----------------------------------------------------------------------===//
// One operand
//===----------------------------------------------------------------------===//

/// A letter twice: one dimension along the diagonal.
Term Einsum::takeDiagonals(Term term) const {
  for (size_t i = 0; i < term.labels.size(); ++i)
    for (size_t j = term.labels.size() - 1; j > i; --j) {
      if (term.labels[i] != term.labels[j])
        continue;
      int64_t extent = term.tensor.size(int64_t(i), call.at);
      if (term.tensor.size(int64_t(j), call.at) != extent)
        fail(call, "\"", equation, "\": '", char(term.labels[i]),
             "' stands for dimensions of ", extent, " and ",
             term.tensor.size(int64_t(j), call.at));
      Tensor moved = movedAxis(use(term.tensor, call), int64_t(j), int64_t(i));
      Tensor merged = moved.flatten(int64_t(i), int64_t(i) + 1, call.at);
      term.tensor = merged.slice(int64_t(i), None, None, extent + 1, call.at);
      term.labels.erase(term.labels.begin() + int64_t(j));
    }
  return term;
}

bool Einsum::isNeeded(Label label, size_t next) const {
  if (contains(output, label))
    return true;
  for (size_t i = next; i < terms.size(); ++i)
    if (contains(terms[i].labels, label))
      return true;
  return false;
}

Term Einsum::sumUnneeded(Term term, const Labels &kept, size_t next) const {
  Axes axes;
  Labels labels;
  for (size_t i = 0; i < term.labels.size(); ++i)
    if (contains(kept, term.labels[i]) || isNeeded(term.labels[i], next))
      labels.push_back(term.labels[i]);
    else
      axes.push_back(int64_t(i));
  if (axes.empty())
    return term;
  DType dtype = use(term.tensor, call).dtype;
  Tensor total = sum(sameCall(term.tensor, call), axes);
  return {converted(use(total, call), dtype, call), labels};
}

Tensor Einsum::arrange(const Term &term, const Labels &labels) const {
  Dims order;
  for (Label label : labels) {
    auto found = std::find(term.labels.begin(), term.labels.end(), label);
    if (found != term.labels.end())
      order.push_back(found - term.labels.begin());
  }
  Tensor result = permuted(use(term.tensor, call), order);
  for (size_t i = 0; i < labels.size(); ++i)
    if (!contains(term.labels, labels[i]))
      result = result.unsqueeze(int64_t(i), call.at);
  return result;
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

static Labels concatenate(std::initializer_list<const Labels *> parts) {
  Labels all;
  for (const Labels *part : parts)
    all.insert(all.end(), part->begin(), part->end());
  return all;
}

/// The first groups[0] dimensions, then groups[1] of them as one, and
/// groups[2].
static Tensor mergeGroups(const Tensor &x, const size_t (&groups)[3],
                          const Call &call) {
  const Dims &sizes = use(x, call).sizes;
  Dims merged;
  size_t at = 0;
  for (size_t i = 0; i < groups[0]; ++i)
    merged.push_back(sizes[at++]);
  for (int group : {1, 2}) {
    merged.push_back(1);
    for (size_t i = 0; i < groups[group]; ++i)
      merged.back() *= sizes[at++];
  }
  return reshaped(use(x, call), merged, call);
}

int64_t Einsum::extentOf(const Term &term, Label label) const {
  auto found = std::find(term.labels.begin(), term.labels.end(), label);
  return term.tensor.size(found - term.labels.begin(), call.at);
}

Einsum::Roles Einsum::rolesOf(const Term &a, const Term &b, size_t next) const {
  Roles roles;
  for (Label label : a.labels) {
    if (!contains(b.labels, label)) {
      roles.rows.push_back(label);
      continue;
    }
    int64_t left = extentOf(a, label), right = extentOf(b, label);
    if (left != right && left != 1 && right != 1)
      fail(call, "\"", equation, "\": '",
           label < kEllipsis ? std::string(1, char(label)) : "...",
           "' stands for dimensions of ", left, " and ", right);
    // Dimensions that broadcast cannot be summed in a product.
    bool isInner = !isNeeded(label, next) && left == right;
    (isInner ? roles.inner : roles.batch).push_back(label);
  }
  for (Label label : b.labels)
    if (!contains(a.labels, label))
      roles.columns.push_back(label);
  return roles;
}

Term Einsum::multiply(const Term &a, const Term &b, size_t next) const {
  Roles roles = rolesOf(a, b, next);
  const auto &[batch, rows, inner, columns] = roles;
  Term result{{}, concatenate({&batch, &rows, &columns})};
  if (inner.empty()) { // No sum: element by element.
    Tensor x = arrange(a, result.labels), y = arrange(b, result.labels);
    result.tensor = mul(sameCall(x, call), sameCall(y, call));
    return sumUnneeded(result, {}, next);
  }
  if (batch.size() + 2 > TINH_MAX_RANK)
    fail(call, "\"", equation, "\" needs more than ", TINH_MAX_RANK,
         " dimensions");
  Shape sizes;
  for (Label label : batch)
    sizes.push_back(std::max(extentOf(a, label), extentOf(b, label)));
  for (Label label : rows)
    sizes.push_back(extentOf(a, label));
  for (Label label : columns)
    sizes.push_back(extentOf(b, label));
  Tensor left = arrange(a, concatenate({&batch, &rows, &inner}));
  Tensor right = arrange(b, concatenate({&batch, &inner, &columns}));
  Tensor x = mergeGroups(left, {batch.size(), rows.size(), inner.size()}, call);
  Tensor y =
      mergeGroups(right, {batch.size(), inner.size(), columns.size()}, call);
  Tensor product = matmul(sameCall(x, call), sameCall(y, call));
  result.tensor =
      reshaped(use(product, call), checkedSizes(sizes, int8, call), call);
  return sumUnneeded(result, {}, next);
}

Tensor Einsum::run() {
  CommonDType common(call);
  for (Term &term : terms) {
    common.add(sameCall(term.tensor, call));
    term = takeDiagonals(std::move(term));
  }
  for (Term &term : terms)
    term.tensor = converted(use(term.tensor, call), common.get(), call);
  Term result = sumUnneeded(terms[0], {}, 1);
  for (size_t i = 1; i < terms.size(); ++i) {
    Term factor = sumUnneeded(terms[i], result.labels, i + 1);
    result = multiply(result, factor, i + 1);
  }
  return arrange(result, output);
}

Tensor tinh::einsum(std::string_view equation,
                    std::initializer_list<Operand> inputs, At at) {
  return einsum(equation, std::span(inputs.begin(), inputs.size()), at);
}

Tensor tinh::einsum(std::string_view equation, std::span<const Operand> inputs,
                    At at) {
  Call call{"einsum", at};
  if (inputs.empty())
    fail(call, "\"", equation, "\" is given no operands");
  return Einsum(equation, inputs, call).run();
}
