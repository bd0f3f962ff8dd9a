//===- StringNormalizer.cpp - Case and stop words -------------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As ONNX's text and ONNX Runtime have it: a string goes that is equal to a
// stop word. The reference in Python also cuts words out of strings, and
// accents off letters.
//
//===----------------------------------------------------------------------===//
#include "compiler/Graph/Composites.h"
#include "compiler/Import/onnx/strings/CodePoints.h"
#include "compiler/Import/onnx/strings/Strings.h"

using namespace mlir;

namespace tinh::onnx {

namespace {

struct Normalizer {
  std::optional<Case> change;
  bool isCaseSensitive;
  StringList stopWords;
};

std::optional<Normalizer> readNormalizer(NodeBuilder &b) {
  Normalizer normalizer{{},
                        b.intAttribute("is_case_sensitive", 0) != 0,
                        stringsAttribute(b, "stopwords")};
  std::string action = b.stringAttribute("case_change_action", "NONE");
  if (action == "LOWER")
    normalizer.change = Case::Lower;
  else if (action == "UPPER")
    normalizer.change = Case::Upper;
  else if (action != "NONE")
    b.fail("attribute case_change_action: expected LOWER, UPPER or NONE, "
           "found \"" +
           action + "\"");
  if (b.failed())
    return std::nullopt;
  return normalizer;
}

/// Whether each of the strings [C, width] is a stop word.
Value areStopWords(NodeBuilder &b, const Normalizer &normalizer, Value bytes) {
  StringList words = normalizer.stopWords;
  if (!normalizer.isCaseSensitive) {
    Case to = normalizer.change.value_or(Case::Lower);
    bytes = changeCase(b, bytes, to);
    for (std::string &word : words)
      word = changeCase(word, to);
  }
  Value isWord = equalToEach(b, bytes, words);
  return isWord ? b.reduce(Kind::Max, isWord, 1, false) : isWord;
}

/// The strings [C, width] that are no stop words: as many as the run finds. If
/// there are none, one empty string is left.
Value withoutStopWords(NodeBuilder &b, const Normalizer &normalizer,
                       Value bytes, Value changed) {
  Value isStopWord = areStopWords(b, normalizer, bytes);
  if (!isStopWord)
    return {};
  Value places = b.iota(b.shape(bytes)[0]);
  Value isKept = b.create<graph::NotOp>({isStopWord});
  if (b.graph.isBounded(bytes, 0))
    isKept =
        b.create<graph::AndOp>({isKept, b.compare(Predicate::Less, places,
                                                  b.dimensionSize(bytes, 0))});
  Value isAny = b.reduce(Kind::Max, isKept, 0, false);
  Value isFirst = b.compare(Predicate::Equal, places,
                            b.scalar(b.graph.raw().getI64Type(), 0));
  Value isChosen = b.where(isAny, isKept, isFirst);
  Value filled =
      b.where(isAny, withoutSizes(b, changed), b.scalarLike(changed, 0));
  return b.gather(filled, indicesOfTrue(b, isChosen), 0);
}

} // namespace

Results stringNormalizer(NodeBuilder &b) {
  Value x = b.strings(0);
  auto normalizer = x ? readNormalizer(b) : std::nullopt;
  if (!normalizer)
    return {Value()};
  Ints shape(stringShape(x));
  bool isRow = shape.size() == 2 && shape[0] == 1;
  if (shape.size() != 1 && !isRow)
    return {b.fail("expected strings of the shape [C] or [1, C], found " +
                   formatShape(shape))};
  int64_t width = stringWidth(x);
  Value bytes = isRow ? b.reshape(x, {shape[1], width}) : x;
  if (shape.back() == 0)
    bytes = constantStrings(b, 1, {""});
  Value changed =
      normalizer->change ? changeCase(b, bytes, *normalizer->change) : bytes;
  if (!normalizer->stopWords.empty() && shape.back() != 0)
    changed = withoutStopWords(b, *normalizer, bytes, changed);
  if (!changed)
    return {Value()};
  return giveStrings(b, isRow ? b.reshape(changed, {1, b.shape(changed)[0],
                                                    stringWidth(changed)})
                              : changed);
}

} // namespace tinh::onnx
