//===- state_test.cpp - Variables of a context ------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs that read and change variables, and calls that read, change, save and
// load them.
//
//===----------------------------------------------------------------------===//
#include "trainer.h"

#include <algorithm>
#include <atomic>
#include <thread>

namespace {

class State : public Trainer {
protected:
  std::string file(const std::string &name = "state.safetensors") const {
    return (toy.folder / name).string();
  }

  /// What a training step does, written down once more.
  struct Model {
    std::vector<float> w = {0, 1, 2, 3}, w_moment = std::vector<float>(4);
    float b = 0, b_moment = 0;

    float train(const std::vector<float> &x, const std::vector<float> &y) {
      float loss = 0, to_b = 0;
      std::vector<float> to_w(4);
      for (size_t row = 0; row < 8; ++row) {
        float error = b - y[row];
        for (size_t i = 0; i < 4; ++i)
          error += x[row * 4 + i] * w[i];
        loss += error * error / 8;
        to_b += error / 4;
        for (size_t i = 0; i < 4; ++i)
          to_w[i] += error / 4 * x[row * 4 + i];
      }
      for (size_t i = 0; i < 4; ++i) {
        w_moment[i] = 0.9f * w_moment[i] + to_w[i];
        w[i] -= 0.05f * w_moment[i];
      }
      b_moment = 0.9f * b_moment + to_b;
      b -= 0.05f * b_moment;
      return loss;
    }
  };

  void expect_equal(const tinh::Context &left, const tinh::Context &right) {
    for (Variable variable : {w, b, w_moment, b_moment})
      EXPECT_EQ(read(left, variable), read(right, variable)) << variable;
    EXPECT_EQ(read<int64_t>(left, stamp), read<int64_t>(right, stamp));
  }
};

bool is_whole(const std::vector<int64_t> &stamps) {
  return std::all_of(stamps.begin(), stamps.end(),
                     [&](int64_t stamp) { return stamp == stamps[0]; });
}

} // namespace

TEST_F(State, VariablesAreNoArguments) {
  EXPECT_EQ(module.info().num_variables, 5u);
  tinh_variable_info_t info = module.variable_info(w);
  EXPECT_STREQ(info.type.name, "w");
  EXPECT_EQ(info.type.size, 16u);
  EXPECT_TRUE(info.trainable);
  EXPECT_FALSE(module.variable_info(w_moment).trainable);
  EXPECT_EQ(module.find_variable("stamp"), uint32_t(stamp));
  EXPECT_TRUE(module.function_info(train_step).mutates_state);
  EXPECT_FALSE(module.function_info(predict).mutates_state);
  std::vector<tinh_tensor_info_t> inputs = module.inputs(train_step);
  ASSERT_EQ(inputs.size(), 2u);
  EXPECT_STREQ(inputs[0].name, "x");
  EXPECT_STREQ(inputs[1].name, "y");
  ASSERT_EQ(module.outputs(train_step).size(), 1u);
  EXPECT_STREQ(module.outputs(train_step)[0].name, "loss");
  EXPECT_TRUE(fails(TINH_NOT_FOUND, "the module has no variable 'v'",
                    [&] { module.find_variable("v"); }));
  EXPECT_TRUE(fails(TINH_INVALID_ARGUMENT,
                    "there is no variable 5; the module has 5",
                    [&] { module.variable_info(5); }));
}

TEST_F(State, TrainsInPlace) {
  for (uint32_t threads = 1; threads <= 4; ++threads) {
    tinh::Context context = open(threads);
    Model model;
    for (int step = 0; step < 100; ++step)
      ASSERT_NEAR(train(context), model.train(x, y), 1e-4) << step;
    for (size_t i = 0; i < 4; ++i)
      EXPECT_NEAR(read(context, w)[i], model.w[i], 1e-4);
    EXPECT_NEAR(read(context, b)[0], model.b, 1e-4);
    EXPECT_EQ(read<int64_t>(context, stamp),
              std::vector<int64_t>(num_stamps, 100));
    EXPECT_LT(train(context), 0.05f);
  }
}

TEST_F(State, EachContextHasItsOwn) {
  tinh::Context first = open(2), second = open(1);
  train(first);
  EXPECT_EQ(read(second, w), (std::vector<float>{0, 1, 2, 3}));
  EXPECT_NE(read(first, w), read(second, w));
  first.reset_state();
  expect_equal(first, second);
}

