//===- SupportVectors.cpp - Support vector machines -------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/onnx/OpTable.h"
#include "compiler/Import/onnx/ops/predictors/Scores.h"

using namespace mlir;

namespace tinh::onnx {

namespace {

/// How like two vectors are.
struct SvmKernel {
  std::string type;
  double gamma = 0, offset = 0, degree = 0;
};

std::optional<SvmKernel> readKernel(NodeBuilder &b) {
  SvmKernel kernel{b.stringAttribute("kernel_type", "LINEAR")};
  SmallVector<double> numbers = floatsAttribute(b, "kernel_params");
  if (b.failed())
    return std::nullopt;
  bool isKnown = llvm::is_contained({"LINEAR", "POLY", "RBF", "SIGMOID"},
                                    StringRef(kernel.type));
  if (!isKnown || (numbers.size() != 3 && kernel.type != "LINEAR")) {
    b.fail("expected a kernel_type LINEAR, POLY, RBF or SIGMOID, and gamma, "
           "coef0 and degree as kernel_params, found \"" +
           kernel.type + "\" and " + Twine(numbers.size()) + " numbers");
    return std::nullopt;
  }
  if (numbers.size() == 3) {
    kernel.gamma = numbers[0];
    kernel.offset = numbers[1];
    kernel.degree = numbers[2];
  }
  return kernel;
}

/// The kernel of all rows of x [N, features] with all vectors [S, features].
Value applyKernel(NodeBuilder &b, const SvmKernel &kernel, Value x,
                  Value vectors) {
  if (!x || !vectors)
    return {};
  auto c = [&](double number) { return b.scalarLike(x, number); };
  if (kernel.type == "RBF") {
    int64_t rows = b.shape(x)[0], features = b.shape(x)[1];
    Value apart = b.sub(b.reshape(x, {rows, 1, features}), vectors);
    Value squares = b.reduce(Kind::Sum, b.mul(apart, apart), 2,
                             /*keepdims=*/false);
    return b.create<graph::ExpOp>({b.mul(squares, c(-kernel.gamma))});
  }
  Value products = b.matmul(x, vectors, /*transposeB=*/true);
  if (kernel.type == "LINEAR")
    return products;
  Value scaled = b.add(b.mul(products, c(kernel.gamma)), c(kernel.offset));
  if (kernel.type == "SIGMOID")
    return b.create<graph::TanhOp>({scaled});
  return b.create<graph::PowOp>({scaled, c(kernel.degree)});
}

/// The sum of the kernels with the support vectors, or, without these, one
/// product with the coefficients.
Results svmRegressor(NodeBuilder &b) {
  Value x = b.input(0);
  Type f32 = b.graph.raw().getF32Type();
  x = isa<FloatType>(b.element(x)) ? x : b.cast(x, f32);
  int64_t count = b.intAttribute("n_supports", 0);
  SmallVector<double> coefficients = floatsAttribute(b, "coefficients"),
                      vectors = floatsAttribute(b, "support_vectors"),
                      rho = floatsAttribute(b, "rho");
  auto kernel = readKernel(b);
  if (b.failed() || !kernel)
    return {Value()};
  int64_t features = b.rank(x) == 2 ? b.shape(x)[1] : 0;
  bool isLinear = count == 0;
  auto given = static_cast<int64_t>(coefficients.size());
  if (features < 1 || count < 0 || rho.empty() ||
      given != (isLinear ? features : count) ||
      countElements({count, features}) != static_cast<int64_t>(vectors.size()))
    return {b.fail("expected features [N, features], a coefficient for each of "
                   "n_supports vectors of as many elements, or for each "
                   "feature, and rho, found " +
                   graph::shapeToString(x.getType()) + ", n_supports " +
                   Twine(count) + ", " + Twine(given) + " coefficients and " +
                   Twine(vectors.size()) + " support_vectors")};
  Value weights = b.constantFloats(b.element(x), {given, 1}, coefficients);
  Value y =
      isLinear
          ? b.matmul(x, weights)
          : b.matmul(applyKernel(b, *kernel, x,
                                 b.constantFloats(b.element(x),
                                                  {count, features}, vectors)),
                     weights);
  y = b.add(y, b.scalarLike(y, rho[0]));
  if (b.intAttribute("one_class", 0)) {
    Value isInside = b.compare(Predicate::Greater, y, b.scalarLike(y, 0));
    y = b.where(isInside, b.scalarLike(y, 1), b.scalarLike(y, -1));
  }
  y = transformScores(b, y, b.stringAttribute("post_transform", "NONE"));
  return {b.cast(y, f32)};
}

//===----------------------------------------------------------------------===//
// SVMClassifier, as ONNX's reference has it
//===----------------------------------------------------------------------===//

struct SvmClassifier {
  NodeBuilder &b;
  Value x = {}; ///< [N, features]
  SvmKernel kernel = {};
  ClassLabels labels = {};
  SmallVector<double> coefficients = {}, vectors = {}, rho = {}, a = {}, c = {};
  Ints vectorsOfClass = {};
  int64_t classes = 0, count = 0; ///< All vectors.

