//===- toy_context.h - A context for the toy artifact -----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the tests of runs start from: the toy artifact, loaded, and calls of the
// C API on vectors.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TESTS_RUNTIME_TOY_CONTEXT_H
#define TINH_TESTS_RUNTIME_TOY_CONTEXT_H

#include "toy.h"

#include <gtest/gtest.h>

class ToyContext : public testing::Test {
protected:
  ToyContext() { tinh_context_options_init(&options); }
  ~ToyContext() override {
    close();
    tinh_module_release(module);
  }

  /// Makes the context anew, with `options` and so many threads.
  void open(uint32_t threads) {
    close();
    if (!module)
      ASSERT_EQ(tinh_module_load(toy.path().c_str(), &module), TINH_OK);
    options.threads = threads;
    ASSERT_EQ(tinh_context_create(module, &options, &context), TINH_OK)
        << tinh_last_error();
  }

  void close() {
    tinh_context_release(context);
    context = nullptr;
  }

  tinh_status_t submit(uint32_t function, std::vector<float> &x,
                       std::vector<float> &y, tinh_future_t *after,
                       tinh_future_t **out_future) {
    tinh_buffer_t in = {x.data(), x.size() * 4}, out = {y.data(), y.size() * 4};
    return tinh_context_submit(context, function, &in, 1, &out, 1, &after,
                               after ? 1 : 0, out_future);
  }

  tinh_status_t run(std::vector<float> &x, std::vector<float> &y,
                    uint32_t function = 0) {
    tinh_buffer_t in = {x.data(), x.size() * 4}, out = {y.data(), y.size() * 4};
    return tinh_context_run(context, function, &in, 1, &out, 1);
  }

  /// An input of "main" that differs with `seed`.
  static std::vector<float> input(float seed) {
    std::vector<float> x(1024);
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = seed + float(i) / 7;
    return x;
  }

  Toy toy;
  tinh_module_t *module = nullptr;
  tinh_context_t *context = nullptr;
  tinh_context_options_t options;
  std::vector<float> y = std::vector<float>(1024);
};

#endif // TINH_TESTS_RUNTIME_TOY_CONTEXT_H
