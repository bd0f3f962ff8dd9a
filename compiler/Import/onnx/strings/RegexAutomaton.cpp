//===- RegexAutomaton.cpp - The automaton of a regular expression ---------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Thompson's construction over the bytes of UTF-8, and the subsets of its
// states that strings can lead to.
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/onnx/strings/Automaton.h"
#include "compiler/Import/onnx/strings/CodePoints.h"
#include "compiler/Import/onnx/strings/RegexParser.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/StringExtras.h"

#include <map>

using namespace llvm;

namespace tinh::onnx {

namespace {

/// States before they are subsets and their edges, subsets, all elements of
/// these and all edges that are looked at: more take too long, and too much
/// memory in the artifact.
constexpr size_t kMostSteps = 20000, kMostEdges = 500000, kMostStates = 4000,
                 kMostElements = 30000000, kMostVisits = 200000000;

/// Where a step is there that takes no byte.
enum class Where { Any, Begin, End, Boundary, Inside };

/// What is known of a place between two bytes.
struct Place {
  bool isBegin, isEnd, isBoundary;

  bool is(Where where) const {
    switch (where) {
    case Where::Any:
      return true;
    case Where::Begin:
      return isBegin;
    case Where::End:
      return isEnd;
    case Where::Boundary:
      return isBoundary;
    case Where::Inside:
      return !isBoundary;
    }
    return false;
  }
};

bool isWordByte(uint8_t byte) {
  return isAlnum(static_cast<char>(byte)) || byte == '_';
}

struct Edge {
  int to;
  bool isFree;         ///< Takes no byte,
  Where where;         ///< and is there only at this place.
  uint8_t first, last; ///< The bytes that it takes.
};

/// An automaton that may take several steps at once.
class Steps {
public:
  /// The states between which `regex` matches; false if there are too many.
  bool build(const Regex &regex, int from, int to);
  int addState() {
    edges.emplace_back();
    return static_cast<int>(edges.size()) - 1;
  }

  std::vector<SmallVector<Edge, 2>> edges;

private:
  void add(int from, const Edge &edge) {
    edges[from].push_back(edge);
    ++numEdges;
  }
  void addFree(int from, int to, Where where = Where::Any) {
    add(from, {to, true, where, 0, 0});
  }
  bool buildRepeat(const Regex &regex, int from, int to);
  void addRange(uint32_t first, uint32_t last, int from, int to);
  void addBytes(StringRef first, StringRef last, int from, int to);

  size_t numEdges = 0;
};

bool Steps::build(const Regex &regex, int from, int to) {
  if (edges.size() > kMostSteps || numEdges > kMostEdges)
    return false;
  switch (regex.kind) {
  case Regex::Kind::Set:
    for (const CodePointRange &range : regex.set.sorted())
      addRange(range.first, range.last, from, to);
    return true;
  case Regex::Kind::Sequence:
    for (const Regex &part : regex.parts) {
      int next = addState();
      if (!build(part, from, next))
        return false;
      from = next;
    }
    addFree(from, to);
    return true;
  case Regex::Kind::Choice:
    return llvm::all_of(
        regex.parts, [&](const Regex &part) { return build(part, from, to); });
  case Regex::Kind::Repeat:
    return buildRepeat(regex, from, to);
  case Regex::Kind::Begin:
    addFree(from, to, Where::Begin);
    return true;
  case Regex::Kind::End:
    addFree(from, to, Where::End);
    return true;
  case Regex::Kind::Boundary:
    addFree(from, to, Where::Boundary);
    return true;
  case Regex::Kind::Inside:
    addFree(from, to, Where::Inside);
    return true;
  }
  return false;
}

bool Steps::buildRepeat(const Regex &regex, int from, int to) {
  const Regex &part = regex.parts.front();
  for (int i = 0; i < regex.least; ++i) {
    int next = addState();
    if (!build(part, from, next))
      return false;
    from = next;
  }
  if (regex.most == Regex::kUnlimited) {
    int again = addState();
    addFree(from, again);
    addFree(again, to);
    return build(part, again, again);
  }
  for (int i = regex.least; i < regex.most; ++i) {
    int next = addState();
    addFree(from, to);
    if (!build(part, from, next))
      return false;
    from = next;
  }
  addFree(from, to);
  return true;
}

/// Adds a way for each byte of code points whose encodings differ in a range at
/// each place.
void Steps::addBytes(StringRef first, StringRef last, int from, int to) {
  for (size_t i = 0; i < first.size(); ++i) {
    int next = i + 1 == first.size() ? to : addState();
    add(from, {next, false, Where::Any, static_cast<uint8_t>(first[i]),
               static_cast<uint8_t>(last[i])});
    from = next;
  }
}

/// Cuts a range where the length of encodings changes, and where bytes behind
/// one that differs would not be all that there are.
void Steps::addRange(uint32_t first, uint32_t last, int from, int to) {
  if (first > last)
    return;
  auto cutAfter = [&](uint32_t at) {
    addRange(first, at, from, to);
    addRange(at + 1, last, from, to);
  };
  // Surrogates have no encoding.
  if (first <= 0xdfff && last >= 0xd800) {
    addRange(first, std::min<uint32_t>(last, 0xd7ff), from, to);
    addRange(std::max<uint32_t>(first, 0xe000), last, from, to);
    return;
  }
  for (uint32_t longest : {0x7f, 0x7ff, 0xffff})
    if (first <= longest && last > longest)
      return cutAfter(longest);
  for (unsigned bits = 6; bits <= 18 && last > 0x7f; bits += 6) {
    uint32_t mask = (1u << bits) - 1;
    if ((first & ~mask) == (last & ~mask))
      continue;
    if ((first & mask) != 0)
      return cutAfter(first | mask);
    if ((last & mask) != mask)
      return cutAfter((last & ~mask) - 1);
  }
  addBytes(encode(first), encode(last), from, to);
}

/// The subsets of the states of `Steps` that strings lead to, each with what
/// the next byte has to know of the last: whether there is one, and if it is of
/// a word.
class Subsets {
public:
  Subsets(const Steps &steps, int from, int to) : steps(steps), to(to) {
    findClasses();
    add({{from}, /*isBegin=*/true, /*isBehindWord=*/false});
  }

