//===- Program.cpp - Programs over tensors, made from seeds -----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Program.h"

#include "Steps.h"

namespace tinh::test {

/// Tensors beyond this many elements are not gone on with.
static constexpr int64_t kMostElements = 5000;

static void perform(const Step &step, std::vector<Tensor> &tensors) {
  std::vector<Tensor> operands;
  for (size_t operand : step.operands)
    operands.push_back(tensors[operand]);
  Tensor result = stepKinds()[step.kind].run(operands, step.numbers);
  if (result.defined())
    tensors.push_back(result);
}

std::vector<Tensor> Program::run(std::span<const Tensor> inputs) const {
  std::vector<Tensor> tensors(inputs.begin(), inputs.end());
  for (const Step &step : steps)
    perform(step, tensors);
  return tensors;
}

std::string Program::describe() const {
  std::string text = "program " + std::to_string(seed) + ":\n";
  for (const Step &step : steps) {
    text += std::string("  ") + stepKinds()[step.kind].name;
    for (size_t operand : step.operands)
      text += " %" + std::to_string(operand);
    for (int64_t number : step.numbers)
      text += " " + std::to_string(number);
    text += "\n";
  }
  return text;
}

std::vector<Tensor> makeInputs(uint64_t seed) {
  Random random(seed);
  Generator generator(seed);
  std::vector<Tensor> inputs;
  int64_t extents[] = {1 + random.below(6), 1 + random.below(20),
                       1 + random.below(40)};
  auto shape = [&](size_t rank) {
    Shape result;
    for (size_t i = 3 - rank; i < 3; ++i)
      result.push_back(random.chance(15) ? 1 : extents[i]);
    return result;
  };
  for (size_t rank = 0; rank <= 3; ++rank)
    for (DType dtype : {float32, float64})
      if (rank < 2 || random.chance(60))
        inputs.push_back(uniform(shape(rank), generator, -2, 2, dtype));
  // A square one, for products.
  inputs.push_back(uniform({extents[2], extents[2]}, generator, -1, 1));
  inputs.push_back(randint(-5, 5, shape(2), generator));
  inputs.push_back(randint(0, 7, shape(1), generator, int32));
  inputs.push_back(randint(0, 100, extents[1], generator));
  return inputs;
}

Program makeProgram(uint64_t seed, size_t numSteps) {
  Random random(seed * 2654435761u + 1);
  Program program{seed, {}, 0};
  std::vector<Tensor> tensors = makeInputs(seed);
  program.numInputs = tensors.size();
  auto kinds = stepKinds();
  for (size_t tries = 0;
       program.steps.size() < numSteps && tries < 20 * numSteps; ++tries) {
    auto kind =
        static_cast<size_t>(random.below(static_cast<int64_t>(kinds.size())));
    Chooser chooser(random, tensors);
    auto step = kinds[kind].choose(chooser);
    if (!step)
      continue;
    step->kind = kind;
    size_t before = tensors.size();
    perform(*step, tensors);
    if (tensors.size() > before && tensors.back().numel() > kMostElements)
      tensors.pop_back();
    else
      program.steps.push_back(*step);
  }
  return program;
}

} // namespace tinh::test
