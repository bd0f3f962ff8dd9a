//===- GradientTest.cpp - Gradients against finite differences ------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tests/gradients/GradientTest.h"

#include "compiler/Gradients/Gradients.h"
#include "compiler/Pipelines/Registration.h"
#include "compiler/Reference/Interpreter.h"
#include "dialects/graph/Graph.h"

#include "mlir/Parser/Parser.h"

#include <cmath>
#include <numeric>
#include <random>

using namespace mlir;

namespace tinh::test {

using reference::Tensor;

void PrintTo(const GradientCase &gradientCase, std::ostream *stream) {
  *stream << gradientCase.ops;
}

GradientTest::GradientTest() {
  DialectRegistry registry;
  registerDialects(registry);
  context.appendDialectRegistry(registry);
  context.loadDialect<graph::GraphDialect, func::FuncDialect>();
  context.getDiagEngine().registerHandler(
      [this](Diagnostic &diagnostic) { message = diagnostic.str(); });
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// "tensor<2x3xf64>" of "2x3", "tensor<2xf32>" of "2xf32".
static std::string typeText(const std::string &shape) {
  bool hasElement = shape.find_first_of("fbi") != std::string::npos;
  const char *element = hasElement ? "" : shape.empty() ? "f64" : "xf64";
  return "tensor<" + shape + element + ">";
}

std::string functionOf(const GradientCase &gradientCase) {
  std::string parameters, body = gradientCase.ops;
  auto replace = [&](const std::string &alias, const std::string &type) {
    for (size_t at = 0; (at = body.find(alias, at)) != std::string::npos;)
      body.replace(at, alias.size(), type);
  };
  for (auto [i, shape] : llvm::enumerate(gradientCase.inputs)) {
    std::string number = std::to_string(i), type = typeText(shape);
    parameters += (i ? ", %" : "%") + number + ": " + type;
    replace("!t" + number, type);
  }
  std::string result = typeText(gradientCase.result);
  replace("!y", result);
  return "(" + parameters + ") -> " + result + " {\n" + body +
         "\nreturn %y : " + result + "\n}";
}

OwningOpRef<ModuleOp> GradientTest::parse(const std::string &function) {
  auto module =
      parseSourceString<ModuleOp>("func.func @main" + function, &context);
  if (!module)
    ADD_FAILURE() << message << "\n" << function;
  return module;
}

static SmallVector<Value> floats(ValueRange values) {
  return SmallVector<Value>(llvm::make_filter_range(values, [](Value value) {
    return gradients::isDifferentiable(value.getType());
  }));
}

func::FuncOp GradientTest::differentiate(func::FuncOp function) {
  auto gradient = cast<func::FuncOp>(function->clone());
  gradient.setName((function.getName() + "_gradient").str());
  function->getBlock()->push_back(gradient);
  Block &block = gradient.getBody().front();
  Operation *end = block.getTerminator();
  Location loc = gradient.getLoc();
  SmallVector<Value> inputs = floats(block.getArguments()),
                     outputs = floats(end->getOperands()), seeds;
  for (Value output : outputs)
    seeds.push_back(block.addArgument(output.getType(), loc));
  OpBuilder builder(end);
  auto results = gradients::buildGradients(builder, outputs, seeds, inputs);
  if (failed(results)) {
    gradient.erase();
    return {};
  }
  for (auto [input, result] : llvm::zip_equal(inputs, *results)) {
    auto type = cast<ShapedType>(input.getType());
    if (!result)
      result = graph::ConstantOp::create(
          builder, loc,
          DenseElementsAttr::get(type,
                                 FloatAttr::get(type.getElementType(), 0.0)));
    EXPECT_EQ(result.getType(), input.getType());
  }
  end->setOperands(*results);
  gradient.setType(builder.getFunctionType(block.getArgumentTypes(),
                                           ValueRange(*results).getTypes()));
  return gradient;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

static std::vector<Tensor> evaluate(func::FuncOp function,
                                    const std::vector<Tensor> &inputs) {
  auto results = reference::evaluate(function, inputs, [](graph::ExternalAttr) {
    return llvm::Expected<ArrayRef<char>>(ArrayRef<char>());
  });
  if (failed(results)) {
    ADD_FAILURE() << "cannot be evaluated";
    return {};
  }
  return std::move(*results);
}

/// Random numbers, in random order, of which no two are close.
static Values spread(size_t count, const Trial &trial, std::mt19937 &random) {
  Values values(count);
  std::iota(values.begin(), values.end(), 0);
  std::shuffle(values.begin(), values.end(), random);
  std::uniform_real_distribution<double> jitter(0.2, 0.8);
  size_t slots = count + count % 2; // So that 0 lies between two of them.
  for (double &value : values)
    value =
        trial.low + (trial.high - trial.low) * (value + jitter(random)) / slots;
  return values;
}

static std::vector<Tensor>
randomInputs(func::FuncOp function, const Trial &trial, std::mt19937 &random) {
  std::vector<Tensor> inputs;
  size_t count = 0;
  for (Type type : function.getArgumentTypes())
    count += inputs.emplace_back(type).floats.size();
  Values values = spread(count, trial, random);
  auto next = values.begin();
  for (Tensor &input : inputs) {
    for (double &element : input.floats)
      element = *next++;
    reference::roundElements(input);
  }
  return inputs;
}

/// Σ results · seeds.
static double weigh(const std::vector<Tensor> &results,
                    const std::vector<Tensor> &seeds) {
  double sum = 0;
  auto seed = seeds.begin();
  for (const Tensor &result : results)
    if (result.isFloat()) {
      sum = std::inner_product(result.floats.begin(), result.floats.end(),
                               seed->floats.begin(), sum);
      ++seed;
    }
  return sum;
}

static std::vector<Tensor> finiteDifferences(func::FuncOp function,
                                             std::vector<Tensor> inputs,
                                             const std::vector<Tensor> &seeds,
                                             double step) {
  std::vector<Tensor> differences;
  for (Tensor &input : inputs) {
    if (!input.isFloat())
      continue;
    Tensor difference(input.type);
    for (auto [element, slope] :
         llvm::zip_equal(input.floats, difference.floats)) {
      double middle = element;
      element = middle + step;
      double above = weigh(evaluate(function, inputs), seeds);
      element = middle - step;
      double below = weigh(evaluate(function, inputs), seeds);
      element = middle;
      slope = (above - below) / (2 * step);
    }
    differences.push_back(difference);
  }
  return differences;
}

static void compare(const std::vector<Tensor> &found,
                    const std::vector<Tensor> &expected, double tolerance) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    double scale = 1;
    for (double element : expected[i].floats)
      scale = std::max(scale, std::abs(element));
    for (size_t j = 0; j < found[i].floats.size(); ++j)
      ASSERT_NEAR(found[i].floats[j], expected[i].floats[j], tolerance * scale)
          << "element " << j << " of the gradient of float input " << i;
  }
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

static std::string textOf(func::FuncOp function) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  function.print(stream);
  return text;
}

/// Compares `gradient` with differences of `function`.
static void compareGradient(func::FuncOp function, func::FuncOp gradient,
                            const Trial &trial, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Tensor> inputs = randomInputs(function, trial, random);
  std::vector<Tensor> seeds;
  for (Type type : function.getResultTypes())
    if (gradients::isDifferentiable(type))
      for (double &element : seeds.emplace_back(type).floats)
        element = std::uniform_real_distribution<double>(-1, 1)(random);
  auto expected = finiteDifferences(function, inputs, seeds, trial.step);
  llvm::append_range(inputs, seeds);
  compare(evaluate(gradient, inputs), expected, trial.tolerance);
}

void GradientTest::check(const std::string &text, const Trial &trial) {
  auto module = parse(text);
  if (!module)
    return;
  func::FuncOp function = *module->getOps<func::FuncOp>().begin();
  for (int order = 1; order <= trial.order; ++order) {
    func::FuncOp gradient = differentiate(function);
    ASSERT_TRUE(gradient) << message << "\n" << textOf(function);
    for (unsigned seed = 1; seed <= 3; ++seed) {
      compareGradient(function, gradient, trial, seed);
      if (HasFailure()) {
        ADD_FAILURE() << "in derivative " << order << ", random seed " << seed
                      << "\n"
                      << textOf(gradient);
        return;
      }
    }
    function = gradient;
  }
}

void GradientTest::check(const GradientCase &gradientCase) {
  check(functionOf(gradientCase), gradientCase.trial);
}

std::vector<Values> GradientTest::gradients(const GradientCase &gradientCase,
                                            const std::vector<Values> &inputs,
                                            const Values &seed) {
  auto module = parse(functionOf(gradientCase));
  if (!module)
    return {};
  func::FuncOp gradient =
      differentiate(*module->getOps<func::FuncOp>().begin());
  if (!gradient) {
    ADD_FAILURE() << message;
    return {};
  }
  std::vector<Values> values = inputs;
  values.push_back(seed);
  std::vector<Tensor> arguments;
  for (auto [type, elements] :
       llvm::zip_equal(gradient.getArgumentTypes(), values))
    arguments.emplace_back(type).floats = elements;
  std::vector<Values> results;
  for (Tensor &result : evaluate(gradient, arguments))
    results.push_back(result.floats);
  return results;
}

} // namespace tinh::test
