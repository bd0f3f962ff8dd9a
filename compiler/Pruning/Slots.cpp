//===- Slots.cpp - Indices of dimensions that go together -------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Pruning/Slots.h"

#include <numeric>

using namespace mlir;

namespace tinh::pruning {

Slots::Slots(func::FuncOp main) {
  for (BlockArgument argument : main.getArguments())
    addValue(argument);
  for (Operation &op : main.front())
    for (Value result : op.getResults())
      addValue(result);
  parents.resize(offsets.empty() ? 0 : offsets.back() + all.back().extent());
  std::iota(parents.begin(), parents.end(), 0);
  reasons.resize(parents.size());
  for (Dimension dimension : all)
    if (dimension.extent() == 1)
      keep(dimension, "has one channel");
}

void Slots::addValue(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  first[value] = all.size();
  for (int64_t axis = 0; axis < type.getRank(); ++axis) {
    offsets.push_back(offsets.empty() ? 0
                                      : offsets.back() + all.back().extent());
    all.push_back({value, axis});
  }
}

size_t Slots::numberOf(Dimension dimension) const {
  return first.lookup(dimension.value) + dimension.axis;
}

size_t Slots::slotOf(Dimension dimension, int64_t index) const {
  return offsets[numberOf(dimension)] + index;
}

size_t Slots::classOf(size_t slot) const {
  while (parents[slot] != slot)
    slot = parents[slot] = parents[parents[slot]];
  return slot;
}

void Slots::merge(size_t a, size_t b) {
  a = classOf(a);
  b = classOf(b);
  if (a == b)
    return;
  // The earlier slot stands for both, so that reports do not depend on more.
  auto [to, from] = std::minmax(a, b);
  parents[from] = to;
  for (int Reasons::*reason : {&Reasons::model, &Reasons::choice})
    if (reasons[to].*reason < 0)
      reasons[to].*reason = reasons[from].*reason;
}

void Slots::couple(Dimension a, int64_t i, Dimension b, int64_t j) {
  merge(slotOf(a, i), slotOf(b, j));
}

void Slots::couple(Dimension a, Dimension b) {
  if (a.extent() == b.extent())
    for (int64_t i = 0; i < a.extent(); ++i)
      couple(a, i, b, i);
}

void Slots::keep(Dimension dimension, const std::string &why, bool ofChoice) {
  int Reasons::*reason = ofChoice ? &Reasons::choice : &Reasons::model;
  texts.push_back(why);
  for (int64_t i = 0; i < dimension.extent(); ++i) {
    int &text = reasons[classOf(slotOf(dimension, i))].*reason;
    if (text < 0)
      text = static_cast<int>(texts.size()) - 1;
  }
}

const std::string *Slots::whyKept(size_t slot, bool withChoices) const {
  const Reasons &found = reasons[classOf(slot)];
  if (found.model >= 0)
    return &texts[found.model];
  return withChoices && found.choice >= 0 ? &texts[found.choice] : nullptr;
}

bool Slots::areKept(Dimension dimension, bool withChoices) const {
  for (int64_t i = 0; i < dimension.extent(); ++i)
    if (!whyKept(slotOf(dimension, i), withChoices))
      return false;
  return true;
}

} // namespace tinh::pruning
