//===- tape.cpp - Training steps with modules and the tape ----------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   training-tape TASK FOLDER LOSS OPTIMIZER THREADS STEPS
//
// What benchmarks/compare_training.py runs beside other engines: a worker as
// in benchmarks/workers.py. FOLDER holds weights.safetensors, under PyTorch's
// names, and batch.safetensors with x and target; LOSS and OPTIMIZER are as
// graph-compile's options. Says the losses of its first STEPS steps.
//
//===----------------------------------------------------------------------===//
#include "examples/nn/vision_models.h"

#include "tinh/autograd.h"
#include "tinh/engine.h"
#include "tinh/losses.h"
#include "tinh/nn.h"
#include "tinh/optim.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>

namespace nn = tinh::nn;
using tinh::Tensor;

namespace {

class TwoLayer : public nn::Module {
public:
  TwoLayer() {
    register_parameter("w1", w1, {1000, 100}, nn::init::zeros());
    register_parameter("w2", w2, {100, 10}, nn::init::zeros());
  }
  Tensor forward(const Tensor &x) override {
    return matmul(relu(matmul(x, w1)), w2);
  }

private:
  Tensor w1, w2;
};

class LstmClassifier : public nn::Module {
public:
  Tensor forward(const Tensor &x) override {
    return (*head)((*lstm)(x).select(1, -1));
  }

private:
  nn::Handle<nn::LSTM> lstm = register_module(
      "lstm",
      nn::make<nn::LSTM>(32, 64, nn::RecurrentOptions{.batch_first = true}));
  nn::Handle<nn::Linear> head =
      register_module("head", nn::make<nn::Linear>(64, 10));
};

/// PyTorch's TransformerEncoder has its layers under this name.
class Encoder : public nn::Module {
public:
  Tensor forward(const Tensor &x) override { return (*layers)(x); }

private:
  static nn::Handle<nn::Module> makeLayer() {
    return nn::make<nn::TransformerEncoderLayer>(
        64, 4,
        nn::TransformerOptions{
            .dim_feedforward = 128, .dropout = 0, .batch_first = true});
  }
  nn::Handle<nn::Sequential> layers = register_module(
      "layers", nn::make<nn::Sequential>(makeLayer(), makeLayer()));
};

class Transformer : public nn::Module {
public:
  Tensor forward(const Tensor &x) override {
    return (*head)((*encoder)(x).mean(1));
  }

private:
  nn::Handle<Encoder> encoder = register_module("encoder", nn::make<Encoder>());
  nn::Handle<nn::Linear> head =
      register_module("head", nn::make<nn::Linear>(64, 10));
};

nn::Handle<nn::Module> makeMlp() {
  return nn::make<nn::Sequential>(
      nn::make<nn::Linear>(512, 2048), nn::make<nn::ReLU>(),
      nn::make<nn::Linear>(2048, 512), nn::make<nn::ReLU>(),
      nn::make<nn::Linear>(512, 1));
}

nn::Handle<nn::Module> makeNetwork(const std::string &task) {
  if (task == "two_layer")
    return nn::make<TwoLayer>();
  if (task == "mlp")
    return makeMlp();
  if (task == "lstm")
    return nn::make<LstmClassifier>();
  if (task == "transformer")
    return nn::make<Transformer>();
  if (task.starts_with("resnet18"))
    return vision::resnet18();
  throw std::runtime_error("no network for the task " + task);
}

/// "sgd,lr=0.1" by a function that takes the name and the options.
template <typename Make> auto makeByName(const std::string &text, Make make) {
  size_t comma = std::min(text.find(','), text.size());
  std::string options = text.substr(std::min(comma + 1, text.size()));
  return make(text.substr(0, comma), tinh::parse_options(options));
}

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double medianMs(const std::function<void()> &run, double seconds) {
  std::vector<double> times;
  auto begin = Clock::now();
  do {
    auto start = Clock::now();
    run();
    times.push_back(1e3 * secondsSince(start));
  } while (secondsSince(begin) < seconds);
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

void serve(const std::function<Tensor()> &step, int steps) {
  auto start = Clock::now();
  double first = 0;
  std::cout.precision(9);
  std::cout << "{\"losses\": [";
  for (int i = 0; i < steps; ++i) {
    std::cout << (i ? ", " : "") << step().item<double>();
    if (i == 0)
      first = secondsSince(start);
  }
  std::cout << "], \"first_s\": " << first << '}' << std::endl;
  std::string word;
  for (double seconds; std::cin >> word >> seconds;)
    std::cout << medianMs([&] { step().wait_to_read(); }, seconds) << std::endl;
}

} // namespace

int main(int argc, char **argv) try {
  if (argc != 7) {
    std::cerr << "usage: training-tape TASK FOLDER LOSS OPTIMIZER THREADS "
                 "STEPS\n";
    return 2;
  }
  tinh::EngineOptions engine;
  engine.workers = static_cast<uint32_t>(std::atoi(argv[5]));
  tinh::configure(engine);

  std::string folder = argv[2];
  nn::Handle<nn::Module> network = makeNetwork(argv[1]);
  network->load(folder + "/weights.safetensors", /*strict=*/false);
  tinh::StateDict batch = tinh::load_safetensors(folder + "/batch.safetensors");
  Tensor x = tinh::find(batch, "x")->clone();
  Tensor target = tinh::find(batch, "target")->clone();
  tinh::Loss loss =
      makeByName(argv[3], [](auto... a) { return tinh::losses::make(a...); });
  tinh::optim::Optimizer optimizer(
      network->parameters(),
      makeByName(argv[4], [](auto... a) { return tinh::optim::make(a...); }));

  serve(
      [&] {
        optimizer.zero_grad();
        Tensor value = loss(network(x), target);
        backward(value);
        optimizer.step();
        return value;
      },
      std::atoi(argv[6]));
} catch (const std::exception &error) {
  std::cerr << "training-tape: " << error.what() << '\n';
  return 1;
}
