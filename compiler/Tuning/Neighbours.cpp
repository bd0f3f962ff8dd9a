//===- Neighbours.cpp - Plans beside a plan ---------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a plan consists of, its text says: `#cpu.contraction<tile = [12, 32], …,
// left = in_place>`. Each number becomes some others, each word all of its
// kind, and the strategy says which of these plans the kernel allows. So
// strategies need not say anything of how they are tuned.
//
//===----------------------------------------------------------------------===//
#include "compiler/Tuning/Neighbours.h"

#include "mlir/AsmParser/AsmParser.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace tinh::tuning {

namespace {

/// A part of a plan's text.
struct Place {
  size_t begin, length;
};

} // namespace

static bool isOfWord(char c) { return llvm::isAlnum(c) || c == '_'; }

/// The numbers and words in a plan's text that are values, and no names.
static SmallVector<Place> valuesOf(StringRef text) {
  SmallVector<Place> places;
  for (size_t i = text.find('<'); i < text.size();) {
    if (!isOfWord(text[i])) {
      ++i;
      continue;
    }
    size_t begin = i;
    while (i < text.size() && isOfWord(text[i]))
      ++i;
    StringRef rest = text.drop_front(i).ltrim();
    bool isPlan = text[begin - 1] == '#' || text[begin - 1] == '.';
    if (!isPlan && !rest.starts_with("=") && !rest.starts_with("."))
      places.push_back({begin, i - begin});
  }
  return places;
}

/// All words that say where a product's factors are.
static ArrayRef<StringRef> wordsOfAccess() {
  static const SmallVector<StringRef> words = [] {
    llvm::SetVector<StringRef> all;
    for (uint32_t i = 0; i <= cpu::getMaxEnumValForLeftAccess(); ++i)
      all.insert(cpu::stringifyLeftAccess(*cpu::symbolizeLeftAccess(i)));
    for (uint32_t i = 0; i <= cpu::getMaxEnumValForRightAccess(); ++i)
      all.insert(cpu::stringifyRightAccess(*cpu::symbolizeRightAccess(i)));
    return SmallVector<StringRef>(all.begin(), all.end());
  }();
  return words;
}

/// What a value could be instead.
static SmallVector<std::string> othersFor(StringRef value) {
  SmallVector<std::string> others;
  int64_t number;
  if (value.getAsInteger(10, number)) {
    if (llvm::is_contained(wordsOfAccess(), value))
      for (StringRef word : wordsOfAccess())
        others.push_back(word.str());
    return others;
  }
  for (int64_t other : {number / 4, number / 2, number * 2 / 3, number - 1,
                        number + 1, number * 3 / 2, number * 2, number * 4})
    if (other > 0)
      others.push_back(std::to_string(other));
  return others;
}

SmallVector<codegen::Candidate> neighboursOf(func::FuncOp kernel,
                                             graph::KernelPlanInterface plan,
                                             const cpu::Target &target) {
  std::string text;
  llvm::raw_string_ostream(text) << plan;
  llvm::SetVector<Attribute> plans;
  ScopedDiagnosticHandler silent(kernel.getContext(),
                                 [](Diagnostic &) { return success(); });
  for (Place place : valuesOf(text))
    for (const std::string &other :
         othersFor(StringRef(text).substr(place.begin, place.length))) {
      std::string edited = text;
      edited.replace(place.begin, place.length, other);
      if (Attribute parsed = parseAttribute(edited, kernel.getContext()))
        plans.insert(parsed);
    }
  plans.remove(plan);
  SmallVector<codegen::Candidate> candidates;
  for (Attribute each : plans)
    if (auto candidate = cpu::strategies().candidate(
            kernel, cast<graph::KernelPlanInterface>(each), target))
      candidates.push_back(*candidate);
  llvm::stable_sort(candidates, [](const auto &x, const auto &y) {
    return x.cost() < y.cost();
  });
  return candidates;
}

} // namespace tinh::tuning
