//===- FitTest.cpp - Training modules on datasets -------------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tinh/fit.h"
#include "tinh/autograd.h"
#include "tinh/nn.h"
#include "tinh/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <unistd.h>

using namespace tinh;

namespace {

class Fit : public ::testing::Test {
protected:
  void SetUp() override {
    folder = std::filesystem::temp_directory_path() /
             ("tinh-fit-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder);
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  std::string path(const std::string &name) const { return folder / name; }
  std::string read(const std::string &name) const {
    std::ifstream file(path(name), std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }

  std::filesystem::path folder;
};

/// Two classes of points, inside and outside of a circle.
struct Points {
  Tensor x, y;

  explicit Points(int64_t count = 200) {
    Generator generator(5);
    x = normal({count, 2}, generator);
    y = ((x * x).sum(1) > 1.4).to(int64);
  }
};

struct Net {
  Generator generator{11};
  nn::Handle<nn::Sequential> network = nn::make<nn::Sequential>(
      nn::make<nn::Linear>(nn::inferred, 16), nn::make<nn::BatchNorm1d>(16),
      nn::make<nn::ReLU>(), nn::make<nn::Dropout>(0.1),
      nn::make<nn::Linear>(16, 2));
  Model model{network};

  explicit Net(bool graph, CompileOptions options = {},
               optim::Rule rule = optim::adam({.lr = 0.02})) {
    network->initialize(generator);
    options.graph = graph;
    model.compile(losses::make("cross_entropy"), rule, {metrics::accuracy()},
                  options);
  }
};

/// All bits of the parameters and buffers.
std::vector<std::vector<float>> valuesOf(const Net &net) {
  std::vector<std::vector<float>> values;
  for (const NamedTensor &entry : net.network->state_dict())
    values.push_back(entry.tensor.to_vector<float>());
  return values;
}

FitOptions quiet(int64_t epochs) {
  FitOptions options;
  options.epochs = epochs;
  options.verbosity = Verbosity::Silent;
  return options;
}

TEST_F(Fit, LearnsAndSaysHow) {
  Points points;
  Net net(true);
  FitOptions options = quiet(30);
  options.validation_split = 0.2;
  History history = net.model.fit(points.x, points.y, options);
  ASSERT_EQ(history.epochs.size(), 30u);
  EXPECT_FALSE(history.stopped);
  std::vector<std::string> names;
  for (const auto &[name, value] : history.epochs[0])
    names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"loss", "accuracy", "val_loss",
                                             "val_accuracy"}));
  EXPECT_LT(*find(history.epochs[29], "loss"),
            *find(history.epochs[0], "loss") * 0.7);
  Scores scores = net.model.evaluate(points.x, points.y);
  EXPECT_GT(*find(scores, "accuracy"), 0.85);
  Tensor classes = net.model.predict(points.x, 64).argmax(1);
  EXPECT_NEAR((classes == points.y).to(float32).mean().item<double>(),
              *find(scores, "accuracy"), 1e-6);
}

TEST_F(Fit, TakesTheSameStepsAsAGraphAndEagerly) {
  Points points;
  // Not Adam, which makes steps of gradients that are nothing but rounding.
  optim::Rule rule = optim::sgd({.lr = 0.1, .momentum = 0.9});
  Net graph(true, {}, rule), eager(false, {}, rule);
  FitOptions options = quiet(3);
  graph.model.fit(points.x, points.y, options);
  eager.model.fit(points.x, points.y, options);
  auto a = valuesOf(graph), b = valuesOf(eager);
  for (size_t i = 0; i < a.size(); ++i)
    for (size_t j = 0; j < a[i].size(); ++j)
      EXPECT_NEAR(a[i][j], b[i][j], 1e-3 * std::max(1.f, std::fabs(b[i][j])));
}

TEST_F(Fit, GoesOnFromACheckpointBitByBit) {
  Points points;
  for (bool isGraph : {true, false}) {
    CompileOptions compiling;
    compiling.schedule = optim::cosine_schedule(60);
    Net whole(isGraph, compiling);
    whole.model.fit(points.x, points.y, quiet(6));

    struct Stop : Callback {
      void on_batch_end(Model &model, const Progress &progress) override {
        if (progress.epoch == 3 && progress.batch == 4)
          model.stop_training();
      }
    };
    std::string file =
        path(isGraph ? "graph.safetensors" : "eager.safetensors");
    FitOptions options = quiet(6);
    options.callbacks = {checkpoint(file, {.batches = 2}),
                         std::make_shared<Stop>()};
    Net interrupted(isGraph, compiling);
    EXPECT_TRUE(interrupted.model.fit(points.x, points.y, options).stopped);

    Net resumed(isGraph, compiling);
    options.callbacks = {checkpoint(file)};
    History rest = resumed.model.fit(points.x, points.y, options);
    EXPECT_EQ(rest.epochs.size(), 3u);
    EXPECT_EQ(valuesOf(resumed), valuesOf(whole));
  }
}

TEST_F(Fit, RefusesTheCheckpointOfAnotherModel) {
  Points points;
  std::string file = path("checkpoint.safetensors");
  Net net(true);
  FitOptions options = quiet(1);
  options.callbacks = {checkpoint(file)};
  net.model.fit(points.x, points.y, options);

  auto other = nn::make<nn::Sequential>(nn::make<nn::Linear>(2, 8),
                                        nn::make<nn::Linear>(8, 2));
  other->initialize(Generator(1));
  Model model(other);
  model.compile(losses::make("cross_entropy"), optim::adam());
  try {
    model.load_checkpoint(file);
    FAIL() << "no error";
  } catch (const Error &error) {
    std::string text = error.what();
    EXPECT_NE(text.find("0.weight"), std::string::npos) << text;
    EXPECT_NE(text.find("1.running_mean"), std::string::npos) << text;
  }
  std::ofstream(path("torn.safetensors"))
      << read("checkpoint.safetensors").substr(0, 300);
  EXPECT_THROW(net.model.load_checkpoint(path("torn.safetensors")), Error);
  EXPECT_THROW(net.model.load_checkpoint(path("missing.safetensors")), Error);
}

TEST_F(Fit, StopsEarly) {
  Points points;
  Net net(true);
  FitOptions options = quiet(50);
  options.validation_split = 0.2;
  // Nothing is ever better by this much.
  options.callbacks = {
      early_stopping({.min_delta = 10, .patience = 2, .restore_best = true})};
  History history = net.model.fit(points.x, points.y, options);
  EXPECT_TRUE(history.stopped);
  EXPECT_EQ(history.epochs.size(), 3u);
  Tensor tail = points.x.slice(0, 160), labels = points.y.slice(0, 160);
  EXPECT_NEAR(*find(net.model.evaluate(tail, labels), "loss"),
              *find(history.epochs[0], "val_loss"), 1e-6);

  options.callbacks = {early_stopping({.monitor = "val_recall"})};
  EXPECT_THROW(net.model.fit(points.x, points.y, options), Error);
}

TEST_F(Fit, WhatHasStoppedEarlyDoesNotGoOn) {
  Points points;
  auto run = [&](int64_t patience) {
    Net net(true);
    FitOptions options = quiet(50);
    options.validation_split = 0.2;
    options.verbosity = Verbosity::Lines;
    options.callbacks = {
        early_stopping({.min_delta = 10, .patience = patience}),
        checkpoint(path("stopped.safetensors"))};
    testing::internal::CaptureStdout();
    History history = net.model.fit(points.x, points.y, options);
    std::string text = testing::internal::GetCapturedStdout();
    EXPECT_TRUE(history.stopped);
    return std::tuple(history.epochs.size(), valuesOf(net),
                      text.substr(0, text.find('\n')));
  };
  auto [epochs, values, first] = run(2);
  EXPECT_EQ(epochs, 3u);
  auto [more, same, text] = run(2);
  EXPECT_EQ(more, 0u);
  EXPECT_EQ(same, values);
  EXPECT_EQ(text, "resumed after epoch 3, where training has ended");
  auto [later, others, resumed] = run(4); // Who is more patient goes on.
  EXPECT_EQ(later, 2u);
  EXPECT_EQ(resumed, "resumed after epoch 3");
}

TEST_F(Fit, EachCallStopsEarlyByItself) {
  Points points;
  Net net(true);
  FitOptions options = quiet(50);
  options.validation_split = 0.2;
  options.callbacks = {early_stopping({.min_delta = 10, .patience = 2})};
  for (int call = 0; call < 2; ++call)
    EXPECT_EQ(net.model.fit(points.x, points.y, options).epochs.size(), 3u);
}

/// Fails after an epoch, as a program that is killed after the logs were
/// written and before the checkpoint is.
struct Interrupt : Callback {
  explicit Interrupt(int64_t epoch) : epoch(epoch) {}
  void on_epoch_end(Model &, const Progress &progress) override {
    if (progress.epoch == epoch)
      throw std::runtime_error("interrupted");
  }
  int64_t epoch;
};

TEST_F(Fit, CallbacksGoOnFromACheckpoint) {
  Points points;
  auto run = [&](const std::string &name, int64_t interruptedAfter) {
    Net net(true);
    FitOptions options = quiet(6);
    options.validation_split = 0.2;
    options.callbacks = {
        early_stopping(
            {.min_delta = 10, .patience = 100, .restore_best = true}),
        csv_log(path(name + ".csv")), checkpoint(path(name + ".safetensors")),
        std::make_shared<Interrupt>(interruptedAfter)};
    net.model.fit(points.x, points.y, options);
    return valuesOf(net);
  };
  auto whole = run("whole", -1);
  EXPECT_THROW(run("parts", 3), std::runtime_error);
  EXPECT_EQ(run("parts", -1), whole); // The parameters of the first epoch.
  EXPECT_EQ(read("parts.csv"), read("whole.csv"));
}

TEST_F(Fit, RefusesTheCheckpointOfOtherData) {
  Points points;
  Net net(true);
  FitOptions options = quiet(1);
  options.callbacks = {checkpoint(path("checkpoint.safetensors"))};
  net.model.fit(points.x, points.y, options);
  auto messageOf = [&](const Tensor &x, const Tensor &y) {
    try {
      net.model.fit(x, y, options);
    } catch (const Error &error) {
      return std::string(error.what());
    }
    return std::string();
  };
  options.epochs = 2;
  options.seed = 7;
  EXPECT_NE(messageOf(points.x, points.y)
                .find("200 examples in batches of 32, shuffled by seed 0, and "
                      "this is on 200 examples in batches of 32, shuffled by "
                      "seed 7"),
            std::string::npos);
  options.seed = 0;
  EXPECT_NE(messageOf(points.x.slice(0, 0, 100), points.y.slice(0, 0, 100)),
            "");
  EXPECT_EQ(messageOf(points.x, points.y), "");
}

TEST_F(Fit, SaysWhereTheLossIsNotFinite) {
  Points points;
  points.y[70] = 2; // No class. Of the third batch.
  Net net(true);
  FitOptions options = quiet(2);
  options.shuffle = false;
  std::string file = path("checkpoint.safetensors");
  options.callbacks = {checkpoint(file, {.batches = 2})};
  try {
    net.model.fit(points.x, points.y, options);
    FAIL() << "no error";
  } catch (const Error &error) {
    EXPECT_NE(std::string(error.what()).find("step 3 of epoch 1"),
              std::string::npos)
        << error.what();
  }
  Net other(true);
  other.model.load_checkpoint(file); // That of the second step.
  for (const std::vector<float> &values : valuesOf(other))
    for (float value : values)
      EXPECT_TRUE(std::isfinite(value));
}

TEST_F(Fit, KeepsModesWhereACallbackEvaluates) {
  Points points;
  struct Evaluate : Callback {
    explicit Evaluate(const Points &points) : points(points) {}
    void on_batch_end(Model &model, const Progress &) override {
      model.evaluate(points.x, points.y);
      EXPECT_TRUE(model.network().is_training());
    }
    const Points &points;
  };
  Net with(true), without(true);
  FitOptions options = quiet(1);
  without.model.fit(points.x, points.y, options);
  options.callbacks = {std::make_shared<Evaluate>(points)};
  with.model.fit(points.x, points.y, options);
  EXPECT_EQ(valuesOf(with), valuesOf(without));
}

TEST_F(Fit, WritesLogs) {
  Points points;
  Net net(true);
  FitOptions options = quiet(3);
  options.callbacks = {csv_log(path("log.csv")), tensorboard_log(path("runs"))};
  net.model.fit(points.x, points.y, options);
  std::istringstream log(read("log.csv"));
  std::string line;
  std::getline(log, line);
  EXPECT_EQ(line, "epoch,loss,accuracy");
  for (int epoch = 1; epoch <= 3; ++epoch) {
    std::getline(log, line);
    EXPECT_EQ(line.substr(0, 2), std::to_string(epoch) + ",");
  }
  EXPECT_FALSE(std::filesystem::is_empty(path("runs")));
  options.callbacks = {csv_log(path("missing/log.csv"))};
  EXPECT_THROW(net.model.fit(points.x, points.y, options), Error);
}

TEST_F(Fit, RefusesWhatItCannotTrain) {
  Points points;
  auto network = nn::make<nn::Sequential>(nn::make<nn::Linear>(2, 2));
  Model model(network);
  EXPECT_THROW(model.fit(points.x, points.y), Error); // Not compiled.
  model.compile(losses::make("mse"), optim::sgd());
  EXPECT_THROW(model.fit(points.x, points.y, quiet(1)), Error); // No values.
  network->initialize(Generator(1));
  EXPECT_THROW(model.fit(points.x, points.y, quiet(1)), Error); // Shapes.
  FitOptions options = quiet(1);
  options.validation_split = 1;
  EXPECT_THROW(model.fit(points.x, points.x, options), Error);
  auto three = std::make_shared<TensorDataset>(
      std::vector{points.x, points.x, points.x});
  EXPECT_THROW(model.fit(three, quiet(1)), Error);
  EXPECT_EQ(model.fit(points.x, points.x, quiet(1)).epochs.size(), 1u);
  EXPECT_THROW(metrics::make("precision"), Error);

  EXPECT_THROW(Model(nullptr), Error);
  EXPECT_THROW(model.compile(losses::make("mse"), nullptr), Error);
  EXPECT_THROW(
      model.compile(losses::make("mse"), optim::sgd(), {}, {.clip_norm = -1}),
      Error);
  EXPECT_THROW(model.fit(std::shared_ptr<const Dataset>(), quiet(1)), Error);
  EXPECT_THROW(model.fit(points.x, points.x, quiet(-1)), Error);
  options = quiet(1);
  options.callbacks = {nullptr};
  EXPECT_THROW(model.fit(points.x, points.x, options), Error);
  struct Again : Callback {
    void on_epoch_end(Model &model, const Progress &) override {
      Points points;
      model.fit(points.x, points.x, quiet(1));
    }
  };
  options.callbacks = {std::make_shared<Again>()};
  EXPECT_THROW(model.fit(points.x, points.x, options), Error);
  options = quiet(1);
  options.batch_size = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(model.fit(points.x, points.x, options).epochs.size(), 1u);
  network->freeze();
  EXPECT_THROW(model.fit(points.x, points.x, quiet(1)), Error);
}

TEST(Metrics, AreMeansOverExamples) {
  Tensor logits = tensor({{3.f, 1.f, 2.f}, {0.f, 1.f, 2.f}});
  Tensor classes = tensor({0, 1});
  auto of = [](const Metric &metric, const Tensor &x, const Tensor &y) {
    return metric.mean(x, y).item<double>();
  };
  EXPECT_EQ(of(metrics::accuracy(), logits, classes), 0.5);
  EXPECT_EQ(of(metrics::top_k_accuracy(2), logits, classes), 1);
  EXPECT_EQ(of(metrics::accuracy(), logits, one_hot(classes, 3)), 0.5);
  Tensor x = tensor({1.f, -2.f}), y = tensor({1.f, 1.f});
  EXPECT_EQ(of(metrics::binary_accuracy(), x, y), 0.5);
  EXPECT_EQ(of(metrics::mean_absolute_error(), x, y), 1.5);
  EXPECT_EQ(of(metrics::mean_squared_error(), x, y), 4.5);
  for (const std::string &name : metrics::names())
    EXPECT_EQ(metrics::make(name).name, name);
}

} // namespace
