//===- naive_timing.cpp - How not to time a static graph --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   naive_timing [--small]
//
// A network with a hidden layer (64 × 1000 → 100, ReLU → 1000, squared error)
// is called ten times, eagerly and as a function that is compiled. Timed in one
// go, the static graph looks slower, for these ten calls pay for tracing and
// compiling it. Told apart, the costs say after how many calls it is worth its
// price; and saved as an artifact, it is paid for once: another process loads
// it and runs it without the code that built it.
//
//===----------------------------------------------------------------------===//
#include "experiment.h"
#include "tinh/engine.h"
#include "tinh/function.h"
#include "tinh/losses.h"
#include "tinh/runtime.hpp"

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <unistd.h>

using tinh::Tensor;

static constexpr int kCalls = 10;

/// The other process: it knows the artifact's path and no tensor library.
static int runArtifact(const char *path) {
  Stopwatch watch;
  tinh::Module module(path);
  tinh::Context context(module);
  std::vector<std::vector<char>> memory;
  std::vector<tinh_buffer_t> inputs, outputs;
  for (const tinh_tensor_info_t &input : module.inputs())
    memory.emplace_back(input.size);
  for (const tinh_tensor_info_t &output : module.outputs())
    memory.emplace_back(output.size);
  for (std::vector<char> &bytes : memory)
    (inputs.size() < module.inputs().size() ? inputs : outputs)
        .push_back({bytes.data(), bytes.size()});
  context.run(inputs, outputs);
  std::printf("%-38s%18.3f\n", "another process: load and first call",
              watch.ms());
  return 0;
}

int main(int argc, char **argv) {
  if (argc == 3 && std::strcmp(argv[1], "--artifact") == 0)
    return runArtifact(argv[2]);
  int64_t scale = hasOption(argc, argv, "--small") ? 10 : 1;
  tinh::Generator generator(1);
  Tensor x = tinh::normal({64, 1000 / scale}, generator);
  Tensor target = tinh::normal({64, 1000 / scale}, generator);
  Tensor w1 = tinh::normal({1000 / scale, 100}, generator, 0, 0.05);
  Tensor w2 = tinh::normal({100, 1000 / scale}, generator, 0, 0.05);
  auto network = [&](Tensor x) {
    return mse_loss(matmul(relu(matmul(x, w1)), w2), target);
  };
  auto compiled = tinh::function("network", network);

  network(x).wait_to_read(); // Its kernels are compiled, as a library's are.
  Stopwatch eagerWatch;
  for (int i = 0; i < kCalls; ++i)
    network(x).wait_to_read();
  double eagerTen = eagerWatch.ms();
  Stopwatch staticWatch;
  compiled(x).wait_to_read();
  double first = staticWatch.ms();
  for (int i = 1; i < kCalls; ++i)
    compiled(x).wait_to_read();
  double staticTen = staticWatch.ms();

  auto steady = [](auto call) {
    return medianOf(200, [&] {
      Stopwatch watch;
      call().wait_to_read();
      return watch.ms();
    });
  };
  double eager = steady([&] { return network(x); });
  double fast = steady([&] { return compiled(x); });
  tinh::FunctionStatistics costs = compiled.statistics();
  double price = costs.trace_ms + costs.compile_ms;

  std::printf("The naive timing, ms\n");
  Table naive({"", "ten calls"});
  naive.row("eager", {eagerTen});
  naive.row("static graph", {staticTen});
  std::printf("\nWhat it is made of, ms\n");
  Table table({"", "eager", "static graph"});
  table.row("tracing", {0, costs.trace_ms});
  table.row("compiling", {0, costs.compile_ms});
  table.row("first call, without these", {eager, first - price});
  table.row("later calls", {eager, fast});
  if (eager > fast)
    std::printf("worth it after %.0f calls\n", price / (eager - fast));
  else
    std::printf("not worth it at this size\n");

  auto path = std::filesystem::temp_directory_path() /
              ("network-" + std::to_string(::getpid()) + ".so");
  compiled.save(path.string(), x);
  std::fflush(stdout);
  std::string command = std::string(argv[0]) + " --artifact " + path.string();
  int status = std::system(command.c_str());
  std::filesystem::remove(path);
  return status;
}
