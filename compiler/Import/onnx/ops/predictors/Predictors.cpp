//===- Predictors.cpp - Linear models and their features --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ops of ai.onnx.ml on numbers; what has labels is in strings/Labels.cpp.
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/onnx/ops/predictors/Scores.h"
#include "compiler/Import/onnx/strings/Strings.h"

#include <cmath>
#include <numbers>

using namespace mlir;

namespace tinh::onnx {

SmallVector<double> floatsAttribute(NodeBuilder &b, StringRef name) {
  auto *a = b.attribute(name, AttributeProto::FLOATS);
  return a ? SmallVector<double>(a->floats().begin(), a->floats().end())
           : SmallVector<double>();
}

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

/// √2 · erf⁻¹(2x - 1), by the approximation that ONNX's reference has.
static Value probit(NodeBuilder &b, Value x) {
  auto c = [&](double number) { return b.scalarLike(x, number); };
  Value y = b.sub(b.mul(x, c(2)), c(1));
  Value rest = b.mul(b.sub(c(1), y), b.add(c(1), y));
  Value log = b.create<graph::LogOp>({rest});
  Value v = b.add(c(2 / (std::numbers::pi * 0.147)), b.mul(c(0.5), log));
  Value inside = b.sub(b.mul(v, v), b.mul(c(1 / 0.147), log));
  Value root =
      b.create<graph::SqrtOp>({b.sub(b.create<graph::SqrtOp>({inside}), v)});
  Value isNegative = b.compare(Predicate::Less, y, c(0));
  Value size = b.mul(root, c(1.41421356));
  return b.where(isNegative, b.create<graph::NegOp>({size}), size);
}

/// A softmax in which scores of 0 stay 0.
static Value softmaxOfOthers(NodeBuilder &b, Value x) {
  Value largest = b.reduce(Kind::Max, x, 1, /*keepdims=*/true);
  Value isZero = b.compare(Predicate::LessEqual, b.create<graph::AbsOp>({x}),
                           b.scalarLike(x, 1e-7));
  Value factor = b.create<graph::ExpOp>({b.create<graph::NegOp>({largest})});
  Value exp = b.create<graph::ExpOp>({b.sub(x, largest)});
  Value parts = b.where(isZero, b.mul(x, factor), exp);
  Value sum = b.reduce(Kind::Sum, parts, 1, /*keepdims=*/true);
  Value isNothing = b.compare(Predicate::Equal, sum, b.scalarLike(sum, 0));
  Value divisor = b.where(isNothing, b.scalarLike(sum, 1), sum);
  return b.where(isNothing, b.scalarLike(x, 0.5), b.div(parts, divisor));
}

Value transformScores(NodeBuilder &b, Value scores, StringRef name) {
  if (!scores || name == "NONE")
    return scores;
  if (name == "LOGISTIC")
    return b.create<graph::SigmoidOp>({scores});
  if (name == "SOFTMAX")
    return b.create<graph::SoftmaxOp>({scores}, {b.attr("axis", int64_t(1))});
  if (name == "SOFTMAX_ZERO")
    return softmaxOfOthers(b, scores);
  if (name == "PROBIT")
    return probit(b, scores);
  return b.fail("attribute post_transform: expected NONE, SOFTMAX, LOGISTIC, "
                "SOFTMAX_ZERO or PROBIT, found \"" +
                name + "\"");
}

ClassLabels readLabels(NodeBuilder &b, StringRef integers) {
  ClassLabels labels{b.intsAttribute(integers),
                     stringsAttribute(b, "classlabels_strings")};
  if (!labels.integers.empty() && !labels.strings.empty())
    b.fail("expected " + integers + " or classlabels_strings, found both");
  return labels;
}

Results labelled(NodeBuilder &b, Value classes, const ClassLabels &labels,
                 Value scores) {
  if (!classes || !scores || b.failed())
    return {Value()};
  if (labels.strings.empty())
    return {
        b.gather(b.constantInts(labels.size(), labels.integers), classes, 0),
        scores};
  Value names = constantStrings(b, labels.size(), labels.strings);
  return giveStrings(b, b.gather(names, classes, 0), {scores});
}

Results labelledByTwo(NodeBuilder &b, Value isSecond, ClassLabels labels,
                      Value scores) {
  if (labels.size() < 2 && !labels.strings.empty())
    return {b.fail("expected two classlabels_strings, found one")};
  if (labels.size() < 2)
    labels.integers = {0, labels.integers.empty() ? 1 : labels.integers[0]};
  return labelled(b, b.cast(isSecond, b.graph.raw().getI64Type()), labels,
                  scores);
}

namespace {

/// An input [N, features] of numbers; integers become f32.
Value featuresOf(NodeBuilder &b) {
  Value x = b.input(0);
  if (!x)
    return {};
  if (b.rank(x) == 1)
    x = b.reshape(x, {1, b.shape(x)[0]});
  if (b.rank(x) != 2)
    return b.fail("expected features [N, features], found " +
                  graph::shapeToString(x.getType()));
  return isa<FloatType>(b.element(x)) ? x
                                      : b.cast(x, b.graph.raw().getF32Type());
}

/// x · coefficientsᵀ + intercepts of so many targets.
Value linearScores(NodeBuilder &b, int64_t targets) {
  Value x = featuresOf(b);
  SmallVector<double> coefficients = floatsAttribute(b, "coefficients"),
                      intercepts = floatsAttribute(b, "intercepts");
  if (b.failed())
    return {};
  int64_t features = b.shape(x)[1];
  auto given = static_cast<int64_t>(coefficients.size());
  auto offsets = static_cast<int64_t>(intercepts.size());
  if (targets < 1 || countElements({targets, features}) != given ||
      (offsets != 0 && offsets != targets))
    return b.fail("expected " + Twine(targets) + " times " + Twine(features) +
                  " coefficients and an intercept for each target or none, "
                  "found " +
                  Twine(given) + " and " + Twine(offsets));
  Value weights =
      b.constantFloats(b.element(x), {targets, features}, coefficients);
  Value y = b.matmul(x, weights, /*transposeB=*/true);
  return offsets ? b.add(y, b.constantFloats(b.element(x), targets, intercepts))
                 : y;
}

/// Scores and features that are results are f32, whatever the input is.
Value asFloats(NodeBuilder &b, Value x) {
  return b.cast(x, b.graph.raw().getF32Type());
}

Results linearRegressor(NodeBuilder &b) {
  Value y = linearScores(b, b.intAttribute("targets", 1));
  return {asFloats(
      b, transformScores(b, y, b.stringAttribute("post_transform", "NONE")))};
}

/// The class of the largest score. One score is that of the second of two
/// classes, or decides between a class and none.
Results linearClassifier(NodeBuilder &b) {
  ClassLabels labels = readLabels(b, "classlabels_ints");
  auto rows = static_cast<int64_t>(floatsAttribute(b, "intercepts").size());
  Value x = featuresOf(b);
  if (!x)
    return {Value()};
  auto count = static_cast<int64_t>(floatsAttribute(b, "coefficients").size());
  if (rows == 0 && b.shape(x)[1] > 0)
    rows = count / b.shape(x)[1];
  std::string transform = b.stringAttribute("post_transform", "NONE");
  Value scores = linearScores(b, rows);
  if (!scores)
    return {Value()};
  if (rows == 1 && labels.size() == 2) {
    scores = b.concat({b.create<graph::NegOp>({scores}), scores}, 1);
    rows = 2;
  }
  scores = transformScores(b, scores, transform);
  if (rows > 1) {
    if (labels.size() != rows)
      return {b.fail("expected " + Twine(rows) +
                     " classlabels_ints or classlabels_strings, found " +
                     Twine(labels.size()))};
    Value best =
        b.create<graph::ArgmaxOp>({scores}, {b.attr("axis", int64_t(1))});
    return labelled(b, best, labels, asFloats(b, scores));
  }
  Value threshold = b.scalarLike(scores, transform == "NONE" ? 0 : 0.5);
  Value isHit = b.compare(Predicate::GreaterEqual, scores, threshold);
  // One score decides between a label and 0, or that of a class and another.
  return labelledByTwo(b, b.reshape(isHit, b.shape(scores)[0]), labels,
                       asFloats(b, scores));
}

//===----------------------------------------------------------------------===//
// Features
//===----------------------------------------------------------------------===//

/// Whether so many numbers lie along the last dimension, or are one for all.
bool isForFeatures(NodeBuilder &b, Value x, StringRef name, int64_t count) {
  if (x && b.rank(x) > 0 && (count == 1 || count == b.shape(x).back()))
    return true;
  b.fail("attribute " + name + ": expected a number for each of " +
         Twine(x && b.rank(x) > 0 ? b.shape(x).back() : 0) +
         " features or one for all, found " + Twine(count));
  return false;
}

Value alongFeatures(NodeBuilder &b, Value x, StringRef name,
                    ArrayRef<double> values) {
  auto count = static_cast<int64_t>(values.size());
  return isForFeatures(b, x, name, count)
             ? b.constantFloats(b.element(x), count, values)
             : Value();
}

Results scaler(NodeBuilder &b) {
  Value x = b.input(0);
  if (!isa<FloatType>(b.element(x)))
    x = b.cast(x, b.graph.raw().getF32Type());
  Value centred =
      b.sub(x, alongFeatures(b, x, "offset", floatsAttribute(b, "offset")));
  return {
      asFloats(b, b.mul(centred, alongFeatures(b, x, "scale",
                                               floatsAttribute(b, "scale"))))};
}

Results normalizer(NodeBuilder &b) {
  Value x = featuresOf(b);
  std::string norm = b.stringAttribute("norm", "MAX");
  Value size = b.create<graph::AbsOp>({x});
  if (norm == "MAX")
    size = b.reduce(Kind::Max, size, 1, true);
  else if (norm == "L1")
    size = b.reduce(Kind::Sum, size, 1, true);
  else if (norm == "L2")
    size = b.create<graph::SqrtOp>({b.reduce(Kind::Sum, b.mul(x, x), 1, true)});
  else
    return {b.fail("attribute norm: expected MAX, L1 or L2, found \"" + norm +
                   "\"")};
  return {asFloats(b, b.div(x, b.max(size, b.scalarLike(size, 1e-30))))};
}

Results imputer(NodeBuilder &b) {
  Value x = b.input(0);
  if (!isa<FloatType>(b.element(x))) {
    Ints integers = b.intsAttribute("imputed_value_int64s");
    auto count = static_cast<int64_t>(integers.size());
    if (!isForFeatures(b, x, "imputed_value_int64s", count))
      return {Value()};
    Value wide = b.cast(x, b.graph.raw().getI64Type());
    Value replaced =
        b.constantInts({}, b.intAttribute("replaced_value_int64", 0));
    Value imputed = b.cast(b.constantInts(count, integers), b.element(x));
    return {b.where(b.compare(Predicate::Equal, wide, replaced), imputed, x)};
  }
  double replaced = b.floatAttribute("replaced_value_float", 0);
  Value isMissing = std::isnan(replaced) ? b.create<graph::IsNanOp>({x})
                                         : b.compare(Predicate::Equal, x,
                                                     b.scalarLike(x, replaced));
  StringRef name = "imputed_value_floats";
  return {b.where(isMissing,
                  alongFeatures(b, x, name, floatsAttribute(b, name)), x)};
}

Results binarizer(NodeBuilder &b) {
  Value x = b.input(0);
  Value threshold = b.scalarLike(x, b.floatAttribute("threshold", 0));
  return {b.cast(b.compare(Predicate::Greater, x, threshold), b.element(x))};
}

/// Columns by index; a vector counts as one row.
Results arrayFeatureExtractor(NodeBuilder &b) {
  Value x = b.input(0), indices = b.input(1);
  if (b.rank(x) < 1)
    return {b.fail("expected features of rank 1 or more, found " +
                   graph::shapeToString(x.getType()))};
  if (b.rank(x) == 1)
    x = b.reshape(x, {1, b.shape(x)[0]});
  return {b.gather(x, b.reshape(indices, b.type(indices).getNumElements()),
                   b.rank(x) - 1)};
}

/// Inputs side by side, each cut or filled with zeros to its width.
Results featureVectorizer(NodeBuilder &b) {
  Ints widths = b.intsAttribute("inputdimensions");
  if (static_cast<int>(widths.size()) != b.numInputs())
    return {b.fail("attribute inputdimensions: expected " +
                   Twine(b.numInputs()) + " numbers, found " +
                   Twine(widths.size()))};
  SmallVector<Value> parts;
  for (int i = 0; i < b.numInputs(); ++i) {
    Value x = b.input(i);
    if (x && b.rank(x) == 1)
      x = b.reshape(x, {b.shape(x)[0], 1});
    if (!x || b.rank(x) != 2 || widths[i] < 1)
      return {
          b.fail("expected features [N, features] and widths of 1 or more")};
    if (b.element(x) != b.graph.raw().getF64Type())
      x = b.cast(x, b.graph.raw().getF32Type());
    int64_t missing = widths[i] - b.shape(x)[1];
    parts.push_back(missing <= 0
                        ? b.sliceAxis(x, 1, 0, widths[i])
                        : b.pad(x, b.scalarLike(x, 0), {0, 0}, {0, missing}));
  }
  return {asFloats(b, b.concat(parts, 1))};
}

/// 1 for the category that an element is, along a new last dimension.
Results oneHotEncoder(NodeBuilder &b) {
  Type f32 = b.graph.raw().getF32Type();
  if (b.isString(0))
    return {b.cast(
        equalToEach(b, b.strings(0), stringsAttribute(b, "cats_strings")),
        f32)};
  Value x = b.input(0);
  Ints categories = b.intsAttribute("cats_int64s");
  if (categories.empty())
    return {b.fail("expected the attribute cats_int64s")};
  Type i64 = b.graph.raw().getI64Type();
  Ints shape(b.shape(x));
  shape.push_back(1);
  Value isOne = b.compare(
      Predicate::Equal, b.reshape(b.cast(x, i64), shape),
      b.constantInts(static_cast<int64_t>(categories.size()), categories));
  return {b.cast(isOne, f32)};
}

} // namespace

OpFamily predictorOps() {
  return {
      {"ai.onnx.ml.ArrayFeatureExtractor", arrayFeatureExtractor, {1, 2, 2}},
      {"ai.onnx.ml.Binarizer", binarizer, {1, 1, 1}},
      {"ai.onnx.ml.FeatureVectorizer", featureVectorizer, {1, 1, -1}},
      {"ai.onnx.ml.Imputer", imputer, {1, 1, 1}},
      {"ai.onnx.ml.LinearClassifier", linearClassifier, {1, 1, 1}},
      {"ai.onnx.ml.LinearRegressor", linearRegressor, {1, 1, 1}},
      {"ai.onnx.ml.Normalizer", normalizer, {1, 1, 1}},
      {"ai.onnx.ml.OneHotEncoder", oneHotEncoder, {1, 1, 1}, Takes::Strings},
      {"ai.onnx.ml.Scaler", scaler, {1, 1, 1}}};
}

} // namespace tinh::onnx
