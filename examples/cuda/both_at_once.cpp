//===- both_at_once.cpp - The CPU and a GPU at the same time ----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A graph of two halves that have nothing to do with each other: products of
// matrices, on the GPU, and convolutions, on the CPU (--place='conv*=cpu'). How
// long each takes alone, and both in one run: without waiting for each other,
// both take no longer than the longer one.
//
//   both_at_once [--small] [--chips=CHIP]
//
//===----------------------------------------------------------------------===//
#include "../static-vs-dynamic/experiment.h"
#include "tinh/compiler.h"
#include "tinh/function.h"
#include "tinh/random.h"

#include <filesystem>
#include <unistd.h>

using tinh::Tensor;

namespace {

struct Sizes {
  int64_t matrix, image, channels;
  int layers;
};

std::vector<Tensor> products(Tensor x, int layers) {
  for (int i = 0; i < layers; ++i)
    x = tinh::relu(tinh::matmul(x, x)) * 0.01;
  return {x};
}

std::vector<Tensor> convolutions(Tensor x, Tensor weights, int layers) {
  for (int i = 0; i < layers; ++i)
    x = tinh::relu(tinh::conv2d(x, weights, {}, 1, 1)) * 0.1;
  return {x};
}

/// A saved graph as an artifact, loaded.
tinh::Module compile(const std::string &graph, const std::string &chip,
                     const std::string &place) {
  tinh::CompileRequest request;
  request.model = graph;
  request.output = graph + ".so";
  request.target = tinh::Target::Cuda;
  if (!chip.empty())
    request.cuda.chips = {chip};
  if (!place.empty())
    request.cuda.place = {place};
  tinh::CompileResult result = tinh::compileModel(request);
  std::filesystem::remove(graph);
  for (const std::string &message : result.messages)
    std::fprintf(stderr, "%s\n", message.c_str());
  if (!result.succeeded())
    throw tinh::Error(TINH_INVALID_ARGUMENT, "the graph cannot be compiled");
  tinh::Module module(request.output);
  std::filesystem::remove(request.output);
  return module;
}

/// The median time of a run.
double time(const tinh::Module &module) {
  tinh::Context context(module);
  std::vector<std::vector<char>> memory;
  tinh::Context::Buffers inputs, outputs;
  auto add = [&](const auto &tensors, tinh::Context::Buffers &buffers) {
    for (const tinh_tensor_info_t &tensor : tensors) {
      memory.emplace_back(tensor.size);
      buffers.push_back({memory.back().data(), tensor.size});
    }
  };
  add(module.inputs(0), inputs);
  add(module.outputs(0), outputs);
  return medianOf(9, [&] {
    Stopwatch watch;
    context.run(inputs, outputs);
    return watch.ms();
  });
}

int run(int argc, char **argv) {
  Sizes sizes = hasOption(argc, argv, "--small") ? Sizes{32, 8, 4, 2}
                                                 : Sizes{2048, 64, 64, 8};
  std::string chip;
  for (int i = 1; i < argc; ++i)
    if (std::string argument = argv[i]; argument.starts_with("--chips="))
      chip = argument.substr(8);
  tinh::cuda_device_info(0); // Says so if there is none.

  std::string stem = std::filesystem::temp_directory_path() /
                     ("both-" + std::to_string(::getpid()) + "-");
  Tensor matrix = tinh::zeros({sizes.matrix, sizes.matrix});
  Tensor image = tinh::zeros({1, sizes.channels, sizes.image, sizes.image});
  Tensor weights = tinh::zeros({sizes.channels, sizes.channels, 3, 3});
  auto onGpu = tinh::function(
      "products", [&](Tensor m) { return products(m, sizes.layers); });
  auto onCpu = tinh::function("convolutions", [&](Tensor x, Tensor w) {
    return convolutions(x, w, sizes.layers);
  });
  auto both = tinh::function("both", [&](Tensor m, Tensor x, Tensor w) {
    std::vector<Tensor> results = products(m, sizes.layers);
    results.push_back(convolutions(x, w, sizes.layers)[0]);
    return results;
  });
  onGpu.save(stem + "gpu.mlir", matrix);
  onCpu.save(stem + "cpu.mlir", image, weights);
  both.save(stem + "all.mlir", matrix, image, weights);
  double gpu = time(compile(stem + "gpu.mlir", chip, ""));
  double cpu = time(compile(stem + "cpu.mlir", chip, "conv*=cpu"));
  double all = time(compile(stem + "all.mlir", chip, "conv*=cpu"));
  std::printf("on %s and the CPU\n", tinh::cuda_device_info(0).name);
  Table table({"", "ms"});
  table.row("matmuls alone, on the GPU", {gpu});
  table.row("convolutions alone, on the CPU", {cpu});
  table.row("one after the other", {gpu + cpu});
  table.row("both in one run", {all});
  table.row("of the shorter half overlapped, %",
            {100 * (gpu + cpu - all) / std::min(gpu, cpu)}, 0);
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  try {
    return run(argc, argv);
  } catch (const tinh::Error &error) {
    if (error.status() == TINH_NO_DEVICE) {
      std::printf("no GPU: %s\n", error.what());
      return 0;
    }
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
