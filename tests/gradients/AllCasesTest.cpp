//===- AllCasesTest.cpp - All ops have gradients, and right ones ----------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tests/gradients/Cases.h"

#include "dialects/graph/Graph.h"

#include <map>

namespace tinh::test {

std::vector<GradientCase> allCases() {
  std::vector<GradientCase> cases;
  for (auto *family :
       {elementwiseCases, reductionCases, movementCases, contractionCases,
        poolingCases, normalizationCases, controlFlowCases, functionCases})
    llvm::append_range(cases, family());
  return cases;
}

class Gradient : public GradientTest,
                 public testing::WithParamInterface<GradientCase> {};

TEST_P(Gradient, EqualsFiniteDifferences) { check(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Ops, Gradient, testing::ValuesIn(allCases()),
                         [](const auto &info) { return info.param.name; });

/// The ops without a rule, and why they have none.
static const std::map<llvm::StringRef, const char *> &opsWithoutRule() {
  static const char *integers = "works on integers or booleans",
                    *discrete = "gives booleans, integers or indices",
                    *constant = "reads no tensor",
                    *later = "is made after gradients are built",
                    *earlier = "is resolved before gradients are built",
                    *part = "is part of an op that has a rule";
  static const std::map<llvm::StringRef, const char *> reasons = {
      {"and", integers},
      {"or", integers},
      {"xor", integers},
      {"not", integers},
      {"shift_left", integers},
      {"shift_right", integers},
      {"quantize", discrete},
      {"unpack_int4", integers},
      {"bitcast", "gives the bits of floats, of which there is no gradient"},
      {"compare", discrete},
      {"isnan", discrete},
      {"isinf", discrete},
      {"argmax", discrete},
      {"argmin", discrete},
      {"constant", constant},
      {"iota", constant},
      {"variable", constant},
      {"weight", constant},
      {"set_dimension_size", earlier},
      {"dimension_size", earlier},
      {"kernel", later},
      {"dispatch", later},
      {"transfer", later},
      {"yield", part},
      {"condition", part},
      {"collective_broadcast", "gives its root alone a gradient"},
      {"stop_gradient", "has no gradient by definition"},
      {"dropout", "is made of other ops before gradients are built"},
  };
  return reasons;
}

using GradientRules = GradientTest;

TEST_F(GradientRules, AllOpsHaveOneOrAReason) {
  for (mlir::RegisteredOperationName op :
       context.getRegisteredOperationsByDialect("graph")) {
    bool hasRule = op.hasInterface<graph::DifferentiableOpInterface>();
    EXPECT_NE(hasRule, opsWithoutRule().contains(op.stripDialect()))
        << op.getStringRef().str()
        << (hasRule ? " has a rule, so it needs no reason"
                    : " has neither a rule nor a reason to have none");
  }
}

TEST_F(GradientRules, AllAreTried) {
  std::string texts;
  for (const GradientCase &gradientCase : allCases())
    texts += gradientCase.ops;
  for (const std::string &function : collectiveFunctions())
    texts += function;
  for (mlir::RegisteredOperationName op :
       context.getRegisteredOperationsByDialect("graph"))
    if (op.hasInterface<graph::DifferentiableOpInterface>())
      EXPECT_NE(texts.find(op.getStringRef().str() + " "), std::string::npos)
          << "no case has " << op.getStringRef().str();
}

TEST_F(GradientRules, OpsWithoutOneAreNamed) {
  auto module = parse(R"((%x: tensor<4xf64>) -> tensor<4xf64> {
    %y = graph.kernel (%a = %x) : (tensor<4xf64>) -> tensor<4xf64> {
      %0 = graph.exp %a : tensor<4xf64>
      graph.yield %0 : tensor<4xf64>
    }
    return %y : tensor<4xf64>
  })");
  EXPECT_FALSE(differentiate(*module->getOps<mlir::func::FuncOp>().begin()));
  EXPECT_NE(message.find("graph.kernel cannot be differentiated"),
            std::string::npos)
      << message;
}

} // namespace tinh::test
