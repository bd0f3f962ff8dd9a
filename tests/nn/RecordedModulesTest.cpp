//===- RecordedModulesTest.cpp - Modules against torch.nn -------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// recorded.json has what PyTorch computes with the same parameters, by
// record.py: results, gradients, and running statistics afterwards.
//
//===----------------------------------------------------------------------===//
#include "RecordedModules.h"
#include "tests/eager/tensor/RecordedTensors.h"
#include "tinh/autograd.h"
#include "tinh/function.h"

#include <cmath>
#include <set>

using namespace tinh;
using namespace tinh::test;
using nlohmann::json;

static StateDict stateOf(const json &record) {
  StateDict state;
  for (const auto &[name, value] : record.items())
    state.push_back({name, tensorOf(value)});
  return state;
}

static nn::Handle<nn::Module> moduleOf(const json &record) {
  nn::Handle<nn::Module> module = recordedModules().at(record["name"]).make();
  module->load_state_dict(stateOf(record["state"]));
  module->train(record["train"]);
  return module;
}

static Tensors inputsOf(const json &record) {
  Tensors inputs;
  for (const json &input : record["inputs"])
    inputs.push_back(tensorOf(input));
  return inputs;
}

static void expectAllNear(const Tensors &found, const json &expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i)
    expectNear(found[i], expected[i], 4);
}

/// The sum of all outputs, each element with its own weight.
static Tensor sumOf(const Tensors &outputs) {
  Tensor sum = tensor(0.0f);
  for (const Tensor &output : outputs) {
    Tensor weights = sin(arange(output.numel()).to(float32));
    sum = sum + (output * weights.reshape(output.shape())).sum();
  }
  return sum;
}

template <typename Body> static void forEachRecord(Body body) {
  for (const json &record : recorded()["modules"]) {
    SCOPED_TRACE(record["name"].get<std::string>() +
                 (record["train"] ? ", training" : ""));
    body(record, recordedModules().at(record["name"]));
  }
}

TEST(RecordedModules, GiveWhatPyTorchGives) {
  std::set<std::string> seen;
  forEachRecord([&](const json &record, const RecordedModule &known) {
    seen.insert(record["name"]);
    nn::Handle<nn::Module> module = moduleOf(record);
    NoGrad guard;
    expectAllNear(known.call(*module, inputsOf(record)), record["outputs"]);
    // The same names as PyTorch's, and running statistics.
    const json &after =
        record.contains("after") ? record["after"] : record["state"];
    for (const NamedTensor &entry : module->state_dict())
      expectNear(entry.tensor, after.at(entry.name), 4);
  });
  for (const auto &[name, module] : recordedModules())
    EXPECT_TRUE(seen.contains(name)) << "no record of " << name;
}

TEST(RecordedModules, HavePyTorchsGradients) {
  forEachRecord([&](const json &record, const RecordedModule &known) {
    nn::Handle<nn::Module> module = moduleOf(record);
    Tensors inputs = inputsOf(record);
    if (record.contains("input_gradient"))
      requires_grad_(inputs[0]);
    backward(sumOf(known.call(*module, inputs)));
    for (const NamedTensor &entry : module->named_parameters()) {
      SCOPED_TRACE(entry.name);
      // Some are sums that cancel.
      expectNear(grad_of(entry.tensor), record["gradients"].at(entry.name), 50);
    }
    if (record.contains("input_gradient"))
      expectNear(grad_of(inputs[0]), record["input_gradient"], 50);
  });
}

TEST(RecordedModules, GiveTheSameTraced) {
  forEachRecord([&](const json &record, const RecordedModule &known) {
    nn::Handle<nn::Module> module = moduleOf(record);
    NoGrad guard;
    auto traced = function(
        [&](const Tensors &inputs) { return known.call(*module, inputs); });
    expectAllNear(traced(inputsOf(record)), record["outputs"]);
    if (record.contains("after"))
      for (const NamedTensor &entry : module->state_dict())
        expectNear(entry.tensor, record["after"].at(entry.name), 4);
  });
}
