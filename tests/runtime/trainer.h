//===- trainer.h - The hand-made artifact that trains -----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the tests of variables start from: trainer_artifact.c, loaded, and a
// batch that its model can learn.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TESTS_RUNTIME_TRAINER_H
#define TINH_TESTS_RUNTIME_TRAINER_H

#include "tinh/runtime.hpp"
#include "toy.h"

#include <gtest/gtest.h>

class Trainer : public testing::Test {
protected:
  enum Function : uint32_t { train_step, evaluate, predict, peek };
  enum Variable : uint32_t { w, b, w_moment, b_moment, stamp };
  static constexpr size_t num_stamps = 65536;

  Trainer() {
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = float((i * 37) % 17) / 8 - 1;
    for (size_t row = 0; row < y.size(); ++row)
      y[row] = x[row * 4] - 2 * x[row * 4 + 1] + 3 * x[row * 4 + 2] + 0.25f;
  }

  tinh::Context open(uint32_t threads) const {
    tinh::ContextOptions options;
    options.threads = threads;
    return tinh::Context(module, options);
  }

  /// Trains once; the loss before it.
  float train(const tinh::Context &context) {
    float loss = -1;
    context.run({tinh::buffer(x), tinh::buffer(y)}, {tinh::buffer(&loss, 1)},
                train_step);
    return loss;
  }

  template <typename Element = float>
  std::vector<Element> read(const tinh::Context &context,
                            uint32_t variable) const {
    std::vector<Element> values(module.variable_info(variable).type.size /
                                sizeof(Element));
    context.read_variable(variable, tinh::buffer(values));
    return values;
  }

  Toy toy{{}, false, TRAINER_ARTIFACT};
  tinh::Module module{toy.path()};
  std::vector<float> x = std::vector<float>(32), y = std::vector<float>(8);
};

/// Whether calling `body` fails with a message that has `text` in it.
template <typename Body>
testing::AssertionResult fails(tinh_status_t status, const std::string &text,
                               Body body) {
  try {
    body();
  } catch (const tinh::Error &error) {
    if (error.status() == status &&
        std::string(error.what()).find(text) != std::string::npos)
      return testing::AssertionSuccess();
    return testing::AssertionFailure()
           << tinh_status_name(error.status()) << ": " << error.what();
  }
  return testing::AssertionFailure() << "it did not fail";
}

#endif // TINH_TESTS_RUNTIME_TRAINER_H
