//===- Automaton.h - Finite automata over bytes -----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_IMPORT_ONNX_STRINGS_AUTOMATON_H
#define TINH_COMPILER_IMPORT_ONNX_STRINGS_AUTOMATON_H

#include "compiler/Graph/GraphOps.h"

#include <array>
#include <string>
#include <vector>

namespace tinh::onnx {

/// A deterministic automaton. Bytes that no state tells apart are a class.
struct Automaton {
  std::array<int64_t, 256> classOf{};
  int64_t classes = 1;
  int64_t start = 0;
  /// The next state for each state and class.
  std::vector<int64_t> next;
  std::vector<bool> isAccepting;

  int64_t states() const { return static_cast<int64_t>(isAccepting.size()); }
};

/// What a string needs to be all that a regular expression of RE2 matches. With
/// a reason in `error`, if it is none, or what it says takes more than an
/// automaton of a few thousand states.
std::optional<Automaton> compileRegex(llvm::StringRef pattern,
                                      std::string &error);

/// Accepts where `word`, of one byte or more, ends, after which it looks for
/// the next.
Automaton findWord(llvm::StringRef word);

/// The states in which strings [shape…, width] leave an automaton, i32
/// [shape…]. Bytes behind a string's end change none.
mlir::Value runAutomaton(GraphOps &b, const Automaton &automaton,
                         mlir::Value bytes);
/// The same after each byte: [shape…, width].
mlir::Value traceAutomaton(GraphOps &b, const Automaton &automaton,
                           mlir::Value bytes);
/// Whether states are accepting.
mlir::Value areAccepting(GraphOps &b, const Automaton &automaton,
                         mlir::Value states);

} // namespace tinh::onnx

#endif // TINH_COMPILER_IMPORT_ONNX_STRINGS_AUTOMATON_H
