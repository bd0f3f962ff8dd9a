//===- cpu_and_gpu.cpp - The same work on the CPU and on a GPU --*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Products of matrices of several sizes, and a convolutional network on 16
// images, forward and backward, as operations on tensors and as one graph: how
// long they take on the CPU and on a GPU. Without a GPU, the CPU's part alone.
//
//   cpu_and_gpu [--small] [--csv=FILE]
//
//===----------------------------------------------------------------------===//
#include "../static-vs-dynamic/cnn_network.h"
#include "../static-vs-dynamic/experiment.h"
#include "tinh/autograd.h"
#include "tinh/engine.h"
#include "tinh/function.h"
#include "tinh/losses.h"
#include "tinh/random.h"

#include <fstream>

using tinh::Device;
using tinh::Tensor;

namespace {

/// A line of the chart: milliseconds by device, NaN where there is none.
struct Line {
  std::string name;
  std::vector<double> ms;
};

/// Milliseconds of one of `count` that are queued one after the other, which is
/// how a GPU is kept busy.
template <typename Work> double timeOf(int count, Work work) {
  return medianOf(3, [&] {
    Stopwatch watch;
    Tensor last;
    for (int i = 0; i < count; ++i)
      last = work();
    last.wait_to_read();
    return watch.ms() / count;
  });
}

double product(Device device, int64_t size) {
  tinh::Generator generator(1);
  Tensor a = tinh::normal({size, size}, generator).to(device);
  Tensor b = tinh::normal({size, size}, generator).to(device);
  int count = static_cast<int>(std::max<int64_t>(1, 4096 / size));
  return timeOf(count, [&] { return tinh::matmul(a, b); });
}

/// Forward and backward, operation by operation and as one graph.
std::pair<double, double> network(Device device, int64_t extent) {
  tinh::Generator generator(1);
  Tensor x = tinh::normal({16, 3, extent, extent}, generator);
  Tensor y = tinh::randint(0, 10, {16}, generator).to(device);
  auto cnn = makeNetwork();
  cnn->initialize(generator);
  cnn->summary(x); // Finds the sizes.
  cnn->to(device);
  x = x.to(device);
  std::vector<Tensor> parameters = cnn->parameters();
  auto step = [&](Tensor x, Tensor y) {
    // Labels are right: there is nothing to check on the CPU.
    Tensor picked =
        tinh::gather(tinh::log_softmax(cnn(x), 1), 1, y.unsqueeze(1));
    Tensor loss = tinh::mean(-picked);
    std::vector<Tensor> results = tinh::grad(std::vector{loss}, parameters);
    results.push_back(tinh::detach(loss));
    return results;
  };
  auto graph = tinh::function("cnn", step);
  double eager = timeOf(2, [&] { return step(x, y).back(); });
  return {eager, timeOf(2, [&] { return graph(x, y).back(); })};
}

void writeCsv(const std::string &path, const std::vector<Line> &lines) {
  std::ofstream file(path);
  file << "work,cpu_ms,gpu_ms\n";
  for (const Line &line : lines) {
    file << line.name;
    for (double ms : line.ms)
      std::isnan(ms) ? file << "," : file << "," << ms;
    file << "\n";
  }
}

/// Why there is no GPU; empty if there is one.
std::string whyNoGpu() {
  try {
    tinh::DeviceScope scope(Device::cuda());
    return "";
  } catch (const tinh::Error &error) {
    return error.what();
  }
}

} // namespace

int main(int argc, char **argv) {
  bool small = hasOption(argc, argv, "--small");
  std::string missing = whyNoGpu();
  std::vector<Device> devices = {Device::cpu()};
  if (missing.empty())
    devices.push_back(Device::cuda());

  std::vector<Line> lines;
  std::vector<int64_t> sizes = {64, 128, 256, 512, 1024, 2048};
  for (int64_t size : small ? std::vector<int64_t>{16, 32} : sizes) {
    Line &line = lines.emplace_back();
    line.name =
        "matmul of " + std::to_string(size) + " x " + std::to_string(size);
    for (Device device : devices)
      line.ms.push_back(product(device, size));
  }
  Line eager{"CNN, operation by operation", {}}, graph{"CNN, one graph", {}};
  for (Device device : devices) {
    auto [operations, whole] = network(device, small ? 8 : 64);
    eager.ms.push_back(operations);
    graph.ms.push_back(whole);
  }
  lines.insert(lines.end(), {eager, graph});

  Table table({"ms", "CPU",
               missing.empty() ? tinh::cuda_device_info(0).name : "GPU",
               "CPU / GPU"});
  for (Line &line : lines) {
    line.ms.resize(2, NAN);
    table.row(line.name, {line.ms[0], line.ms[1], line.ms[0] / line.ms[1]});
  }
  if (!missing.empty())
    std::printf("no GPU: %s\n", missing.c_str());
  for (int i = 1; i < argc; ++i)
    if (std::string argument = argv[i]; argument.starts_with("--csv="))
      writeCsv(argument.substr(6), lines);
}
