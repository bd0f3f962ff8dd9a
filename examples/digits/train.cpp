//===- train.cpp - A small network that reads handwritten digits ----------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   train DIGITS.safetensors DIRECTORY [EPOCHS]
//
// Trains a convolutional network on four fifths of the images, tests it on the
// others, and writes to DIRECTORY
//   digits.safetensors      the parameters, under PyTorch's names;
//   digits.onnx             the network for one image, as a model;
//   digits64.onnx           the same for 64 images, to go on training;
//   inverted.safetensors    new data, for examples/c/train_more.c;
//   log.csv, runs/          what happened in each epoch, for TensorBoard, too;
//   checkpoint.safetensors  from which an interrupted training goes on.
//
//===----------------------------------------------------------------------===//
#include "tinh/autograd.h"
#include "tinh/fit.h"
#include "tinh/function.h"
#include "tinh/nn.h"
#include "tinh/random.h"

#include <cstdlib>
#include <filesystem>
#include <iostream>

using tinh::Tensor;
namespace nn = tinh::nn;

static nn::Handle<nn::Sequential> makeNetwork() {
  nn::ConvOptions same{.padding = 1};
  return nn::make<nn::Sequential>(
      nn::make<nn::Conv2d>(1, 32, 3, same), nn::make<nn::ReLU>(),
      nn::make<nn::Conv2d>(32, 64, 3, same), nn::make<nn::ReLU>(),
      nn::make<nn::MaxPool2d>(2), nn::make<nn::Dropout>(0.25),
      nn::make<nn::Flatten>(), nn::make<nn::Linear>(nn::inferred, 128),
      nn::make<nn::ReLU>(), nn::make<nn::Linear>(128, 10));
}

static int run(const std::string &data, const std::string &directory,
               int64_t epochs) {
  std::filesystem::create_directories(directory);
  tinh::StateDict digits = tinh::load_safetensors(data);
  Tensor images = *tinh::find(digits, "images");
  Tensor labels = *tinh::find(digits, "labels");
  Tensor x = images.to(tinh::float32).unsqueeze(1) / 16;
  Tensor y = labels.to(tinh::int64);

  // The order of the file is that of the people who wrote.
  tinh::Generator generator(1);
  Tensor order = tinh::permutation(x.size(0), generator);
  x = tinh::index_select(x, 0, order);
  y = tinh::index_select(y, 0, order);
  int64_t count = x.size(0) * 4 / 5;

  nn::Handle<nn::Sequential> network = makeNetwork();
  network->initialize(generator);
  std::cout << network->summary(x.slice(0, 0, 1)) << '\n';

  tinh::Model model(network);
  tinh::FitOptions options{.epochs = epochs, .batch_size = 64};
  int64_t steps = epochs * ((count + 63) / 64);
  model.compile(tinh::losses::make("cross_entropy"),
                tinh::optim::adam({.lr = 2e-3}), {tinh::metrics::accuracy()},
                {.schedule = tinh::optim::cosine_schedule(steps)});
  options.callbacks = {tinh::csv_log(directory + "/log.csv"),
                       tinh::tensorboard_log(directory + "/runs"),
                       tinh::checkpoint(directory + "/checkpoint.safetensors")};
  model.fit(x.slice(0, 0, count), y.slice(0, 0, count), options);

  tinh::Scores scores =
      model.evaluate(x.slice(0, count), y.slice(0, count), 64);
  for (const auto &[name, value] : scores)
    std::cout << "test " << name << " " << value << '\n';

  network->eval();
  network->save(directory + "/digits.safetensors");
  tinh::FunctionOptions naming{.name = "digits",
                               .captured = network->state_dict()};
  auto classify = tinh::function(
      [&](Tensor image) {
        tinh::NoGrad guard;
        return network(image);
      },
      naming);
  classify.save(directory + "/digits.onnx", x.slice(0, 0, 1));
  classify.save(directory + "/digits64.onnx", x.slice(0, 0, 64));

  // Somebody who writes in white on black.
  tinh::save_safetensors(directory + "/inverted.safetensors",
                         {{"input0", 1 - x}, {"target", y}});
  return 0;
}

int main(int argc, char **argv) {
  if (argc < 3) {
    std::cerr << "usage: train DIGITS.safetensors DIRECTORY [EPOCHS]\n";
    return 2;
  }
  try {
    return run(argv[1], argv[2], argc > 3 ? std::atoll(argv[3]) : 30);
  } catch (const tinh::Error &error) {
    std::cerr << "error: " << error.what() << '\n';
    return 1;
  }
}
