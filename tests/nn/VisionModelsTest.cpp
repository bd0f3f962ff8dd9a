//===- VisionModelsTest.cpp - torchvision's networks ------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// vision.json has names and shapes of torchvision's state dicts, and what its
// networks compute with weights that both sides make, by record_vision.py.
//
//===----------------------------------------------------------------------===//
#include "RecordedWeights.h"
#include "examples/nn/vision_models.h"
#include "tests/eager/tensor/RecordedTensors.h"
#include "tinh/autograd.h"

#include <fstream>

using namespace tinh;
using namespace tinh::test;
// The records keep the order of the names.
using json = nlohmann::ordered_json;

static const json &recordOf(const std::string &name) {
  static const json all = json::parse(std::ifstream(TINH_VISION));
  for (const json &record : all)
    if (record["name"] == name)
      return record;
  throw std::runtime_error("no record of " + name);
}

static void expectLogits(nn::Handle<nn::Module> network, const json &record) {
  StateDict state;
  for (const auto &[name, sizes] : record["state"].items()) {
    Shape shape(sizes.get<std::vector<int64_t>>());
    state.push_back({name, weightsOf(name, shape, int64_t(state.size()))});
  }
  network->load_state_dict(state);
  std::vector<std::string> names;
  for (const NamedTensor &entry : network->state_dict())
    names.push_back(entry.name);
  for (size_t i = 0; i < state.size(); ++i)
    EXPECT_EQ(names[i], state[i].name); // In torchvision's order, too.
  EXPECT_EQ(network->num_parameters(), record["parameters"]);

  network->eval();
  NoGrad guard;
  Tensor logits = network(patternOf({2, 3, 64, 64}, 7, 2));
  expectNear(logits.slice(1, None, None, 50), record["logits"], 50);
}

TEST(VisionModels, AlexNetIsTorchvisions) {
  expectLogits(nn::make<vision::AlexNet>(), recordOf("alexnet"));
}
TEST(VisionModels, Vgg16IsTorchvisions) {
  expectLogits(nn::make<vision::Vgg16>(), recordOf("vgg16"));
}
TEST(VisionModels, ResNet18IsTorchvisions) {
  expectLogits(vision::resnet18(), recordOf("resnet18"));
}
TEST(VisionModels, ResNet101IsTorchvisions) {
  expectLogits(vision::resnet101(), recordOf("resnet101"));
}
