//===- Vectorizers.cpp - Counts of n-grams ----------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// TfIdfVectorizer counts how often each of the n-grams that it knows stands in
// a row of tokens: integers, or strings, of which those that it knows have
// numbers. n-grams of one length are compared at all places at once.
//
//===----------------------------------------------------------------------===//
#include "compiler/Graph/Composites.h"
#include "compiler/Import/onnx/ops/predictors/Scores.h"
#include "compiler/Import/onnx/strings/Strings.h"

using namespace mlir;

namespace tinh::onnx {

namespace {

struct Vectorizer {
  int64_t shortest, longest, skips;
  /// Of all n-grams, one after the other, and where those of each length begin.
  Ints tokens, starts;
  /// Those that are strings, each once: a token is its place among them.
  StringList words;
  /// The column of each n-gram that is counted.
  Ints columns;
  SmallVector<double> weights;
};

bool fail(NodeBuilder &b, const Twine &what) {
  b.fail(what);
  return false;
}

/// Whether the starts divide the tokens into n-grams of 1, 2 … tokens, each of
/// which has a column.
bool checkPool(NodeBuilder &b, const Vectorizer &v) {
  int64_t grams = 0;
  for (auto [i, start] : llvm::enumerate(v.starts)) {
    int64_t end = i + 1 < v.starts.size()
                      ? v.starts[i + 1]
                      : static_cast<int64_t>(v.tokens.size());
    auto length = static_cast<int64_t>(i) + 1;
    if (start < 0 || end < start || (end - start) % length != 0)
      return fail(b,
                  "attribute ngram_counts: expected the places in "
                  "pool_int64s where n-grams of 1, 2 … tokens begin, found " +
                      formatShape(v.starts) + " and " + Twine(v.tokens.size()) +
                      " tokens");
    grams += (end - start) / length;
  }
  if (grams != static_cast<int64_t>(v.columns.size()))
    return fail(b, "attribute ngram_indexes: expected " + Twine(grams) +
                       " columns, one for each n-gram, found " +
                       Twine(v.columns.size()));
  for (int64_t column : v.columns)
    if (column < 0 || column >= static_cast<int64_t>(1) << 24)
      return fail(b, "attribute ngram_indexes: " + Twine(column) +
                         " is no column");
  return true;
}

/// Numbers tokens that are strings.
void readWords(NodeBuilder &b, Vectorizer &v) {
  llvm::StringMap<int64_t> numbers;
  for (std::string &word : stringsAttribute(b, "pool_strings")) {
    auto [known, isNew] =
        numbers.try_emplace(word, static_cast<int64_t>(v.words.size()));
    v.tokens.push_back(known->second);
    if (isNew)
      v.words.push_back(std::move(word));
  }
}

bool readVectorizer(NodeBuilder &b, Vectorizer &v) {
  v.shortest = b.intAttribute("min_gram_length", 1);
  v.longest = b.intAttribute("max_gram_length", 1);
  v.skips = b.intAttribute("max_skip_count", 0);
  v.tokens = b.intsAttribute("pool_int64s");
  if (b.isString(0))
    readWords(b, v);
  else if (b.hasAttribute("pool_strings"))
    b.fail("pool_strings are tokens of an input of strings, and this one has "
           "numbers, whose tokens are pool_int64s");
  v.starts = b.intsAttribute("ngram_counts");
  v.columns = b.intsAttribute("ngram_indexes");
  v.weights = floatsAttribute(b, "weights");
  if (b.failed())
    return false;
  if (v.shortest < 1 || v.longest < v.shortest || v.skips < 0 ||
      v.columns.empty())
    return fail(b, "expected 1 <= min_gram_length <= max_gram_length, a "
                   "max_skip_count of 0 or more, and ngram_indexes");
  return checkPool(b, v);
}

/// How often n-grams [grams, length] stand in rows [N, tokens], with `distance`
/// between their tokens: [N, grams].
Value countGrams(NodeBuilder &b, Value x, Value grams, int64_t distance) {
  int64_t length = b.shape(grams)[1], count = b.shape(grams)[0];
  int64_t rows = b.shape(x)[0];
  int64_t places = b.shape(x)[1] - (length - 1) * distance;
  if (places <= 0)
    return {};
  Value isHere;
  for (int64_t i = 0; i < length; ++i) {
    Value token =
        b.reshape(b.sliceAxis(x, 1, i * distance, places), {rows, places, 1});
    Value wanted = b.reshape(b.sliceAxis(grams, 1, i, 1), count);
    Value isToken = b.compare(Predicate::Equal, token, wanted);
    isHere = isHere ? b.create<graph::AndOp>({isHere, isToken}) : isToken;
  }
  return b.reduce(Kind::Sum, b.cast(isHere, b.graph.raw().getF32Type()), 1,
                  /*keepdims=*/false);
}

/// The counts of all n-grams of a length. Single tokens do not depend on what
/// is skipped, and are counted once.
Value countLength(NodeBuilder &b, const Vectorizer &v, Value x, int64_t length,
                  Value grams) {
  Value sum;
  int64_t distances = length == 1 ? 1 : v.skips + 1;
  for (int64_t distance = 1; distance <= distances; ++distance) {
    Value counts = countGrams(b, x, grams, distance);
    if (!counts)
      break;
    sum = sum ? b.add(sum, counts) : counts;
  }
  Type f32 = b.graph.raw().getF32Type();
  return sum ? sum
             : b.broadcast(b.scalar(f32, 0),
                           {b.shape(x)[0], b.shape(grams)[0]});
}

/// Counts in the order of the columns. n-grams of one column add up, and one of
/// none is 0.
Value inColumns(NodeBuilder &b, ArrayRef<Value> counts,
                ArrayRef<int64_t> columns, int64_t width) {
  Type f32 = b.graph.raw().getF32Type();
  int64_t rows = b.shape(counts.front())[0];
  Value zeros = b.broadcast(b.scalar(f32, 0), {rows, width});
  Value indices = b.constantInts(static_cast<int64_t>(columns.size()), columns);
  auto kind =
      graph::ScatterKindAttr::get(b.graph.context(), graph::ScatterKind::Add);
  return b.create<graph::ScatterOp>(
      {zeros, indices, b.concat(counts, 1)},
      {b.attr("kind", kind), b.attr("axis", int64_t(1))});
}

/// What a count is worth: the weights are those of n-grams, as the pool has
/// them.
Value weigh(NodeBuilder &b, const Vectorizer &v, Value counts) {
  std::string mode = b.stringAttribute("mode", "");
  if (mode != "TF" && mode != "IDF" && mode != "TFIDF")
    return b.fail("attribute mode: expected TF, IDF or TFIDF, found \"" + mode +
                  "\"");
  auto width = b.shape(counts)[1];
  if (mode == "IDF")
    counts =
        b.cast(b.compare(Predicate::Greater, counts, b.scalarLike(counts, 0)),
               b.element(counts));
  if (mode == "TF" || v.weights.empty())
    return counts;
  if (v.weights.size() != v.columns.size())
    return b.fail("attribute weights: expected " + Twine(v.columns.size()) +
                  ", one for each n-gram, found " + Twine(v.weights.size()));
  SmallVector<double> weights(width, 0);
  for (auto [column, weight] : llvm::zip_equal(v.columns, v.weights))
    weights[column] = weight;
  return b.mul(counts, b.constantFloats(b.element(counts), width, weights));
}

/// A token that no n-gram has: the smallest such number. Of strings, it is that
/// of those that are not known.
int64_t unknownToken(NodeBuilder &b, const Vectorizer &v) {
  if (b.isString(0))
    return static_cast<int64_t>(v.words.size());
  Ints tokens(v.tokens);
  llvm::sort(tokens);
  int64_t unknown = 0;
  for (int64_t token : tokens)
    unknown += token == unknown;
  return unknown;
}

/// The tokens as integers; what is padding of a row, whose size the run
/// decides, is none that is known.
Value tokensOf(NodeBuilder &b, const Vectorizer &v) {
  Value x = b.isString(0) ? placesIn(b, b.strings(0), v.words) : b.input(0);
  if (!x || !b.graph.isBounded(x) || !isa<IntegerType>(b.element(x)))
    return x;
  Value wide = b.cast(x, b.graph.raw().getI64Type());
  return fillPadding(b, wide, b.constantInts({}, unknownToken(b, v)));
}

Results tfIdfVectorizer(NodeBuilder &b) {
  Vectorizer v;
  if (!readVectorizer(b, v))
    return {Value()};
  Value x = tokensOf(b, v);
  if (!x)
    return {Value()};
  int64_t rank = b.rank(x);
  if (rank > 2 || !isa<IntegerType>(b.element(x)))
    return {b.fail("expected integers of rank 2 at most, found " +
                   graph::shapeToString(x.getType()))};
  int64_t tokens = rank == 0 ? 1 : b.shape(x)[rank - 1];
  Value rows = b.reshape(b.cast(x, b.graph.raw().getI64Type()),
                         {rank == 2 ? b.shape(x)[0] : 1, tokens});
  SmallVector<Value> counts;
  Ints columns;
  size_t gram = 0;
  for (auto [i, start] : llvm::enumerate(v.starts)) {
    auto length = static_cast<int64_t>(i) + 1;
    int64_t end = i + 1 < v.starts.size()
                      ? v.starts[i + 1]
                      : static_cast<int64_t>(v.tokens.size());
    int64_t number = (end - start) / length;
    auto own = ArrayRef(v.columns).slice(gram, number);
    gram += number;
    if (number == 0 || length < v.shortest || length > v.longest)
      continue;
    Value grams = b.constantInts({number, length},
                                 ArrayRef(v.tokens).slice(start, end - start));
    counts.push_back(countLength(b, v, rows, length, grams));
    llvm::append_range(columns, own);
  }
  int64_t width = 1 + *llvm::max_element(v.columns);
  if (counts.empty())
    return {b.fail("none of its n-grams is as long as min_gram_length and "
                   "max_gram_length say")};
  Value y = weigh(b, v, inColumns(b, counts, columns, width));
  return {y && rank < 2 ? b.reshape(y, width) : y};
}

} // namespace

OpFamily vectorizerOps() {
  return {{"TfIdfVectorizer", tfIdfVectorizer, {}, Takes::Strings}};
}

} // namespace tinh::onnx
