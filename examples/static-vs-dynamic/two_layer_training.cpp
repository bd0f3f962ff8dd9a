//===- two_layer_training.cpp - One network, trained in six ways ----------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   two_layer_training [--small]
//
// A network of two layers (64 × 1000 → 100, ReLU → 10, sum of squared errors)
// makes 500 steps of gradient descent: with gradients written by hand, with the
// tape, with modules and an optimizer, as a graph that a session runs, as a
// function that is traced, and as an artifact. The losses are the same; what
// the steps cost, and what has to be paid before the first one, is not.
//
//===----------------------------------------------------------------------===//
#include "experiment.h"
#include "tinh/autograd.h"
#include "tinh/compiler.h"
#include "tinh/engine.h"
#include "tinh/function.h"
#include "tinh/losses.h"
#include "tinh/nn.h"
#include "tinh/optim.h"
#include "tinh/random.h"
#include "tinh/runtime.hpp"
#include "tinh/session.h"

#include <filesystem>
#include <functional>
#include <unistd.h>

using tinh::Tensor;

static constexpr double kRate = 1e-6;

namespace {

struct Problem {
  Tensor x, y, w1, w2;

  static Problem make(int64_t scale) {
    tinh::Generator generator(1);
    return {tinh::normal({64, 1000 / scale}, generator),
            tinh::normal({64, 10}, generator),
            tinh::normal({1000 / scale, 100 / scale}, generator),
            tinh::normal({100 / scale, 10}, generator)};
  }
  Problem clone() const {
    return {x.clone(), y.clone(), w1.clone(), w2.clone()};
  }
};

Tensor lossOf(const Tensor &x, const Tensor &y, const Tensor &w1,
              const Tensor &w2) {
  Tensor prediction = matmul(relu(matmul(x, w1)), w2);
  return tinh::mse_loss(prediction, y, tinh::Reduction::Sum);
}

struct Outcome {
  double before; ///< ms until the steps can begin.
  double step;   ///< ms, the median.
  double loss;   ///< Of the last step.
};

/// Runs steps, each of which gives its loss.
Outcome measure(double before, int steps, const std::function<Tensor()> &step) {
  std::vector<double> times;
  Tensor loss;
  for (int i = 0; i < steps; ++i) {
    Stopwatch watch;
    loss = step();
    loss.wait_to_read();
    times.push_back(watch.ms());
  }
  return {before, median(times), loss.item<double>()};
}

//===----------------------------------------------------------------------===//
// The ways
//===----------------------------------------------------------------------===//

Outcome byHand(Problem p, int steps) {
  return measure(0, steps, [&] {
    Tensor hidden = matmul(p.x, p.w1);
    Tensor active = relu(hidden);
    Tensor error = matmul(active, p.w2) - p.y;
    Tensor gradient = 2 * error;
    Tensor gradient2 = matmul(active.t(), gradient);
    Tensor gradientActive = matmul(gradient, p.w2.t());
    Tensor gradientHidden = where(hidden > 0, gradientActive, 0);
    p.w1.addmul_(matmul(p.x.t(), gradientHidden), -kRate);
    p.w2.addmul_(gradient2, -kRate);
    return (error * error).sum();
  });
}

Outcome withTape(Problem p, int steps) {
  requires_grad_(p.w1);
  requires_grad_(p.w2);
  return measure(0, steps, [&] {
    Tensor loss = lossOf(p.x, p.y, p.w1, p.w2);
    backward(loss);
    tinh::NoGrad guard;
    p.w1.addmul_(grad_of(p.w1), -kRate);
    p.w2.addmul_(grad_of(p.w2), -kRate);
    tinh::zero_grad(p.w1);
    tinh::zero_grad(p.w2);
    return loss;
  });
}

Outcome withModules(Problem p, int steps) {
  namespace nn = tinh::nn;
  auto first = nn::make<nn::Linear>(p.w1.size(0), p.w1.size(1), false);
  auto second = nn::make<nn::Linear>(p.w2.size(0), p.w2.size(1), false);
  auto network = nn::make<nn::Sequential>(first, nn::make<nn::ReLU>(), second);
  network->load_state_dict({{"0.weight", p.w1.t()}, {"2.weight", p.w2.t()}});
  tinh::optim::Optimizer optimizer(network->parameters(),
                                   tinh::optim::sgd({.lr = kRate}));
  return measure(0, steps, [&] {
    Tensor loss = tinh::mse_loss(network(p.x), p.y, tinh::Reduction::Sum);
    optimizer.zero_grad();
    backward(loss);
    optimizer.step();
    return loss;
  });
}

Outcome inSession(Problem p, int steps) {
  Stopwatch watch;
  tinh::Graph graph;
  Tensor x, y, loss, update1, update2;
  {
    tinh::Graph::Scope scope(graph);
    x = graph.placeholder("x", p.x.shape());
    y = graph.placeholder("y", p.y.shape());
    Tensor w1 = graph.variable("w1", p.w1), w2 = graph.variable("w2", p.w2);
    loss = lossOf(x, y, w1, w2);
    std::vector<Tensor> gradients = tinh::grad(loss, {w1, w2});
    update1 = graph.assign(w1, w1 - kRate * gradients[0]);
    update2 = graph.assign(w2, w2 - kRate * gradients[1]);
  }
  tinh::Session session(graph);
  auto step = [&] {
    return session.run({loss, update1, update2}, {{x, p.x}, {y, p.y}})[0];
  };
  step().wait_to_read();
  double first = watch.ms();
  return measure(first, steps - 1, step);
}

/// A training step as a function of the batch, which changes the parameters.
auto makeStep(const Problem &p) {
  return tinh::function("step", [p](Tensor x, Tensor y) {
    Tensor loss = lossOf(x, y, p.w1, p.w2);
    std::vector<Tensor> gradients = tinh::grad(loss, {p.w1, p.w2});
    tinh::NoGrad guard;
    p.w1.addmul_(gradients[0], -kRate);
    p.w2.addmul_(gradients[1], -kRate);
    return loss;
  });
}

Outcome traced(Problem p, int steps) {
  requires_grad_(p.w1);
  requires_grad_(p.w2);
  Stopwatch watch;
  auto step = makeStep(p);
  step(p.x, p.y).wait_to_read();
  double first = watch.ms();
  return measure(first, steps - 1, [&] { return step(p.x, p.y); });
}

/// A model file, compiled into an artifact that trains: from here on, the
/// runtime is all that is needed.
Outcome aheadOfTime(Problem p, int steps) {
  Stopwatch watch;
  std::string model = std::filesystem::temp_directory_path() /
                      ("two_layer-" + std::to_string(::getpid()) + ".onnx");
  tinh::function([&](Tensor x) {
    return matmul(relu(matmul(x, p.w1)), p.w2);
  }).save(model, p.x);
  tinh::CompileRequest request;
  request.model = model;
  request.output = model + ".so";
  request.training = {
      "mse,reduction=sum", "sgd,lr=" + std::to_string(kRate), {}};
  tinh::CompileResult result = tinh::compileModel(request);
  for (const std::string &message : result.messages)
    std::fprintf(stderr, "%s\n", message.c_str());
  tinh::Module module(request.output);
  tinh::Context context(module);
  for (const std::string &file : {model, model + ".data", request.output})
    std::filesystem::remove(file);
  double before = watch.ms();

  std::vector<float> x = p.x.to_vector<float>(), y = p.y.to_vector<float>();
  auto buffer = [](std::vector<float> &data) {
    return tinh_buffer_t{data.data(), data.size() * sizeof(float)};
  };
  uint32_t step = module.find_function("train_step");
  std::vector<float> loss(1);
  return measure(before, steps, [&] {
    context.run({buffer(x), buffer(y)}, {buffer(loss)}, step);
    return tinh::from_data(loss);
  });
}

} // namespace

int main(int argc, char **argv) {
  bool small = hasOption(argc, argv, "--small");
  int steps = small ? 20 : 500;
  Problem problem = Problem::make(small ? 10 : 1);

  std::printf("%d steps of a network of two layers\n", steps);
  Table table(
      {"", "before, ms", "a step, ms", "log10(last loss)", "worth it after"});
  double eager = 0;
  auto report = [&](const char *name, Outcome (*run)(Problem, int)) {
    run(problem.clone(), 3); // Kernels are compiled, or found in the cache.
    Outcome outcome = run(problem.clone(), steps);
    if (eager == 0)
      eager = outcome.step;
    double gain = eager - outcome.step;
    double steps = gain > 0 ? std::ceil(outcome.before / gain) : NAN;
    table.row(name, {outcome.before, outcome.step, std::log10(outcome.loss),
                     outcome.before > 0 ? steps : NAN});
  };
  report("by hand on tensors", byHand);
  report("with the tape", withTape);
  report("with modules and an optimizer", withModules);
  report("a graph in a session", inSession);
  report("a traced function", traced);
  report("an artifact", aheadOfTime);
}