TEST_F(State, VariablesAreReadAndWritten) {
  tinh::Context context = open(2);
  std::vector<float> weights = {1, -2, 3, 0}, bias = {0.25f}, out(8);
  context.write_variable(w, tinh::buffer(weights));
  context.write_variable(b, tinh::buffer(bias));
  EXPECT_EQ(read(context, w), weights);
  context.run({tinh::buffer(x)}, {tinh::buffer(out)}, predict);
  for (size_t row = 0; row < out.size(); ++row)
    EXPECT_NEAR(out[row], y[row], 1e-5);
  EXPECT_TRUE(fails(TINH_INVALID_ARGUMENT,
                    "variable 'w' has 16 bytes, but its buffer has 4",
                    [&] { context.write_variable(w, tinh::buffer(bias)); }));
  EXPECT_TRUE(fails(TINH_INVALID_ARGUMENT, "there is no variable 9",
                    [&] { context.read_variable(9, tinh::buffer(bias)); }));
}

/// Runs that read overlap with each other, but with none that changes what they
/// read.
TEST_F(State, ReadersSeeWholeSteps) {
  for (uint32_t threads : {1u, 3u}) {
    tinh::Context context = open(threads);
    std::vector<std::thread> readers;
    for (int t = 0; t < 3; ++t)
      readers.emplace_back([&] {
        std::vector<int64_t> stamps(num_stamps);
        int64_t last = 0;
        for (int i = 0; i < 60; ++i) {
          context.run({}, {tinh::buffer(stamps)}, peek);
          ASSERT_TRUE(is_whole(stamps));
          ASSERT_GE(stamps[0], last);
          last = stamps[0];
          context.read_variable(stamp, tinh::buffer(stamps));
          ASSERT_TRUE(is_whole(stamps));
        }
      });
    std::thread trainer([&] {
      std::vector<float> losses(200);
      for (float &loss : losses)
        context.submit({tinh::buffer(x), tinh::buffer(y)},
                       {tinh::buffer(&loss, 1)}, {}, train_step);
      context.wait_all();
      EXPECT_LT(losses.back(), losses.front());
    });
    for (std::thread &reader : readers)
      reader.join();
    trainer.join();
    EXPECT_EQ(read<int64_t>(context, stamp)[0], 200);
  }
}

TEST_F(State, RunsOnMemoryOfTheCaller) {
  tinh::Context on_state = open(2), elsewhere = open(2);
  std::vector<float> weights = {0, 1, 2, 3}, bias(1), moments(4), moment(1);
  std::vector<int64_t> stamps(num_stamps);
  tinh::Context::Buffers variables = {
      tinh::buffer(weights), tinh::buffer(bias), tinh::buffer(moments),
      tinh::buffer(moment), tinh::buffer(stamps)};
  for (int step = 0; step < 10; ++step) {
    float loss = -1;
    elsewhere.run_on(variables, {tinh::buffer(x), tinh::buffer(y)},
                     {tinh::buffer(&loss, 1)}, train_step);
    EXPECT_EQ(loss, train(on_state));
  }
  EXPECT_EQ(weights, read(on_state, w));
  EXPECT_EQ(moments, read(on_state, w_moment));
  EXPECT_EQ(stamps, read<int64_t>(on_state, stamp));
  EXPECT_EQ(read(elsewhere, w), (std::vector<float>{0, 1, 2, 3}));
  // What "predict" does not have, it does not need.
  std::vector<float> here(8), there(8);
  elsewhere.run_on({variables[w], variables[b], {}, {}, {}}, {tinh::buffer(x)},
                   {tinh::buffer(here)}, predict);
  on_state.run({tinh::buffer(x)}, {tinh::buffer(there)}, predict);
  EXPECT_EQ(here, there);
  EXPECT_TRUE(fails(TINH_INVALID_ARGUMENT,
                    "variable 'b' has 4 bytes, but its buffer has 0", [&] {
                      elsewhere.run_on({variables[w], {}, {}, {}, {}},
                                       {tinh::buffer(x)}, {tinh::buffer(here)},
                                       predict);
                    }));
  EXPECT_TRUE(fails(TINH_INVALID_ARGUMENT,
                    "the module has 5 variables, but 1 were given", [&] {
                      elsewhere.run_on({variables[w]}, {tinh::buffer(x)},
                                       {tinh::buffer(here)}, predict);
                    }));
}

TEST_F(State, SavedAndLoadedItGoesOnAsBefore) {
  tinh::Context context = open(2), other = open(1);
  for (int step = 0; step < 5; ++step)
    train(context);
  context.save_state(file(), {{"epoch", "1"}, {"text", "\"a\"\n\\ ü"}});
  EXPECT_EQ(tinh::TensorFile(file()).metadata(),
            (tinh::Metadata{{"epoch", "1"}, {"text", "\"a\"\n\\ ü"}}));
  other.load_state(file());
  expect_equal(context, other);
  for (int step = 0; step < 5; ++step)
    EXPECT_EQ(train(context), train(other));
  expect_equal(context, other);
}

