//===- train_and_save.cpp - Trains and saves until it is killed -*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// train_and_save ARTIFACT FILE STEPS, for kill_test.cpp: goes on from FILE if
// it is there, and saves after each step.
//
//===----------------------------------------------------------------------===//
#include "tinh/runtime.hpp"

#include <cstdio>
#include <cstdlib>
#include <filesystem>

/// The batch of a step: a training that is resumed must get the same again.
static std::vector<float> batch(int64_t step, size_t size) {
  std::vector<float> values(size);
  for (size_t i = 0; i < size; ++i)
    values[i] = float((size_t(step) * 31 + i * 17) % 23) / 11 - 1;
  return values;
}

int main(int argc, char **argv) try {
  if (argc != 4)
    return std::fprintf(stderr, "usage: train_and_save ARTIFACT FILE STEPS\n"),
           2;
  std::string path = argv[2];
  tinh::Module module(argv[1]);
  tinh::ContextOptions options;
  options.threads = 2;
  tinh::Context context(module, options);
  if (std::filesystem::exists(path))
    context.load_state(path);
  std::vector<int64_t> stamps(65536);
  context.read_variable(module.find_variable("stamp"), tinh::buffer(stamps));
  std::puts("ready");
  std::fflush(stdout);
  for (int64_t step = stamps[0]; step < std::atoll(argv[3]); ++step) {
    float loss = 0;
    std::vector<float> x = batch(step, 32), y = batch(step + 7, 8);
    context.run({tinh::buffer(x), tinh::buffer(y)}, {tinh::buffer(&loss, 1)},
                module.find_function("train_step"));
    context.save_state(path, {{"step", std::to_string(step + 1)}});
  }
  return 0;
} catch (const std::exception &error) {
  return std::fprintf(stderr, "%s\n", error.what()), 1;
}
