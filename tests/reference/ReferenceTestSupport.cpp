//===- ReferenceTestSupport.cpp - Evaluates graphs in text ------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tests/reference/ReferenceTestSupport.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

#include <cctype>
#include <cmath>

using namespace mlir;

namespace tinh::test {

ReferenceTest::ReferenceTest() {
  context.loadDialect<graph::GraphDialect, func::FuncDialect>();
}

static reference::Tensor makeTensor(Type type, const Values &values) {
  reference::Tensor tensor(type);
  EXPECT_EQ(tensor.size(), static_cast<int64_t>(values.size()));
  if (tensor.isFloat())
    tensor.floats = values;
  else
    tensor.integers.assign(values.begin(), values.end());
  return tensor;
}

std::vector<Values> ReferenceTest::evaluateFunctionOnRanks(
    const std::string &function,
    const std::vector<std::vector<Values>> &inputs) {
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    message = diagnostic.str();
    return success();
  });
  auto module =
      parseSourceString<ModuleOp>("func.func @main" + function, &context);
  if (!module) {
    ADD_FAILURE() << message << "\n" << function;
    return {};
  }
  auto main = *module->getOps<func::FuncOp>().begin();
  std::vector<std::vector<reference::Tensor>> arguments;
  for (const std::vector<Values> &own : inputs) {
    arguments.emplace_back();
    for (auto [type, values] : llvm::zip_equal(main.getArgumentTypes(), own))
      arguments.back().push_back(makeTensor(type, values));
  }
  auto results = reference::evaluateOnRanks(
      main, std::move(arguments), [](graph::ExternalAttr external) {
        static const float numbers[] = {10, 20, 30};
        return llvm::Expected<ArrayRef<char>>(
            ArrayRef(reinterpret_cast<const char *>(numbers), sizeof numbers)
                .slice(external.getOffset(), external.getSize()));
      });
  if (failed(results))
    return {};
  std::vector<Values> elements;
  for (const std::vector<reference::Tensor> &own : *results) {
    const reference::Tensor &first = own.front();
    elements.push_back(
        first.isFloat() ? first.floats
                        : Values(first.integers.begin(), first.integers.end()));
  }
  return elements;
}

Values ReferenceTest::evaluate(const std::string &function,
                               const std::vector<Values> &inputs) {
  std::vector<Values> results = evaluateFunctionOnRanks(function, {inputs});
  return results.empty() ? Values() : results.front();
}

/// Where `what` is a word, and no part of one.
static void replaceAll(std::string &text, const std::string &what,
                       const std::string &by) {
  auto isInWord = [&](size_t at) {
    return at < text.size() && (std::isalnum(text[at]) || text[at] == '_');
  };
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos;) {
    bool begins = at == 0 || !isInWord(at - 1) || !isInWord(at);
    bool isWord = begins && !isInWord(at + what.size());
    if (isWord)
      text.replace(at, what.size(), by);
    at += isWord ? by.size() : 1;
  }
}

Values ReferenceTest::evaluateOp(const std::string &op, const std::string &type,
                                 const std::vector<Operand> &operands) {
  std::string arguments, body = op, result = "tensor<" + type + ">";
  std::vector<Values> inputs;
  for (auto [i, operand] : llvm::enumerate(operands)) {
    std::string number = std::to_string(i);
    arguments +=
        (i ? ", %x" : "%x") + number + ": tensor<" + operand.type + ">";
    replaceAll(body, "%" + number, "%x" + number);
    replaceAll(body, "t" + number, "tensor<" + operand.type + ">");
    inputs.push_back(operand.values);
  }
  replaceAll(body, "ty", result);
  return evaluate("(" + arguments + ") -> " + result + " {\n%y = " + body +
                      "\nreturn %y : " + result + "\n}",
                  inputs);
}

std::vector<Values> ReferenceTest::evaluateOnRanks(
    const std::string &op, const std::string &operand, const std::string &type,
    const std::vector<Values> &ranks) {
  std::string body = op, result = "tensor<" + type + ">";
  replaceAll(body, "t0", "tensor<" + operand + ">");
  replaceAll(body, "ty", result);
  std::vector<std::vector<Values>> inputs;
  for (const Values &own : ranks)
    inputs.push_back({own});
  return evaluateFunctionOnRanks("(%0: tensor<" + operand + ">) -> " + result +
                                     " {\n%y = " + body +
                                     "\nreturn %y : " + result + "\n}",
                                 inputs);
}

void expectNear(const Values &found, const Values &expected, double tolerance) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    if (std::isnan(expected[i]))
      EXPECT_TRUE(std::isnan(found[i])) << "element " << i << ": " << found[i];
    else if (std::isinf(expected[i]))
      EXPECT_EQ(found[i], expected[i]) << "element " << i;
    else
      EXPECT_NEAR(found[i], expected[i], tolerance) << "element " << i;
  }
}

} // namespace tinh::test