  /// False if there are too many.
  bool build();

  Automaton automaton;

private:
  struct Subset {
    std::vector<int> states;
    bool isBegin, isBehindWord;

    auto operator<=>(const Subset &) const = default;
  };

  void findClasses();
  /// All that is reached without a byte, before a byte of a word or another.
  std::vector<int> reach(const Subset &from, bool isEnd, bool isBeforeWord);
  int64_t next(const std::vector<int> &from, uint8_t byte);
  int64_t add(const Subset &subset);

  const Steps &steps;
  int to;
  bool looksAtWords = false;
  SmallVector<uint8_t> byteOf; ///< One of each class.
  std::map<Subset, int64_t> numbers;
  std::vector<Subset> subsets;
  size_t elements = 0; ///< Of all that were reached.
  size_t visits = 0;   ///< Of edges.
};

void Subsets::findClasses() {
  BitVector begins(257);
  for (const auto &edges : steps.edges)
    for (const Edge &edge : edges) {
      looksAtWords |=
          edge.where == Where::Boundary || edge.where == Where::Inside;
      if (edge.isFree)
        continue;
      begins.set(edge.first);
      begins.set(edge.last + 1);
    }
  for (int i = 0; i < 256; ++i) {
    auto byte = static_cast<uint8_t>(i);
    bool isEdge = looksAtWords && i > 0 &&
                  isWordByte(byte) != isWordByte(static_cast<uint8_t>(i - 1));
    if (i == 0 || begins.test(i) || isEdge)
      byteOf.push_back(byte);
    automaton.classOf[i] = static_cast<int64_t>(byteOf.size()) - 1;
  }
  automaton.classes = static_cast<int64_t>(byteOf.size());
}

std::vector<int> Subsets::reach(const Subset &from, bool isEnd,
                                bool isBeforeWord) {
  Place place{from.isBegin, isEnd, from.isBehindWord != isBeforeWord};
  BitVector isIn(steps.edges.size());
  std::vector<int> waiting(from.states);
  for (int state : from.states)
    isIn.set(state);
  while (!waiting.empty()) {
    int state = waiting.back();
    waiting.pop_back();
    visits += steps.edges[state].size();
    for (const Edge &edge : steps.edges[state]) {
      if (!edge.isFree || isIn.test(edge.to) || !place.is(edge.where))
        continue;
      isIn.set(edge.to);
      waiting.push_back(edge.to);
    }
  }
  auto all = isIn.set_bits();
  std::vector<int> reached(all.begin(), all.end());
  elements += reached.size();
  return reached;
}

int64_t Subsets::add(const Subset &subset) {
  auto number = static_cast<int64_t>(subsets.size());
  auto [known, isNew] = numbers.try_emplace(subset, number);
  if (!isNew)
    return known->second;
  subsets.push_back(subset);
  automaton.isAccepting.push_back(llvm::is_contained(
      reach(subset, /*isEnd=*/true, /*isBeforeWord=*/false), to));
  return number;
}

/// The subset that a byte leads to from states.
int64_t Subsets::next(const std::vector<int> &from, uint8_t byte) {
  BitVector isIn(steps.edges.size());
  for (int state : from) {
    visits += steps.edges[state].size();
    for (const Edge &edge : steps.edges[state])
      if (!edge.isFree && edge.first <= byte && byte <= edge.last)
        isIn.set(edge.to);
  }
  auto all = isIn.set_bits();
  return add({std::vector<int>(all.begin(), all.end()), /*isBegin=*/false,
              looksAtWords && isWordByte(byte)});
}

bool Subsets::build() {
  for (size_t i = 0; i < subsets.size(); ++i) {
    Subset subset = subsets[i];
    std::vector<int> beforeOther = reach(subset, false, false);
    std::vector<int> beforeWord =
        looksAtWords ? reach(subset, false, true) : beforeOther;
    for (uint8_t byte : byteOf) {
      if (subsets.size() > kMostStates || elements > kMostElements ||
          visits > kMostVisits)
        return false;
      automaton.next.push_back(
          next(isWordByte(byte) ? beforeWord : beforeOther, byte));
    }
  }
  return true;
}

} // namespace

std::optional<Automaton> compileRegex(StringRef pattern, std::string &error) {
  auto regex = parseRegex(pattern, error);
  if (!regex)
    return std::nullopt;
  Steps steps;
  int from = steps.addState(), to = steps.addState();
  bool fits = steps.build(*regex, from, to);
  if (fits) {
    Subsets subsets(steps, from, to);
    fits = subsets.build();
    if (fits)
      return subsets.automaton;
  }
  error = ("no automaton of at most " + Twine(kMostStates) +
           " states matches " + quotePattern(pattern))
              .str();
  return std::nullopt;
}

} // namespace tinh::onnx
