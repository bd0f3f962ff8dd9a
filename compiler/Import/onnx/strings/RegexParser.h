//===- RegexParser.h - Regular expressions of RE2 ---------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_IMPORT_ONNX_STRINGS_REGEXPARSER_H
#define TINH_COMPILER_IMPORT_ONNX_STRINGS_REGEXPARSER_H

#include "compiler/Import/onnx/strings/CodePointSet.h"

#include <string>
#include <vector>

namespace tinh::onnx {

struct Regex {
  enum class Kind {
    Set,      ///< One character.
    Sequence, ///< One part behind the other; nothing, if there are none.
    Choice,   ///< One of the parts.
    Repeat,   ///< The part, so often.
    Begin,    ///< Where the text begins,
    End,      ///< where it ends,
    Boundary, ///< where a word of ASCII does one of these,
    Inside    ///< or does not.
  };

  Kind kind = Kind::Sequence;
  CodePointSet set = {};
  std::vector<Regex> parts = {};
  int least = 0, most = kUnlimited;

  static constexpr int kUnlimited = -1;
};

/// A pattern for messages: its beginning, if it is long.
std::string quotePattern(llvm::StringRef pattern);

/// Nothing, with the reason, if the pattern is wrong, or looks at more than the
/// characters themselves.
std::optional<Regex> parseRegex(llvm::StringRef pattern, std::string &error);

} // namespace tinh::onnx

#endif // TINH_COMPILER_IMPORT_ONNX_STRINGS_REGEXPARSER_H
