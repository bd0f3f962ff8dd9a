//===- save_functions.cpp - Functions as ONNX models for another engine ---===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   save_functions FOLDER
//
// Writes traced functions as NAME.onnx, and beside them what they are given and
// give, f32: NAME.in and NAME.out. saved_functions_test.py runs them with ONNX
// Runtime.
//
//===----------------------------------------------------------------------===//
#include "tinh/function.h"

#include <fstream>

using namespace tinh;

static void write(const std::string &path, const Tensor &tensor) {
  std::vector<float> values = tensor.to_vector<float>();
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char *>(values.data()),
             static_cast<std::streamsize>(values.size() * sizeof(float)));
}

template <typename F>
static void save(const std::string &path, F f, const Tensor &x) {
  auto traced = function(f);
  traced.save(path + ".onnx", x);
  write(path + ".in", x);
  write(path + ".out", traced(x));
}

int main(int argc, char **argv) {
  if (argc != 2)
    return 2;
  std::string folder = std::string(argv[1]) + "/";
  Generator generator(1);
  Tensor w1 = normal({300, 50}, generator, 0, 0.1);
  Tensor w2 = normal({50, 7}, generator, 0, 0.1);
  Tensor filters = normal({8, 3, 3, 3}, generator, 0, 0.2);

  save(
      folder + "mlp",
      [&](Tensor x) { return softmax(matmul(gelu(matmul(x, w1)), w2), -1); },
      normal({4, 300}, generator));
  save(
      folder + "cnn",
      [&](Tensor x) {
        Tensor y = max_pool2d(relu(conv2d(x, filters, {}, 2, 1)), 2);
        return layer_norm(y.flatten(1), y.flatten(1).size(1));
      },
      normal({2, 3, 16, 16}, generator));
  save(
      folder + "views",
      [](Tensor x) {
        Tensor y = x.clone();
        y.slice(1, 0, None, 2) *= 3;
        y[1] = y[0] + 1;
        return concat({y.t(), flip(y, 0).t()}, 1);
      },
      normal({3, 6}, generator));
  save(
      folder + "loops",
      [](Tensor x) {
        ScanResult sums = scan(
            [](std::span<const Tensor> state,
               std::span<const Tensor> rows) -> ScanStep {
              Tensor next = cond(
                  rows[0].sum() > 0,
                  [&] { return std::vector{state[0] + rows[0]}; },
                  [&] { return std::vector{state[0] * 0.5}; })[0];
              return {{next}, {next}};
            },
            {zeros(6)}, {x});
        Tensor bounded = while_loop(
            [](std::span<const Tensor> state) { return state[0].max() > 1; },
            [](std::span<const Tensor> state) {
              return std::vector{state[0] * 0.7};
            },
            {sums.state[0]})[0];
        return concat({sums.stacked[0], bounded.unsqueeze(0)}, 0);
      },
      normal({5, 6}, generator));
}
