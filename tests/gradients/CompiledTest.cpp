//===- CompiledTest.cpp - Gradients, compiled and op by op ----------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradients of all cases of a family as one module, which is run in every
// way there is: that what rules build can be lowered, and is run by the eager
// mode.
//
//===----------------------------------------------------------------------===//
#include "tests/end-to-end/random-graphs/Check.h"
#include "tests/gradients/Cases.h"

#include "dialects/graph/Graph.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace tinh::test {

namespace {

class CompiledGradients : public GradientTest {
protected:
  void checkFamily(const std::vector<GradientCase> &cases);

private:
  void addGradient(const GradientCase &gradientCase, func::FuncOp main);
};

void setNames(func::FuncOp main) {
  Builder b(main.getContext());
  auto name = [&](const char *kind, unsigned i) {
    return b.getStringAttr(kind + std::to_string(i));
  };
  for (unsigned i = 0; i < main.getNumArguments(); ++i)
    main.setArgAttr(i, graph::names::kName, name("x", i));
  for (unsigned i = 0; i < main.getNumResults(); ++i)
    main.setResultAttr(i, graph::names::kName, name("y", i));
}

} // namespace

/// Arguments and results of the gradient become some of main's.
void CompiledGradients::addGradient(const GradientCase &gradientCase,
                                    func::FuncOp main) {
  auto module = parse(functionOf(gradientCase));
  ASSERT_TRUE(module);
  func::FuncOp gradient =
      differentiate(*module->getOps<func::FuncOp>().begin());
  ASSERT_TRUE(gradient) << message;
  Block &body = main.getBody().front();
  Operation *end = body.getTerminator();
  Location loc = NameLoc::get(StringAttr::get(&context, gradientCase.name));
  IRMapping mapping;
  for (BlockArgument argument : gradient.getArguments())
    mapping.map(argument, body.addArgument(argument.getType(), loc));
  OpBuilder builder(end);
  for (Operation &op : gradient.getBody().front().without_terminator())
    builder.clone(op, mapping)->setLoc(loc);
  SmallVector<Value> results(end->getOperands());
  for (Value value : gradient.getBody().front().getTerminator()->getOperands())
    results.push_back(mapping.lookup(value));
  end->setOperands(results);
}

void CompiledGradients::checkFamily(const std::vector<GradientCase> &cases) {
  OpBuilder builder(&context);
  OwningOpRef<ModuleOp> module = ModuleOp::create(builder.getUnknownLoc());
  builder.setInsertionPointToEnd(module->getBody());
  auto main = func::FuncOp::create(builder, builder.getUnknownLoc(),
                                   graph::names::kMain,
                                   builder.getFunctionType({}, {}));
  Block *body = main.addEntryBlock();
  builder.setInsertionPointToEnd(body);
  auto end = func::ReturnOp::create(builder, builder.getUnknownLoc());
  std::vector<std::string> names; // Of the cases, by result.
  for (const GradientCase &gradientCase : cases) {
    addGradient(gradientCase, main);
    names.resize(end->getNumOperands(), gradientCase.name);
  }
  main.setType(builder.getFunctionType(body->getArgumentTypes(),
                                       end->getOperandTypes()));
  setNames(main);
  for (const Problem &problem :
       tinh::test::check(*module, /*seed=*/1, Machine()))
    ADD_FAILURE() << (problem.output ? names[*problem.output] : "") << ": "
                  << problem.what;
}

TEST_F(CompiledGradients, Elementwise) { checkFamily(elementwiseCases()); }
TEST_F(CompiledGradients, Reductions) { checkFamily(reductionCases()); }
TEST_F(CompiledGradients, Movement) { checkFamily(movementCases()); }
TEST_F(CompiledGradients, Contractions) { checkFamily(contractionCases()); }
TEST_F(CompiledGradients, Pooling) { checkFamily(poolingCases()); }
TEST_F(CompiledGradients, Normalizations) { checkFamily(normalizationCases()); }
TEST_F(CompiledGradients, ControlFlow) { checkFamily(controlFlowCases()); }
TEST_F(CompiledGradients, Functions) { checkFamily(functionCases()); }

} // namespace tinh::test
