//===- cnn_network.h - The convolutional network of experiments -*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CNN_NETWORK_H
#define CNN_NETWORK_H

#include "tinh/nn.h"

/// Three convolutions with batch norms and pools, and a linear layer.
inline tinh::nn::Handle<tinh::nn::Sequential> makeNetwork() {
  namespace nn = tinh::nn;
  auto network = nn::make<nn::Sequential>();
  nn::ConvOptions same{.padding = 1, .bias = false};
  for (int64_t channels : {32, 64, 128}) {
    network->push_back(nn::make<nn::Conv2d>(nn::inferred, channels, 3, same));
    network->push_back(nn::make<nn::BatchNorm2d>(channels));
    network->push_back(nn::make<nn::ReLU>());
    network->push_back(nn::make<nn::MaxPool2d>(2));
  }
  network->push_back(nn::make<nn::Flatten>());
  network->push_back(nn::make<nn::Linear>(nn::inferred, 10));
  return network;
}

#endif // CNN_NETWORK_H
