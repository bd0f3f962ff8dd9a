//===- cnn.cpp - Forward and backward through a small CNN -------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   cnn [--small]
//
// A convolutional network on 16 images computes a loss and its gradients,
// operation by operation with the tape, and as one graph: how long that takes,
// how many kernels run, and how much memory is needed beside parameters,
// gradients and images.
//
//===----------------------------------------------------------------------===//
#include "cnn_network.h"
#include "experiment.h"
#include "tinh/autograd.h"
#include "tinh/compiler.h"
#include "tinh/engine.h"
#include "tinh/function.h"
#include "tinh/losses.h"
#include "tinh/random.h"

#include <filesystem>
#include <sstream>
#include <unistd.h>

using tinh::Tensor;

/// Ops of a graph in MLIR's text that compute something.
static size_t countOps(const std::string &graph) {
  std::istringstream lines(graph);
  size_t count = 0;
  for (std::string line; std::getline(lines, line);)
    count += line.find("= graph.") != line.npos &&
             line.find("= graph.constant") == line.npos &&
             line.find("= graph.reshape") == line.npos &&
             line.find("= graph.broadcast") == line.npos &&
             line.find("= graph.stop_gradient") == line.npos;
  return count;
}

/// Compiles a saved graph and says what became of it.
static tinh::CompileReport compile(const std::string &model) {
  tinh::CompileRequest request;
  request.model = model;
  request.output = model + ".so";
  tinh::CompileResult result = tinh::compileModel(request);
  for (const std::string &message : result.messages)
    std::fprintf(stderr, "%s\n", message.c_str());
  std::filesystem::remove(request.output);
  return result.report;
}

int main(int argc, char **argv) {
  bool small = hasOption(argc, argv, "--small");
  int64_t extent = small ? 8 : 64;
  int repetitions = small ? 3 : 20;
  tinh::Generator generator(1);
  Tensor x = tinh::normal({16, 3, extent, extent}, generator);
  Tensor y = tinh::randint(0, 10, {16}, generator);
  auto network = makeNetwork();
  network->initialize(generator);
  network->summary(x); // Finds the sizes.
  std::vector<Tensor> parameters = network->parameters();

  auto gradients = [&](Tensor x, Tensor y) {
    Tensor loss = tinh::cross_entropy(network(x), y);
    std::vector<Tensor> results = tinh::grad(std::vector{loss}, parameters);
    results.push_back(tinh::detach(loss));
    return results;
  };
  auto compiled = tinh::function("cnn", gradients);
  auto time = [&](const auto &step) {
    return medianOf(repetitions, [&] {
      Stopwatch watch;
      step(x, y);
      tinh::wait_all();
      return watch.ms();
    });
  };
  double eager = time(gradients), first, later;
  tinh::reset_peak_memory();
  uint64_t before = tinh::memory_statistics().in_use;
  gradients(x, y);
  tinh::wait_all();
  uint64_t results = 0;
  for (const Tensor &parameter : parameters)
    results += parameter.nbytes();
  double peak =
      static_cast<double>(tinh::memory_statistics().peak - before - results);
  Stopwatch watch;
  compiled(x, y);
  tinh::wait_all();
  first = watch.ms();
  later = time(compiled);

  std::string model = std::filesystem::temp_directory_path() /
                      ("cnn-" + std::to_string(::getpid()) + ".mlir");
  compiled.save(model, x, y);
  tinh::CompileReport report = compile(model);
  const tinh::FunctionReport &plan = report.functions.front();
  std::filesystem::remove(model);
  constexpr double kMiB = 1048576;
  std::printf("forward and backward, 16 images of 3 x %lld x %lld\n",
              static_cast<long long>(extent), static_cast<long long>(extent));
  Table table({"", "ms", "first call, ms", "kernels", "memory, MiB"});
  table.row("operation by operation",
            {eager, NAN, double(countOps(compiled.graph(x, y))), peak / kMiB},
            2);
  table.row(
      "one graph",
      {later, first, double(plan.dispatches), double(plan.arenaSize) / kMiB},
      2);
  table.row("  without reuse of memory",
            {NAN, NAN, NAN, double(plan.unplannedSize) / kMiB}, 2);
  table.row("  live-set lower bound",
            {NAN, NAN, NAN, double(plan.lowerBoundSize) / kMiB}, 2);
}
