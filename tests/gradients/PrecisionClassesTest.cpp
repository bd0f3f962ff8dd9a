//===- PrecisionClassesTest.cpp - Ops and lower precision -----------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A new op must say how it takes part in lower precision, and what the pass
// makes of a model must still have gradients.
//
//===----------------------------------------------------------------------===//
#include "tests/gradients/Cases.h"

#include "compiler/Eager/ElementwiseNames.h"
#include "compiler/Eager/Tensor/Autocast.h"
#include "compiler/Transforms/Passes.h"
#include "dialects/graph/Graph.h"
#include "dialects/graph/OpFacts.h"

#include "mlir/IR/Verifier.h"
#include "llvm/ADT/StringSet.h"

namespace tinh::test {

using PrecisionClasses = GradientTest;

TEST_F(PrecisionClasses, AllOpsOfModelsHaveOne) {
  llvm::StringSet<> others{"kernel",  "dispatch",           "transfer",
                           "weight",  "set_dimension_size", "dimension_size",
                           "variable"};
  for (mlir::RegisteredOperationName op :
       context.getRegisteredOperationsByDialect("graph")) {
    const graph::OpFacts *facts = graph::findFacts(op);
    ASSERT_TRUE(facts) << op.getStringRef().str();
    bool isOfModels =
        facts->precisionClass != graph::PrecisionClass::NotInModels;
    EXPECT_EQ(isOfModels, !others.contains(op.stripDialect()))
        << op.getStringRef().str();
    if (op.hasInterface<graph::DifferentiableOpInterface>())
      EXPECT_TRUE(isOfModels) << op.getStringRef().str();
    EXPECT_EQ(facts->fusionRole == graph::FusionRole::Elementwise,
              op.hasTrait<graph::ElementwiseOpTrait>())
        << op.getStringRef().str();
  }
}

/// An Autocast of tensors knows the same classes.
TEST_F(PrecisionClasses, TensorsHaveTheSame) {
  // Of integers and booleans, which have no precision.
  llvm::StringSet<> exact{"not",        "and",         "or",    "xor",
                          "shift_left", "shift_right", "isnan", "isinf"};
  size_t known = 0;
  for (auto [i, name] : llvm::enumerate(eager::kElementwiseNames)) {
    auto op = mlir::RegisteredOperationName::lookup(
        ("graph." + llvm::Twine(name)).str(), &context);
    if (!op || exact.contains(name))
      continue;
    ++known;
    EXPECT_EQ(eager::isFull(static_cast<eager::ElementwiseOp>(i)),
              graph::findFacts(*op)->precisionClass ==
                  graph::PrecisionClass::Full)
        << name;
  }
  EXPECT_GE(known, 30u);
}

/// The case in f32, all of whose inputs have been rounded: ops that may take
/// bf16 do.
static std::string inF32(const GradientCase &gradientCase) {
  std::string text = functionOf(gradientCase);
  for (size_t at = 0; (at = text.find("f64", at)) != std::string::npos;)
    text.replace(at, 3, "f32");
  return text;
}

static void roundArguments(mlir::func::FuncOp function) {
  auto builder = mlir::OpBuilder::atBlockBegin(&function.front());
  for (mlir::BlockArgument argument : function.getArguments()) {
    auto type = mlir::cast<mlir::RankedTensorType>(argument.getType());
    if (!type.getElementType().isF32())
      continue;
    mlir::Type low = type.clone(builder.getBF16Type());
    auto down =
        graph::CastOp::create(builder, function.getLoc(), low, argument);
    auto back =
        graph::CastOp::create(builder, function.getLoc(), type, down.getY());
    argument.replaceAllUsesExcept(back.getY(), down);
  }
}

class LowerPrecision : public GradientTest,
                       public testing::WithParamInterface<GradientCase> {};

TEST_P(LowerPrecision, HasGradients) {
  auto module = parse(inF32(GetParam()));
  ASSERT_TRUE(module);
  auto main = module->lookupSymbol<mlir::func::FuncOp>("main");
  auto type = main.getFunctionType();
  roundArguments(main);
  (void)transforms::lowerPrecision(*module, {"bf16", {}});
  EXPECT_TRUE(succeeded(mlir::verify(*module))) << message;
  EXPECT_EQ(main.getFunctionType(), type);
  mlir::func::FuncOp gradient = differentiate(main);
  ASSERT_TRUE(gradient) << message;
  EXPECT_TRUE(succeeded(mlir::verify(*module))) << message;
}

INSTANTIATE_TEST_SUITE_P(Ops, LowerPrecision, testing::ValuesIn(allCases()),
                         [](const auto &info) { return info.param.name; });

} // namespace tinh::test
