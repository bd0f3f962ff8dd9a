//===- CodePointSet.h - Classes of characters -------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_IMPORT_ONNX_STRINGS_CODEPOINTSET_H
#define TINH_COMPILER_IMPORT_ONNX_STRINGS_CODEPOINTSET_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <optional>

namespace tinh::onnx {

constexpr uint32_t kLastCodePoint = 0x10ffff;

struct CodePointRange {
  uint32_t first, last;
};

class CodePointSet {
public:
  CodePointSet() = default;
  CodePointSet(std::initializer_list<CodePointRange> ranges) : ranges(ranges) {}

  void add(uint32_t first, uint32_t last) { ranges.push_back({first, last}); }
  void add(const CodePointSet &other) { ranges.append(other.ranges); }
  /// Adds the other cases of the letters that are in it.
  void addCases();
  CodePointSet complement() const;
  /// Makes one range of those that meet, since a set may be read often.
  void merge() { ranges = sorted(); }
  /// The ranges, ascending and apart from each other.
  llvm::SmallVector<CodePointRange> sorted() const;

private:
  bool contains(uint32_t x) const;

  llvm::SmallVector<CodePointRange> ranges;
};

/// What \d, \s or \w stands for, by its letter, of ASCII as RE2 has it.
std::optional<CodePointSet> perlClass(char letter);
/// What [:alpha:] or the like stands for, by its name.
std::optional<CodePointSet> posixClass(llvm::StringRef name);

} // namespace tinh::onnx

#endif // TINH_COMPILER_IMPORT_ONNX_STRINGS_CODEPOINTSET_H
