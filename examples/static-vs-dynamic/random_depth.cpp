//===- random_depth.cpp - A network whose depth is drawn in each step *- C++
//-*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   random_depth [--small]
//
// Dynamic: C++ draws a depth and runs as many layers; nothing is special about
// it. Static: a function that is traced takes C++'s loops as they are, so each
// depth is another graph; with scan over the layers and cond in each, the depth
// is a tensor and one graph serves all.
//
//===----------------------------------------------------------------------===//
#include "experiment.h"
#include "tinh/engine.h"
#include "tinh/function.h"

#include <random>

using tinh::Tensor;

int main(int argc, char **argv) {
  bool small = hasOption(argc, argv, "--small");
  const int64_t width = small ? 16 : 256, batch = 32, layers = 8;
  const int steps = small ? 10 : 200;
  tinh::Generator generator(1);
  Tensor weights = tinh::normal({layers, width, width}, generator, 0, 0.1);
  Tensor x = tinh::normal({batch, width}, generator);

  auto unrolled = [&](Tensor h, int depth) {
    for (int i = 0; i < depth; ++i)
      h = relu(matmul(h, weights[i]));
    return h;
  };
  auto traced = tinh::function("unrolled", unrolled);
  auto scanned = tinh::function("scanned", [&](Tensor h, Tensor depth) {
    auto layer = [&](std::span<const Tensor> state,
                     std::span<const Tensor> rows) -> tinh::ScanStep {
      Tensor h = state[0], i = state[1];
      auto next = tinh::cond(
          i < depth, [&] { return std::vector{relu(matmul(h, rows[0]))}; },
          [&] { return std::vector{h}; });
      return {{next[0], i + 1}, {}};
    };
    return tinh::scan(layer, {h, tinh::zeros({}, tinh::int64)}, {weights})
        .state[0];
  });

  std::mt19937 random(1);
  std::vector<int> depths(steps);
  for (int &depth : depths)
    depth = static_cast<int>(random() % layers) + 1;

  double largest = 0;
  auto run = [&](auto step) {
    Stopwatch watch;
    for (int depth : depths)
      step(depth).wait_to_read();
    double first = watch.ms();
    Stopwatch again;
    for (int depth : depths)
      step(depth).wait_to_read();
    return std::vector{first / steps, again.ms() / steps};
  };
  auto depthTensor = [](int depth) {
    return tinh::tensor(static_cast<int64_t>(depth));
  };
  for (int depth : depths) {
    Tensor difference =
        abs(unrolled(x, depth) - scanned(x, depthTensor(depth))).max();
    largest = std::max(largest, difference.item<double>());
  }

  std::printf("%d steps of 1 to %lld layers, ms a step\n", steps,
              static_cast<long long>(layers));
  Table table({"", "first time", "again"});
  table.row("dynamic", run([&](int depth) { return unrolled(x, depth); }));
  table.row("traced, a graph for each depth",
            run([&](int depth) { return traced(x, depth); }));
  table.row("scan and cond, one graph",
            run([&](int depth) { return scanned(x, depthTensor(depth)); }));
  std::printf("graphs: %zu and %zu; largest difference %g\n",
              traced.statistics().traces, scanned.statistics().traces, largest);
  return largest < 1e-3 ? 0 : 1;
}