TEST_F(State, SavesWhatIsThereBetweenRuns) {
  tinh::Context context = open(3);
  std::atomic<bool> done{false};
  std::thread trainer([&] {
    while (!done)
      train(context);
  });
  int64_t last = 0;
  for (int i = 0; i < 20; ++i) {
    context.save_state(file());
    tinh::TensorFile saved(file());
    tinh_safetensors_tensor_t stamps = saved.find("stamp");
    auto *first = static_cast<const char *>(stamps.data);
    std::vector<int64_t> values(num_stamps);
    std::copy(first, first + stamps.type.size,
              reinterpret_cast<char *>(values.data()));
    EXPECT_TRUE(is_whole(values));
    EXPECT_GE(values[0], last);
    last = values[0];
  }
  done = true;
  trainer.join();
}

TEST_F(State, OfAnotherModelIsRefused) {
  tinh::Context context = open(1);
  train(context);
  context.save_state(file());
  tinh::TensorFile whole(file());
  std::vector<float> before = read(context, w);
  auto load_changed = [&](auto change) {
    std::vector<tinh_safetensors_tensor_t> tensors = whole.tensors();
    change(tensors);
    tinh::TensorFile::write(file("changed"), tensors);
    context.load_state(file("changed"));
  };
  train(context);
  std::vector<float> trained = read(context, w);
  ASSERT_NE(before, trained);
  EXPECT_TRUE(fails(TINH_INVALID_FILE, "; it lacks 'w.moment'", [&] {
    load_changed([](auto &tensors) { tensors.erase(tensors.begin() + 2); });
  }));
  EXPECT_TRUE(
      fails(TINH_INVALID_FILE, "its 'v' is no variable of the model", [&] {
        load_changed([](auto &tensors) {
          tensors.push_back(tensors[0]);
          tensors.back().type.name = "v";
        });
      }));
  int64_t shape[] = {2, 2};
  EXPECT_TRUE(fails(TINH_INVALID_FILE,
                    "; it lacks 'b'; its 'v' is no variable of the model; its "
                    "'w' is f32 [2, 2], and f32 [4] is expected",
                    [&] {
                      load_changed([&](auto &tensors) {
                        tensors[b].type.name = "v";
                        tensors[w].type.rank = 2;
                        tensors[w].type.dims = shape;
                      });
                    }));
  EXPECT_TRUE(fails(TINH_INVALID_FILE, "'w' is i32 [4], and f32 [4]", [&] {
    load_changed([](auto &tensors) { tensors[w].type.dtype = TINH_DTYPE_I32; });
  }));
  EXPECT_EQ(read(context, w), trained); // Nothing of it was loaded.
  load_changed([](auto &tensors) { std::swap(tensors[0], tensors[4]); });
  EXPECT_EQ(read(context, w), before);
}

TEST_F(State, WhatCannotBeWrittenLeavesNothing) {
  tinh::Context context = open(1);
  EXPECT_TRUE(fails(TINH_IO_ERROR, "nowhere/state': No such file",
                    [&] { context.save_state(file("nowhere/state")); }));
  EXPECT_TRUE(fails(TINH_IO_ERROR, "it is not a regular file",
                    [&] { context.save_state(toy.folder.string()); }));
  EXPECT_TRUE(fails(TINH_INVALID_ARGUMENT, "is not UTF-8",
                    [&] { context.save_state(file(), {{"key", "\xff"}}); }));
  const std::vector<tinh_metadata_t> entries = {
      {"key", "1"}, {"key", "2"}, {"other", nullptr}};
  auto save = [&](size_t first) {
    return tinh_context_save_state(context.handle(), file().c_str(),
                                   &entries[first], 2);
  };
  EXPECT_EQ(save(0), TINH_INVALID_ARGUMENT);
  EXPECT_STREQ(tinh_last_error(), "the metadata has the key 'key' twice");
  EXPECT_EQ(save(1), TINH_INVALID_ARGUMENT);
  EXPECT_STREQ(tinh_last_error(), "a value of the metadata is NULL");
  EXPECT_TRUE(fails(TINH_NOT_FOUND, "cannot open the file",
                    [&] { context.load_state(file()); }));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(toy.folder), {}),
            1); // The artifact.
}

/// They wait for all runs, which a callback of one of them must not do; and a
/// context that refuses when it is full refuses meanwhile.
TEST_F(State, CallbacksMayNotTouchIt) {
  tinh::Context context = open(2);
  float loss = 0;
  tinh::Promise begin;
  tinh::Future run = context.submit({tinh::buffer(x), tinh::buffer(y)},
                                    {tinh::buffer(&loss, 1)}, {begin});
  std::atomic<bool> called{false};
  run.then([&](tinh_status_t, const char *) {
    EXPECT_TRUE(fails(TINH_BUSY,
                      "reading or changing the state "
                      "would block a callback of a run",
                      [&] { context.reset_state(); }));
    called = true;
  });
  begin.settle();
  context.wait_all();
  while (!called)
    std::this_thread::yield();
}
