//===- CollectiveTest.cpp - Gradients over several ranks
//---------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tests/gradients/Cases.h"

#include "compiler/Reference/Interpreter.h"

#include <random>

namespace tinh::test {

namespace {

constexpr size_t kRanks = 3;

/// By rank the elements of a function's tensors.
using ByRank = std::vector<std::vector<reference::Tensor>>;

ByRank evaluate(mlir::func::FuncOp function, const ByRank &inputs) {
  auto results =
      reference::evaluateOnRanks(function, inputs, [](graph::ExternalAttr) {
        return llvm::Expected<llvm::ArrayRef<char>>(llvm::ArrayRef<char>());
      });
  EXPECT_TRUE(mlir::succeeded(results));
  return mlir::succeeded(results) ? *results : ByRank();
}

ByRank random(mlir::TypeRange types, std::mt19937 &generator) {
  std::uniform_real_distribution<double> numbers(-2, 2);
  ByRank tensors(kRanks);
  for (std::vector<reference::Tensor> &own : tensors)
    for (mlir::Type type : types)
      for (double &element : own.emplace_back(type).floats)
        element = numbers(generator);
  return tensors;
}

/// The sum over all ranks of the first results, weighed by `seeds`.
double weigh(const ByRank &results, const ByRank &seeds) {
  double sum = 0;
  for (size_t rank = 0; rank < kRanks; ++rank)
    for (auto [y, seed] :
         llvm::zip_equal(results[rank][0].floats, seeds[rank][0].floats))
      sum += y * seed;
  return sum;
}

} // namespace

std::vector<std::string> collectiveFunctions() {
  return {
      R"((%x: tensor<6xf64>) -> tensor<6xf64> {
        %a = graph.mul %x, %x : tensor<6xf64>, tensor<6xf64> -> tensor<6xf64>
        %y = graph.all_reduce sum %a : tensor<6xf64>
        return %y : tensor<6xf64> })",
      R"((%x: tensor<6xf64>) -> tensor<6xf64> {
        %a = graph.all_reduce mean %x : tensor<6xf64>
        %y = graph.mul %a, %x : tensor<6xf64>, tensor<6xf64> -> tensor<6xf64>
        return %y : tensor<6xf64> })",
      R"((%x: tensor<6xf64>) -> tensor<6xf64> {
        %y = graph.all_reduce max %x : tensor<6xf64>
        return %y : tensor<6xf64> })",
      R"((%x: tensor<6x2xf64>) -> tensor<2x2xf64> {
        %a = graph.sin %x : tensor<6x2xf64>
        %y = graph.reduce_scatter sum %a ranks 3 : tensor<6x2xf64> -> tensor<2x2xf64>
        return %y : tensor<2x2xf64> })",
      R"((%x: tensor<6xf64>) -> tensor<2xf64> {
        %y = graph.reduce_scatter mean %x ranks 3 : tensor<6xf64> -> tensor<2xf64>
        return %y : tensor<2xf64> })",
      R"((%x: tensor<2x2xf64>) -> tensor<6x2xf64> {
        %a = graph.exp %x : tensor<2x2xf64>
        %y = graph.all_gather %a ranks 3 : tensor<2x2xf64> -> tensor<6x2xf64>
        return %y : tensor<6x2xf64> })",
  };
}

class CollectiveGradient : public GradientTest,
                           public testing::WithParamInterface<std::string> {};

TEST_P(CollectiveGradient, IsThatOfTheSumOverRanks) {
  constexpr double kStep = 1e-5;
  auto module = parse(GetParam());
  ASSERT_TRUE(module);
  auto function = *module->getOps<mlir::func::FuncOp>().begin();
  mlir::func::FuncOp gradient = differentiate(function);
  ASSERT_TRUE(gradient) << message;
  std::mt19937 generator(1);
  ByRank inputs = random(function.getArgumentTypes(), generator),
         seeds = random(function.getResultTypes(), generator), both = inputs;
  for (size_t rank = 0; rank < kRanks; ++rank)
    both[rank].push_back(seeds[rank][0]);
  ByRank found = evaluate(gradient, both);
  for (size_t rank = 0; rank < kRanks; ++rank)
    for (auto [i, slope] : llvm::enumerate(found[rank][0].floats)) {
      auto moved = [&](double by) {
        ByRank near = inputs;
        near[rank][0].floats[i] += by;
        return weigh(evaluate(function, near), seeds);
      };
      double expected = (moved(kStep) - moved(-kStep)) / (2 * kStep);
      EXPECT_NEAR(slope, expected, 1e-6) << "rank " << rank << ", " << i;
    }
}

INSTANTIATE_TEST_SUITE_P(Ops, CollectiveGradient,
                         testing::ValuesIn(collectiveFunctions()));

} // namespace tinh::test