  bool read();
  Value scoresOfPairs();
  Value votes(Value scores);
  Value probabilities(Value scores);
  Results run();

  int64_t pairs() const { return classes * (classes - 1) / 2; }
  Value constant(ArrayRef<int64_t> shape, ArrayRef<double> values) {
    return b.constantFloats(b.element(x), shape, values);
  }
  template <typename Visit> void forPairs(Visit visit) {
    for (int64_t i = 0, pair = 0; i < classes; ++i)
      for (int64_t j = i + 1; j < classes; ++j)
        visit(pair++, i, j);
  }

private:
  bool fitsMemory();
  Value improve(Value p, Value q, Value &isDone);
};

bool SvmClassifier::read() {
  x = b.input(0);
  Type f32 = b.graph.raw().getF32Type();
  x = isa<FloatType>(b.element(x)) ? x : b.cast(x, f32);
  labels = readLabels(b, "classlabels_ints");
  coefficients = floatsAttribute(b, "coefficients");
  vectors = floatsAttribute(b, "support_vectors");
  rho = floatsAttribute(b, "rho");
  a = floatsAttribute(b, "prob_a");
  c = floatsAttribute(b, "prob_b");
  vectorsOfClass = b.intsAttribute("vectors_per_class");
  auto known = readKernel(b);
  if (b.failed() || !known)
    return false;
  kernel = *known;
  classes = std::max<int64_t>(labels.size(), 1);
  bool isRight = b.rank(x) == 2 && !coefficients.empty() && !rho.empty();
  for (int64_t own : vectorsOfClass) {
    isRight &= own >= 0 && own <= static_cast<int64_t>(coefficients.size());
    count += own;
  }
  int64_t features = b.rank(x) == 2 ? b.shape(x)[1] : 0;
  auto size = [](const auto &list) {
    return static_cast<int64_t>(list.size());
  };
  if (count == 0)
    isRight &= countElements({classes, features}) == size(coefficients);
  else
    isRight &= classes > 1 && size(vectorsOfClass) == classes &&
               countElements({count, features}) == size(vectors) &&
               size(rho) == pairs() &&
               countElements({classes - 1, count}) == size(coefficients) &&
               (a.empty() || size(a) == pairs()) && a.size() == c.size();
  if (!isRight)
    b.fail("expected features [N, features], vectors_per_class with as many "
           "support_vectors, coefficients of each for the other classes, and "
           "rho, prob_a and prob_b for each pair of classes; or coefficients "
           "of the features for each class; found " +
           graph::shapeToString(x.getType()) + ", " + Twine(classes) +
           " classes, " + Twine(count) + " vectors, " +
           Twine(coefficients.size()) + " coefficients and " +
           Twine(rho.size()) + " numbers of rho");
  return isRight && fitsMemory();
}

/// Pairs of classes have weights for all vectors, and for all classes.
bool SvmClassifier::fitsMemory() {
  constexpr int64_t kMostWeights = 100000000;
  auto weights = countElements({pairs(), std::max(count, classes)});
  if (count == 0 || (weights && *weights <= kMostWeights))
    return true;
  b.fail(Twine(pairs()) + " pairs of classes with " + Twine(count) +
         " vectors are more than the " + Twine(kMostWeights) +
         " weights that are supported");
  return false;
}

/// Each pair of classes has a product with the vectors of both.
Value SvmClassifier::scoresOfPairs() {
  int64_t features = b.shape(x)[1];
  SmallVector<int64_t> start(1, 0);
  for (int64_t own : vectorsOfClass)
    start.push_back(start.back() + own);
  SmallVector<double> weights(pairs() * count, 0);
  forPairs([&](int64_t pair, int64_t i, int64_t j) {
    for (int64_t v = start[i]; v < start[i + 1]; ++v)
      weights[pair * count + v] = coefficients[(j - 1) * count + v];
    for (int64_t v = start[j]; v < start[j + 1]; ++v)
      weights[pair * count + v] = coefficients[i * count + v];
  });
  Value kernels =
      applyKernel(b, kernel, x, constant({count, features}, vectors));
  Value scores = b.matmul(kernels, constant({pairs(), count}, weights),
                          /*transposeB=*/true);
  return b.add(scores, constant({pairs()}, rho));
}

/// How many pairs each class wins: [N, classes].
Value SvmClassifier::votes(Value scores) {
  SmallVector<double> first(pairs() * classes, 0), second(first);
  forPairs([&](int64_t pair, int64_t i, int64_t j) {
    first[pair * classes + i] = 1;
    second[pair * classes + j] = 1;
  });
  Value isFirst =
      b.compare(Predicate::Greater, scores, b.scalarLike(scores, 0));
  Value one = b.scalarLike(scores, 1), zero = b.scalarLike(scores, 0);
  return b.add(b.matmul(b.where(isFirst, one, zero),
                        constant({pairs(), classes}, first)),
               b.matmul(b.where(isFirst, zero, one),
                        constant({pairs(), classes}, second)));
}

/// A step of the iteration of Wu, Lin and Weng for p [N, classes], with
/// q [N, classes, classes]; rows that are done stay.
Value SvmClassifier::improve(Value p, Value q, Value &isDone) {
  int64_t rows = b.shape(p)[0];
  Value before = p;
  Value qp = b.reduce(Kind::Sum, b.mul(q, b.reshape(p, {rows, 1, classes})), 2,
                      /*keepdims=*/false);
  Value pqp = b.reduce(Kind::Sum, b.mul(p, qp), 1, /*keepdims=*/true);
  Value error = b.reduce(Kind::Max, b.create<graph::AbsOp>({b.sub(qp, pqp)}), 1,
                         /*keepdims=*/true);
  Value limit = b.scalarLike(p, 0.005 / static_cast<double>(classes));
  isDone =
      b.create<graph::OrOp>({isDone, b.compare(Predicate::Less, error, limit)});
  Value one = b.scalarLike(p, 1);
  for (int64_t t = 0; t < classes && !b.failed(); ++t) {
    SmallVector<double> unit(classes, 0);
    unit[t] = 1;
    Value ofT = b.reshape(b.sliceAxis(q, 1, t, 1), {rows, classes});
    Value own = b.sliceAxis(ofT, 1, t, 1), mine = b.sliceAxis(qp, 1, t, 1);
    Value step = b.div(b.sub(pqp, mine), own), sum = b.add(one, step);
    Value twice = b.add(mine, mine);
    pqp = b.div(b.add(pqp, b.mul(step, b.add(b.mul(step, own), twice))),
                b.mul(sum, sum));
    p = b.div(b.add(p, b.mul(step, constant({classes}, unit))), sum);
    qp = b.div(b.add(qp, b.mul(step, ofT)), sum);
  }
  return b.where(isDone, before, p);
}

/// Probabilities of classes from those of pairs: [N, classes].
Value SvmClassifier::probabilities(Value scores) {
  constexpr int64_t kMostClasses = 64;
  if (classes > kMostClasses)
    return b.fail("probabilities of more than " + Twine(kMostClasses) +
                  " classes are not supported");
  int64_t rows = b.shape(scores)[0];
  Value line =
      b.add(b.mul(scores, constant({pairs()}, a)), constant({pairs()}, c));
  Value one = b.scalarLike(line, 1);
  Value ofFirst = b.sub(one, b.create<graph::SigmoidOp>({line}));
  ofFirst = b.max(b.min(ofFirst, b.scalarLike(line, 1 - 1e-7)),
                  b.scalarLike(line, 1e-7));
  // r[i, j], in a column each, with a column of zeros for r[i, i].
  Value all = b.concat({ofFirst, b.sub(one, ofFirst),
                        b.broadcast(b.scalarLike(line, 0), {rows, 1})},
                       1);
  Ints places(classes * classes, 2 * pairs());
  forPairs([&](int64_t pair, int64_t i, int64_t j) {
    places[i * classes + j] = pair;
    places[j * classes + i] = pairs() + pair;
  });
  Value r = b.reshape(b.gather(all, places, 1), {rows, classes, classes});
  Value turned = b.transpose(r, {0, 2, 1});
  // q[t, t] = Σ r[j, t]², and else q[t, j] = -r[j, t] · r[t, j].
  Value squares = b.reduce(Kind::Sum, b.mul(turned, turned), 2,
                           /*keepdims=*/true);
  Value number = b.iota(classes);
  Value isDiagonal =
      b.compare(Predicate::Equal, b.reshape(number, {classes, 1}), number);
  Value q =
      b.where(isDiagonal, squares, b.create<graph::NegOp>({b.mul(r, turned)}));
  Value p = b.broadcast(b.scalarLike(q, 1.0 / static_cast<double>(classes)),
                        {rows, classes});
  Value isDone = b.broadcast(b.scalar(b.graph.raw().getI1Type(), 0), {rows, 1});
  auto step = [&](const ScanArguments &arguments) -> ScanResults {
    Value done = arguments.carried[1];
    Value after = improve(arguments.carried[0], q, done);
    Value goesOn = b.create<graph::NotOp>(
        {b.reduce(Kind::Min, done, {0, 1}, /*keepdims=*/false)});
    return {{after, done}, {}, goesOn};
  };
  ScanLength length{std::max<int64_t>(100, classes), Value(),
                    b.scalar(b.graph.raw().getI1Type(), 1)};
  return b.scan(length, {p, isDone}, {}, step).carried[0];
}

Results SvmClassifier::run() {
  std::string transform = b.stringAttribute("post_transform", "NONE");
  bool isLinear = count == 0, hasProbabilities = !isLinear && !a.empty();
  Value scores, deciding;
  if (isLinear) {
    scores = b.matmul(x, constant({classes, b.shape(x)[1]}, coefficients),
                      /*transposeB=*/true);
    scores = deciding = b.add(scores, b.scalarLike(scores, rho[0]));
  } else {
    scores = scoresOfPairs();
    deciding = votes(scores);
    if (hasProbabilities)
      scores = probabilities(scores);
  }
  if (b.failed())
    return {Value()};
  Value best =
      b.create<graph::ArgmaxOp>({deciding}, {b.attr("axis", int64_t(1))});
  Value most = b.reduce(Kind::Max, deciding, 1,
                        /*keepdims=*/false);
  auto isAbove = [&](double limit, bool orEqual) {
    return b.compare(orEqual ? Predicate::GreaterEqual : Predicate::Greater,
                     most, b.scalarLike(most, limit));
  };
  bool isPositive = llvm::all_of(coefficients, [](double x) { return x >= 0; });
  // A single pair of scores is that of two classes, the second one positive.
  if (b.shape(scores)[1] == 1 && rho.size() == 1 && labels.size() == 2)
    scores = b.concat({b.create<graph::NegOp>({scores}), scores}, 1);
  Value y =
      b.cast(transformScores(b, scores, transform), b.graph.raw().getF32Type());
  if (rho.size() == 1 && labels.size() == 2 && isPositive && !hasProbabilities)
    best = b.where(isAbove(0.5, /*orEqual=*/true),
                   b.scalar(b.graph.raw().getI64Type(), 1), best);
  if (rho.size() == 1 && labels.size() != 2 && labels.strings.empty())
    return {b.cast(isAbove(0, /*orEqual=*/false), b.graph.raw().getI64Type()),
            y};
  return labels.size() == 0 ? Results{best, y} : labelled(b, best, labels, y);
}

Results svmClassifier(NodeBuilder &b) {
  SvmClassifier classifier{b};
  return classifier.read() ? classifier.run() : Results{Value()};
}

} // namespace

OpFamily supportVectorOps() {
  return {{"ai.onnx.ml.SVMClassifier", svmClassifier, {1, 1, 1}},
          {"ai.onnx.ml.SVMRegressor", svmRegressor, {1, 1, 1}}};
}

} // namespace tinh::onnx
