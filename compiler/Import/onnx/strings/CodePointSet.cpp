//===- CodePointSet.cpp - Classes of characters ---------------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/onnx/strings/CodePointSet.h"

#include "compiler/Import/onnx/strings/CodePoints.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace llvm;

namespace tinh::onnx {

SmallVector<CodePointRange> CodePointSet::sorted() const {
  SmallVector<CodePointRange> all(ranges), result;
  llvm::sort(all, [](const CodePointRange &a, const CodePointRange &b) {
    return a.first < b.first;
  });
  for (const CodePointRange &range : all)
    if (!result.empty() && range.first <= result.back().last + 1)
      result.back().last = std::max(result.back().last, range.last);
    else
      result.push_back(range);
  return result;
}

bool CodePointSet::contains(uint32_t x) const {
  return llvm::any_of(ranges, [&](const CodePointRange &range) {
    return range.first <= x && x <= range.last;
  });
}

CodePointSet CodePointSet::complement() const {
  CodePointSet result;
  uint32_t next = 0;
  for (const CodePointRange &range : sorted()) {
    if (range.first > next)
      result.add(next, range.first - 1);
    next = range.last + 1;
  }
  if (next <= kLastCodePoint)
    result.add(next, kLastCodePoint);
  return result;
}

void CodePointSet::addCases() {
  CodePointSet cases;
  // Letters end long before the planes of rare characters.
  constexpr uint32_t kLastLetter = 0x1ffff;
  for (const CodePointRange &range : sorted())
    for (uint32_t x = range.first; x <= std::min(range.last, kLastLetter); ++x)
      for (Case to : {Case::Lower, Case::Upper})
        if (uint32_t other = changeCase(x, to); other != x && !contains(other))
          cases.add(other, other);
  add(cases);
}

std::optional<CodePointSet> perlClass(char letter) {
  bool isComplement = letter == 'D' || letter == 'S' || letter == 'W';
  CodePointSet set;
  switch (letter) {
  case 'd':
  case 'D':
    set = {{'0', '9'}};
    break;
  case 's':
  case 'S':
    set = {{'\t', '\n'}, {'\f', '\r'}, {' ', ' '}};
    break;
  case 'w':
  case 'W':
    set = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
    break;
  default:
    return std::nullopt;
  }
  return isComplement ? set.complement() : set;
}

std::optional<CodePointSet> posixClass(StringRef name) {
  using Set = std::optional<CodePointSet>;
  return StringSwitch<Set>(name)
      .Case("alnum", CodePointSet{{'0', '9'}, {'A', 'Z'}, {'a', 'z'}})
      .Case("alpha", CodePointSet{{'A', 'Z'}, {'a', 'z'}})
      .Case("ascii", CodePointSet{{0, 0x7f}})
      .Case("blank", CodePointSet{{'\t', '\t'}, {' ', ' '}})
      .Case("cntrl", CodePointSet{{0, 0x1f}, {0x7f, 0x7f}})
      .Case("digit", CodePointSet{{'0', '9'}})
      .Case("graph", CodePointSet{{'!', '~'}})
      .Case("lower", CodePointSet{{'a', 'z'}})
      .Case("print", CodePointSet{{' ', '~'}})
      .Case("punct",
            CodePointSet{{'!', '/'}, {':', '@'}, {'[', 0x60}, {'{', '~'}})
      .Case("space", CodePointSet{{'\t', '\r'}, {' ', ' '}})
      .Case("upper", CodePointSet{{'A', 'Z'}})
      .Case("word", perlClass('w'))
      .Case("xdigit", CodePointSet{{'0', '9'}, {'A', 'F'}, {'a', 'f'}})
      .Default(std::nullopt);
}

} // namespace tinh::onnx
