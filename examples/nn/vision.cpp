//===- vision.cpp - Classifies with torchvision's weights -------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   vision alexnet|vgg16|resnet18|resnet101 [WEIGHTS.safetensors]
//
// Loads weights that were written in Python by
//   safetensors.torch.save_file(torchvision.models.vgg16(weights=…).state_dict(),
//                               "vgg16.safetensors")
// or draws some, prints the network, and the five largest logits of an image
// of noise, computed operation by operation and compiled as a whole.
//
//===----------------------------------------------------------------------===//
#include "vision_models.h"

#include <iostream>
#include <map>
#include <tinh/autograd.h>
#include <tinh/function.h>

namespace nn = tinh::nn;
using tinh::Tensor;

static void printLargest(const char *how, const Tensor &logits) {
  tinh::ValuesAndIndices best = tinh::topk(logits[0], 5);
  std::cout << how << ": " << best.indices << ' ' << best.values << '\n';
}

int main(int argc, char **argv) try {
  using Maker = nn::Handle<nn::Module> (*)();
  const std::map<std::string, Maker> networks = {
      {"alexnet",
       [] { return nn::Handle<nn::Module>(nn::make<vision::AlexNet>()); }},
      {"vgg16",
       [] { return nn::Handle<nn::Module>(nn::make<vision::Vgg16>()); }},
      {"resnet18", [] { return nn::Handle<nn::Module>(vision::resnet18()); }},
      {"resnet101", [] { return nn::Handle<nn::Module>(vision::resnet101()); }},
  };
  if (argc < 2 || argc > 3 || !networks.contains(argv[1])) {
    std::cerr << "usage: vision alexnet|vgg16|resnet18|resnet101 "
                 "[WEIGHTS.safetensors]\n";
    return 2;
  }
  nn::Handle<nn::Module> network = networks.at(argv[1])();
  tinh::Generator generator(1);
  if (argc == 3)
    network->load(argv[2]);
  else
    network->initialize(generator);
  network->eval();

  tinh::NoGrad guard;
  Tensor image = tinh::normal({1, 3, 224, 224}, generator);
  std::cout << network->summary(image);
  printLargest("eager   ", network(image));
  auto compiled = tinh::function(argv[1], [&](Tensor x) { return network(x); });
  printLargest("compiled", compiled(image));
} catch (const tinh::Error &error) {
  std::cerr << "vision: " << error.what() << '\n';
  return 1;
}
