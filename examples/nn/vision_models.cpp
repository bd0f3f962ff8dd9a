//===- vision_models.cpp - torchvision's networks ---------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "vision_models.h"

using namespace vision;

//===----------------------------------------------------------------------===//
// AlexNet
//===----------------------------------------------------------------------===//

AlexNet::AlexNet(int64_t classes) {
  auto convolution = [&](int64_t in, int64_t out, int64_t kernel,
                         int64_t stride, int64_t padding) {
    nn::ConvOptions options{.stride = stride, .padding = padding};
    features->push_back(nn::make<nn::Conv2d>(in, out, kernel, options));
    features->push_back(nn::make<nn::ReLU>());
  };
  auto pool = [&] {
    nn::MaxPoolOptions options{.stride = 2};
    features->push_back(nn::make<nn::MaxPool2d>(3, options));
  };
  convolution(3, 64, 11, 4, 2);
  pool();
  convolution(64, 192, 5, 1, 2);
  pool();
  convolution(192, 384, 3, 1, 1);
  convolution(384, 256, 3, 1, 1);
  convolution(256, 256, 3, 1, 1);
  pool();

  classifier->push_back(nn::make<nn::Dropout>(0.5));
  classifier->push_back(nn::make<nn::Linear>(256 * 6 * 6, 4096));
  classifier->push_back(nn::make<nn::ReLU>());
  classifier->push_back(nn::make<nn::Dropout>(0.5));
  classifier->push_back(nn::make<nn::Linear>(4096, 4096));
  classifier->push_back(nn::make<nn::ReLU>());
  classifier->push_back(nn::make<nn::Linear>(4096, classes));
}

Tensor AlexNet::forward(const Tensor &x) {
  Tensor pooled = tinh::adaptive_avg_pool2d(features(x), {6, 6});
  return classifier(pooled.flatten(1));
}

//===----------------------------------------------------------------------===//
// VGG
//===----------------------------------------------------------------------===//

Vgg16::Vgg16(int64_t classes) {
  int64_t in = 3;
  for (auto [channels, count] :
       {std::pair{64, 2}, {128, 2}, {256, 3}, {512, 3}, {512, 3}}) {
    for (int i = 0; i < count; ++i) {
      nn::ConvOptions options{.padding = 1};
      features->push_back(nn::make<nn::Conv2d>(in, channels, 3, options));
      features->push_back(nn::make<nn::ReLU>());
      in = channels;
    }
    features->push_back(nn::make<nn::MaxPool2d>(2));
  }
  for (auto [from, to] :
       {std::pair<int64_t, int64_t>{512 * 7 * 7, 4096}, {4096, 4096}}) {
    classifier->push_back(nn::make<nn::Linear>(from, to));
    classifier->push_back(nn::make<nn::ReLU>());
    classifier->push_back(nn::make<nn::Dropout>(0.5));
  }
  classifier->push_back(nn::make<nn::Linear>(4096, classes));
}

Tensor Vgg16::forward(const Tensor &x) {
  Tensor pooled = tinh::adaptive_avg_pool2d(features(x), {7, 7});
  return classifier(pooled.flatten(1));
}

//===----------------------------------------------------------------------===//
// ResNet
//===----------------------------------------------------------------------===//

namespace {

using Convolution = nn::Handle<nn::Conv2d>;
using Norm = nn::Handle<nn::BatchNorm2d>;

/// Convolutions with norms and, at the end, what was there before.
class Residual : public nn::Module {
public:
  /// By convolution: kernel and output channels; the stride is at `strided`.
  Residual(int64_t in, const std::vector<std::pair<int64_t, int64_t>> &sizes,
           size_t strided, int64_t stride) {
    int64_t from = in;
    for (size_t i = 0; i < sizes.size(); ++i) {
      auto [kernel, out] = sizes[i];
      nn::ConvOptions options{.stride = i == strided ? stride : 1,
                              .padding = kernel / 2,
                              .bias = false};
      std::string number = std::to_string(i + 1);
      convolutions.push_back(
          add<nn::Conv2d>("conv" + number, from, out, kernel, options));
      norms.push_back(add<nn::BatchNorm2d>("bn" + number, out));
      from = out;
    }
    if (stride == 1 && in == from)
      return;
    nn::ConvOptions options{.stride = stride, .bias = false};
    downsample = add<nn::Sequential>("downsample",
                                     nn::make<nn::Conv2d>(in, from, 1, options),
                                     nn::make<nn::BatchNorm2d>(from));
  }
  std::string type_name() const override { return "Residual"; }

  Tensor forward(const Tensor &x) override {
    Tensor y = x;
    for (size_t i = 0; i < convolutions.size(); ++i) {
      y = norms[i](convolutions[i](y));
      if (i + 1 < convolutions.size())
        y = relu(y);
    }
    return relu(y + (downsample ? downsample(x) : x));
  }

private:
  std::vector<Convolution> convolutions;
  std::vector<Norm> norms;
  nn::Handle<nn::Sequential> downsample;
};

} // namespace

ResNet::ResNet(Block block, std::vector<int64_t> depths, int64_t classes) {
  nn::ConvOptions options{.stride = 2, .padding = 3, .bias = false};
  conv1 = add<nn::Conv2d>("conv1", 3, 64, 7, options);
  bn1 = add<nn::BatchNorm2d>("bn1", 64);
  int64_t in = 64;
  for (size_t i = 0; i < depths.size(); ++i) {
    int64_t width = int64_t(64) << i;
    auto layer = add<nn::Sequential>("layer" + std::to_string(i + 1));
    for (int64_t j = 0; j < depths[i]; ++j) {
      int64_t stride = i > 0 && j == 0 ? 2 : 1;
      using Sizes = std::vector<std::pair<int64_t, int64_t>>;
      if (block == Block::Basic) {
        Sizes sizes = {{3, width}, {3, width}};
        layer->push_back(nn::make<Residual>(in, sizes, 0, stride));
        in = width;
      } else {
        Sizes sizes = {{1, width}, {3, width}, {1, 4 * width}};
        layer->push_back(nn::make<Residual>(in, sizes, 1, stride));
        in = 4 * width;
      }
    }
    layers.push_back(layer);
  }
  fc = add<nn::Linear>("fc", in, classes);
}

Tensor ResNet::forward(const Tensor &x) {
  Tensor y = relu(bn1(conv1(x)));
  y = tinh::max_pool2d(y, 3, 2, 1);
  for (const nn::Handle<nn::Sequential> &layer : layers)
    y = layer(y);
  return fc(tinh::mean(y, {2, 3}));
}
