//===- vision_models.h - torchvision's networks -----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// AlexNet, VGG-16 and ResNet as torchvision.models has them: the same layers
// under the same names, so that its weights load.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_EXAMPLES_NN_VISION_MODELS_H
#define TINH_EXAMPLES_NN_VISION_MODELS_H

#include <tinh/nn.h>

namespace vision {

namespace nn = tinh::nn;
using tinh::Tensor;

class AlexNet : public nn::Module {
public:
  explicit AlexNet(int64_t classes = 1000);
  std::string type_name() const override { return "AlexNet"; }
  Tensor forward(const Tensor &x) override;

private:
  nn::Handle<nn::Sequential> features = add<nn::Sequential>("features");
  nn::Handle<nn::Sequential> classifier = add<nn::Sequential>("classifier");
};

class Vgg16 : public nn::Module {
public:
  explicit Vgg16(int64_t classes = 1000);
  std::string type_name() const override { return "Vgg16"; }
  Tensor forward(const Tensor &x) override;

private:
  nn::Handle<nn::Sequential> features = add<nn::Sequential>("features");
  nn::Handle<nn::Sequential> classifier = add<nn::Sequential>("classifier");
};

/// With basic blocks (ResNet-18, 34) or bottlenecks (50, 101, 152).
class ResNet : public nn::Module {
public:
  enum class Block { Basic, Bottleneck };
  ResNet(Block block, std::vector<int64_t> depths, int64_t classes = 1000);
  std::string type_name() const override { return "ResNet"; }
  Tensor forward(const Tensor &x) override;

private:
  nn::Handle<nn::Conv2d> conv1;
  nn::Handle<nn::BatchNorm2d> bn1;
  std::vector<nn::Handle<nn::Sequential>> layers;
  nn::Handle<nn::Linear> fc;
};

inline nn::Handle<ResNet> resnet18(int64_t classes = 1000) {
  return nn::make<ResNet>(ResNet::Block::Basic,
                          std::vector<int64_t>{2, 2, 2, 2}, classes);
}
inline nn::Handle<ResNet> resnet101(int64_t classes = 1000) {
  return nn::make<ResNet>(ResNet::Block::Bottleneck,
                          std::vector<int64_t>{3, 4, 23, 3}, classes);
}

} // namespace vision

#endif // TINH_EXAMPLES_NN_VISION_MODELS_H
