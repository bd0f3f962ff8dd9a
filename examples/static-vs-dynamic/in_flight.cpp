//===- in_flight.cpp - How far the caller may run ahead ---------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   in_flight [--small] [--train] [--long]
//
// The MLP 512 → 2048 → 512 → 1 on 150 batches of 1024, forward and loss, or
// with --train a step of gradient descent, too. The
// caller prepares batches faster than they are computed: with a barrier after
// each it wastes that time, without any it fills the memory with batches that
// wait. Two in flight (batch t has ended before t + 2 starts) is enough for the
// time and little for the memory, and the engine's own bound on what is queued
// keeps a caller who takes no care from running away. --long: 10,000 batches
// with that bound.
//
//===----------------------------------------------------------------------===//
#include "experiment.h"
#include "tinh/autograd.h"
#include "tinh/engine.h"
#include "tinh/losses.h"
#include "tinh/tensor.h"

#include <functional>

using tinh::Tensor;

namespace {

struct Mlp {
  Mlp(tinh::Generator &generator, bool isTrained) {
    const int64_t sizes[] = {512, 2048, 512, 1};
    for (int i = 0; i < 3; ++i) {
      weights.push_back(
          tinh::normal({sizes[i + 1], sizes[i]}, generator, 0, 0.03));
      biases.push_back(tinh::zeros(sizes[i + 1]));
      requires_grad_(weights.back(), isTrained);
      requires_grad_(biases.back(), isTrained);
    }
  }
  Tensor operator()(Tensor x) const {
    for (size_t i = 0; i < weights.size(); ++i) {
      x = linear(x, weights[i], biases[i]);
      if (i + 1 < weights.size())
        x = relu(x);
    }
    return x;
  }

  /// Goes down the gradient, and forgets it.
  void descend(double rate) const {
    tinh::NoGrad guard;
    for (const std::vector<Tensor> *parameters : {&weights, &biases})
      for (const Tensor &parameter : *parameters) {
        parameter.addmul_(grad_of(parameter), -rate);
        tinh::zero_grad(parameter);
      }
  }

  std::vector<Tensor> weights, biases;
};

/// What a loader would give: a new batch, copied from the host.
class Loader {
public:
  explicit Loader(int64_t batch) : batch(batch), pixels(batch * 512, 0.5f) {}
  Tensor next() {
    pixels[count++ % pixels.size()] += 1;
    return tinh::from_data(pixels, tinh::Shape{batch, 512});
  }

  const int64_t batch;

private:
  std::vector<float> pixels;
  size_t count = 0;
};

struct Outcome {
  double ms, peakMiB;
};

} // namespace

/// Runs the batches; `before` is called with the losses so far before the next
/// batch is prepared.
static Outcome
run(const Mlp &mlp, int64_t batch, int batches,
    const std::function<void(const std::vector<Tensor> &)> &before) {
  Loader loader(batch);
  Tensor target = tinh::zeros({batch, 1});
  tinh::wait_all();
  tinh::reset_peak_memory();
  uint64_t start = tinh::memory_statistics().in_use;
  std::vector<Tensor> losses;
  Stopwatch watch;
  for (int i = 0; i < batches; ++i) {
    before(losses);
    Tensor loss = mse_loss(mlp(loader.next()), target);
    if (requires_grad(loss)) {
      backward(loss);
      mlp.descend(1e-3);
    }
    losses.push_back(detach(loss));
  }
  tinh::wait_all();
  double ms = watch.ms();
  return {ms, (tinh::memory_statistics().peak - start) / 1048576.0};
}

int main(int argc, char **argv) {
  bool small = hasOption(argc, argv, "--small");
  int64_t batch = small ? 64 : 1024;
  int batches = small ? 12 : 150;
  tinh::Generator generator(1);
  Mlp mlp(generator, hasOption(argc, argv, "--train"));

  auto nothing = [](const std::vector<Tensor> &) {};
  auto barrier = [](const std::vector<Tensor> &) { tinh::wait_all(); };
  auto two = [](const std::vector<Tensor> &losses) {
    if (losses.size() >= 2)
      losses[losses.size() - 2].wait_to_read();
  };
  tinh::EngineOptions bounded, unbounded;
  unbounded.max_queued_operations = 0;
  unbounded.max_queued_bytes = 0;

  std::printf("%d batches of %lld through an MLP\n", batches,
              static_cast<long long>(batch));
  Table table({"", "ms", "peak MiB"});
  auto report = [&](const char *name, const tinh::EngineOptions &options,
                    int count, const auto &before) {
    tinh::configure(options);
    Outcome outcome = run(mlp, batch, count, before);
    table.row(name, {outcome.ms, outcome.peakMiB}, 1);
  };
  run(mlp, batch, 2, nothing); // Kernels are compiled, memory is touched.
  report("a barrier after each", bounded, batches, barrier);
  report("two in flight", bounded, batches, two);
  report("no barrier", bounded, batches, nothing);
  report("no barrier, no bound on the queue", unbounded, batches, nothing);
  if (hasOption(argc, argv, "--long"))
    report("10,000 batches, no barrier", bounded, 10000, nothing);
}
