//===- NumericsTest.cpp - Training that comes to NaN ----------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What fit says of a loss that is not finite: the step and, if it is to look
// for it, the operation.
//
//===----------------------------------------------------------------------===//
#include "tinh/engine.h"
#include "tinh/fit.h"
#include "tinh/nn.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace tinh;

namespace {

/// 40 rows in batches of 8, of which one, in the third batch, is wrong.
class FitNumerics : public ::testing::TestWithParam<bool> {
protected:
  void SetUp() override {
    Generator generator(5);
    x = normal({40, 3}, generator);
    y = (x.sum(1) > 0).to(int64);
    network->initialize(generator);
    model.compile(losses::make("cross_entropy"), optim::sgd({.lr = 0.1}), {},
                  {.graph = GetParam()});
    options.batch_size = 8;
    options.epochs = 2;
    options.shuffle = false;
    options.verbosity = Verbosity::Silent;
    options.callbacks = {counter};
  }
  void TearDown() override {
    try {
      wait_all();
    } catch (const Error &) { // The test has seen it.
    }
    configure({});
  }

  /// What fit fails with.
  std::string failure(tinh_status_t status) {
    try {
      model.fit(x, y, options);
    } catch (const Error &error) {
      EXPECT_EQ(error.status(), status) << error.what();
      return error.what();
    }
    return "no error";
  }

  struct Counter : Callback {
    void on_batch_end(Model &, const Progress &) override { ++batches; }
    int batches = 0;
  };
  std::shared_ptr<Counter> counter = std::make_shared<Counter>();
  Tensor x, y;
  nn::Handle<nn::Sequential> network =
      nn::make<nn::Sequential>(nn::make<nn::Linear>(3, 4), nn::make<nn::Tanh>(),
                               nn::make<nn::Linear>(4, 2));
  Model model{network};
  FitOptions options;
};

INSTANTIATE_TEST_SUITE_P(, FitNumerics, ::testing::Bool(),
                         [](const auto &graph) {
                           return graph.param ? "Graph" : "Operations";
                         });

TEST_P(FitNumerics, NamesTheStepAtTheEndOfTheEpoch) {
  x.slice(0, 20, 21).fill_(std::nanf(""));
  std::string text = failure(TINH_NOT_FINITE);
  EXPECT_EQ(text.find("fit: the loss is not finite in step 3 of epoch 1"), 0u)
      << text;
  EXPECT_EQ(counter->batches, 5);
}

TEST_P(FitNumerics, EndsAtOnceIfItIsTo) {
  options.terminate_on_nan = true;
  x.slice(0, 20, 21).fill_(std::nanf(""));
  std::string text = failure(TINH_NOT_FINITE);
  EXPECT_EQ(text.find("fit: the loss is not finite in step 3 of epoch 1"), 0u)
      << text;
  EXPECT_EQ(counter->batches, 2);
}

TEST_P(FitNumerics, NamesTheOperation) {
  options.terminate_on_nan = true;
  EngineOptions checking;
  checking.check_numerics = TINH_CHECK_NANS_AND_INFINITIES;
  configure(checking);
  model.fit(x, y, options); // Nothing is wrong yet.
  x.slice(0, 20, 21).fill_(std::nanf(""));
  std::string text = failure(TINH_NOT_FINITE);
  EXPECT_NE(text.find("fit: by batch 3 of epoch 1, "), std::string::npos)
      << text;
  EXPECT_NE(text.find("gave NaN at [4, 0]"), std::string::npos) << text;
  EXPECT_NE(text.find("it had read NaN at [4, 0]"), std::string::npos) << text;
}

} // namespace
