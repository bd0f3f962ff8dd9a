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
#include "examples/nn/vision_models.h"
#include "tests/eager/tensor/RecordedTensors.h"
#include "tinh/autograd.h"

#include <cmath>
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

/// From -0.5 to 0.5.
static double patternAt(int64_t place, int64_t salt) {
  return double((place * 37 + salt) % 1009) / 1009 - 0.5;
}

/// What record_vision.py fills a tensor of that name and place with.
static Tensor filled(const std::string &name, const Shape &shape,
                     int64_t index) {
  if (name.ends_with("num_batches_tracked"))
    return zeros(shape, int64);
  double factor = 0.2, offset = name.ends_with("weight") ? 1 : 0;
  if (shape.size() > 1) {
    factor = 2 * std::sqrt(3 / (double(shape.numel()) / double(shape[0])));
    offset = 0;
  } else if (name.ends_with("running_var")) {
    factor = 1, offset = 1;
  }
  std::vector<float> values(size_t(shape.numel()));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = float(factor * patternAt(int64_t(i), 101 * index) + offset);
  return from_data(values, shape);
}

static void expectLogits(nn::Handle<nn::Module> network, const json &record) {
  StateDict state;
  for (const auto &[name, sizes] : record["state"].items()) {
    Shape shape(sizes.get<std::vector<int64_t>>());
    state.push_back({name, filled(name, shape, int64_t(state.size()))});
  }
  network->load_state_dict(state);
  std::vector<std::string> names;
  for (const NamedTensor &entry : network->state_dict())
    names.push_back(entry.name);
  for (size_t i = 0; i < state.size(); ++i)
    EXPECT_EQ(names[i], state[i].name); // In torchvision's order, too.
  EXPECT_EQ(network->num_parameters(), record["parameters"]);

  network->eval();
  Shape shape = {2, 3, 64, 64};
  std::vector<float> image(size_t(shape.numel()));
  for (size_t i = 0; i < image.size(); ++i)
    image[i] = float(2 * patternAt(int64_t(i), 7));
  NoGrad guard;
  Tensor logits = network(from_data(image, shape));
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
