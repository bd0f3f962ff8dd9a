//===- SupportVectors.cpp - Support vector machines -------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/onnx/OpTable.h"
#include "compiler/Import/onnx/ops/Scores.h"

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
    Value squares = b.reduce(graph::ReduceKind::Sum, b.mul(apart, apart), 2,
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
      static_cast<int64_t>(vectors.size()) != count * features)
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
    Value isInside =
        b.compare(graph::ComparePredicate::Greater, y, b.scalarLike(y, 0));
    y = b.where(isInside, b.scalarLike(y, 1), b.scalarLike(y, -1));
  }
  y = transformScores(b, y, b.stringAttribute("post_transform", "NONE"));
  return {b.cast(y, f32)};
}

} // namespace

ArrayRef<OpEntry> supportVectorOps() {
  static const OpEntry entries[] = {
      {"ai.onnx.ml.SVMRegressor", 1, 1, 1, svmRegressor},
  };
  return entries;
}

} // namespace tinh::onnx
