//===- Automaton.cpp - Finite automata over bytes -------------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/onnx/strings/Automaton.h"

#include "compiler/Import/onnx/strings/Strings.h"

using namespace mlir;

namespace tinh::onnx {

/// By the prefix function of Knuth, Morris and Pratt: state k has read k bytes
/// of the word, and the last one begins anew.
Automaton findWord(StringRef word) {
  Automaton automaton;
  for (char byte : word) {
    int64_t &of = automaton.classOf[static_cast<uint8_t>(byte)];
    if (of == 0)
      of = automaton.classes++;
  }
  auto size = static_cast<int64_t>(word.size());
  auto classAt = [&](int64_t i) {
    return automaton.classOf[static_cast<uint8_t>(word[i])];
  };
  automaton.isAccepting.assign(size + 1, false);
  automaton.isAccepting.back() = true;
  automaton.next.assign((size + 1) * automaton.classes, 0);
  auto next = [&](int64_t state, int64_t of) -> int64_t & {
    return automaton.next[state * automaton.classes + of];
  };
  int64_t border = 0; // The state after the word without its first byte.
  for (int64_t state = 0; state < size; ++state) {
    for (int64_t of = 0; state > 0 && of < automaton.classes; ++of)
      next(state, of) = next(border, of);
    if (state > 0)
      border = next(border, classAt(state));
    next(state, classAt(state)) = state + 1;
  }
  for (int64_t of = 0; of < automaton.classes; ++of)
    next(size, of) = next(0, of);
  return automaton;
}

namespace {

Value tableOfStates(GraphOps &b, ArrayRef<int64_t> values) {
  SmallVector<double> numbers(values.begin(), values.end());
  return b.constantFloats(b.graph.raw().getI32Type(),
                          static_cast<int64_t>(values.size()), numbers);
}

/// x with its last dimension in front or, of states after each byte, the first
/// one behind.
Value rotateBytes(GraphOps &b, Value x, bool toFront) {
  Ints order;
  for (int64_t d = 0; d < b.rank(x); ++d)
    order.push_back((d + (toFront ? b.rank(x) - 1 : 1)) % b.rank(x));
  return b.transpose(x, order);
}

/// The class of each byte, the bytes in front; one more for those that change
/// no state.
Value classesOf(GraphOps &b, const Automaton &automaton, Value bytes) {
  Type i32 = b.graph.raw().getI32Type();
  Value classes =
      b.gather(tableOfStates(b, automaton.classOf), b.cast(bytes, i32), 0);
  Ints ends(stringShape(bytes));
  ends.push_back(1);
  Value isIn = b.compare(Predicate::Less, b.iota(stringWidth(bytes)),
                         b.reshape(stringLengths(b, bytes), ends));
  Value none = b.scalar(i32, static_cast<double>(automaton.classes));
  Value known = b.where(isIn, classes, none);
  return known ? rotateBytes(b, known, /*toFront=*/true) : known;
}

/// A scan over the bytes of all strings at once. Gives the last states or, if
/// `traced`, those after each byte.
Value scanBytes(GraphOps &b, const Automaton &automaton, Value bytes,
                bool traced) {
  if (!bytes)
    return {};
  Type i32 = b.graph.raw().getI32Type();
  int64_t columns = automaton.classes + 1;
  Ints table;
  for (int64_t state = 0; state < automaton.states(); ++state) {
    for (int64_t of = 0; of < automaton.classes; ++of)
      table.push_back(automaton.next[state * automaton.classes + of]);
    table.push_back(state);
  }
  Value next = tableOfStates(b, table);
  Value width = b.scalar(i32, static_cast<double>(columns));
  Value classes = classesOf(b, automaton, bytes);
  Value start = b.broadcast(b.scalar(i32, static_cast<double>(automaton.start)),
                            stringShape(bytes));
  if (b.failed())
    return {};
  auto step = [&](const ScanArguments &arguments) -> ScanResults {
    Value state = arguments.carried[0];
    Value after =
        b.gather(next, b.add(b.mul(state, width), arguments.rows[0]), 0);
    if (traced)
      return {{after}, {after}};
    return {{after}};
  };
  ScanResults scan = b.scan({stringWidth(bytes)}, start, classes, step);
  if (b.failed())
    return {};
  return traced ? scan.rows[0] : scan.carried[0];
}

} // namespace

Value runAutomaton(GraphOps &b, const Automaton &automaton, Value bytes) {
  return scanBytes(b, automaton, bytes, /*traced=*/false);
}

Value traceAutomaton(GraphOps &b, const Automaton &automaton, Value bytes) {
  Value states = scanBytes(b, automaton, bytes, /*traced=*/true);
  return states ? rotateBytes(b, states, /*toFront=*/false) : states;
}

Value areAccepting(GraphOps &b, const Automaton &automaton, Value states) {
  if (!states)
    return {};
  Ints accepting(automaton.isAccepting.begin(), automaton.isAccepting.end());
  Value isAccepting = b.gather(tableOfStates(b, accepting), states, 0);
  return b.compare(Predicate::NotEqual, isAccepting,
                   b.scalarLike(isAccepting, 0));
}

Results regexFullMatch(NodeBuilder &b) {
  Value bytes = b.strings(0);
  if (!b.hasAttribute("pattern"))
    return {b.fail("attribute pattern is missing")};
  std::string pattern = b.stringAttribute("pattern", ""), error;
  if (b.failed())
    return {Value()};
  auto automaton = compileRegex(pattern, error);
  if (!automaton)
    return {b.fail("attribute pattern: " + error)};
  Value states = runAutomaton(b, *automaton, withoutSizes(b, bytes));
  return {withSizesOf(b, areAccepting(b, *automaton, states), bytes)};
}

} // namespace tinh::onnx
