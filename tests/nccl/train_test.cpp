//===- train_test.cpp - Training on GPUs that reduce over NCCL --*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiled training steps of two ranks, which are threads of this process, on
// the fake GPU and a fake NCCL.
//
//===----------------------------------------------------------------------===//
#include "runtime/nccl/communicator.h"
#include "tests/nccl/thread_ranks.h"
#include "tinh/runtime.hpp"

#include <barrier>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sstream>
#include <thread>

namespace fs = std::filesystem;
using namespace tinh;
using testing::HasSubstr;
using tests::Host;
using tests::Meeting;

namespace {

constexpr int kSteps = 4, kWidth = 5, kHidden = 7, kOutputs = 3, kBatch = 4;
using Floats = std::vector<float>;

/// Numbers that look like chance.
Floats numbers(size_t count, uint32_t seed) {
  Floats all;
  for (size_t i = 0; i < count; ++i) {
    seed = seed * 1664525u + 1013904223u;
    all.push_back(static_cast<float>(seed >> 8) / float(1 << 23) - 1);
  }
  return all;
}

std::string list(const Floats &values) {
  std::string text;
  for (float value : values)
    text += (text.empty() ? "" : ", ") + std::to_string(value);
  return "[" + text + "]";
}

/// y = relu(x · v) · w, of so many samples.
std::string model(int batch) {
  auto weight = [](const char *name, int rows, int columns, uint32_t seed) {
    return std::string(R"({"name": ")") + name +
           R"(", "dtype": "f32", "shape": [)" + std::to_string(rows) + ", " +
           std::to_string(columns) + R"(], "data": )" +
           list(numbers(size_t(rows) * size_t(columns), seed)) + "}";
  };
  return R"({"tinh": 1, "name": "mlp", "inputs":
    [{"name": "x", "dtype": "f32", "shape": [)" +
         std::to_string(batch) + ", " + std::to_string(kWidth) +
         R"(]}], "weights": [)" + weight("v", kWidth, kHidden, 1) + ", " +
         weight("w", kHidden, kOutputs, 2) + R"(], "nodes": [
    {"op": "matmul", "inputs": ["x", "v"], "outputs": ["h"]},
    {"op": "relu", "inputs": ["h"], "outputs": ["r"]},
    {"op": "matmul", "inputs": ["r", "w"], "outputs": ["y"]}],
    "outputs": ["y"]})";
}

/// What training leaves.
struct Trained {
  Floats losses, v, w;
};

/// Trains on the samples of rank `rank` of `ranks`.
class Trainer {
public:
  Trainer(const Module &module, const ContextOptions &options)
      : module(module), context(module, options),
        step(module.find_function("train_step")) {}

  void run(int number, uint32_t rank, uint32_t ranks) {
    size_t samples = kBatch * 2 / ranks, first = rank * samples;
    Floats x = numbers(kBatch * 2 * kWidth, 10 + uint32_t(number)),
           y = numbers(kBatch * 2 * kOutputs, 20 + uint32_t(number));
    float loss = 0;
    context.run({{x.data() + first * kWidth, samples * kWidth * 4},
                 {y.data() + first * kOutputs, samples * kOutputs * 4}},
                {{&loss, 4}}, step);
    result.losses.push_back(loss);
  }

  /// Runs so many steps, and waits for each or for all of them.
  void submit(int count, uint32_t rank, uint32_t ranks, bool waits) {
    size_t samples = kBatch * 2 / ranks, first = rank * samples;
    std::vector<Floats> data;
    data.reserve(2 * static_cast<size_t>(count));
    std::vector<Future> runs;
    Floats losses(static_cast<size_t>(count));
    for (int i = 0; i < count; ++i) {
      Floats &x = data.emplace_back(numbers(kBatch * 2 * kWidth, 10 + i));
      Floats &y = data.emplace_back(numbers(kBatch * 2 * kOutputs, 20 + i));
      runs.push_back(context.submit(
          {{x.data() + first * kWidth, samples * kWidth * 4},
           {y.data() + first * kOutputs, samples * kOutputs * 4}},
          {{&losses[static_cast<size_t>(i)], 4}}, {}, step));
      if (waits)
        runs.back().wait();
    }
    for (Future &run : runs)
      run.wait();
  }

  Trained finish() {
    result.v = read("v", kWidth * kHidden);
    result.w = read("w", kHidden * kOutputs);
    return result;
  }

  Floats read(const char *name, size_t count) const {
    Floats values(count);
    context.read_variable(module.find_variable(name),
                          {values.data(), count * 4});
    return values;
  }

private:
  const Module &module;
  Context context;
  const uint32_t step;
  Trained result;
};

/// `call` must be refused as invalid, with this in the message.
static void expect_invalid(const std::function<void()> &call,
                           const std::string &message) {
  try {
    call();
    ADD_FAILURE() << "it was not refused";
  } catch (const Error &error) {
    EXPECT_EQ(error.status(), TINH_INVALID_ARGUMENT);
    EXPECT_THAT(error.what(), HasSubstr(message));
  }
}

class NcclTrainTest : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern =
        (fs::temp_directory_path() / "tinh-nccl-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    directory = pattern;
    fake("schedule=newest");
  }
  void TearDown() override {
    EXPECT_EQ(count_calls("misuse"), 0);
    fs::remove_all(directory);
  }

  /// The fake driver's settings; its log begins anew.
  static void fake(const char *settings) {
    library<void(const char *)>("tinh_fake_cuda_configure")(settings);
  }
  /// How many lines of its log begin so.
  static int count_calls(const std::string &begin) {
    std::istringstream log(library<const char *()>("tinh_fake_cuda_log")());
    int count = 0;
    for (std::string line; std::getline(log, line);)
      count += line.starts_with(begin);
    return count;
  }
  template <typename Function> static Function *library(const char *name) {
    static void *const handle =
        dlopen(std::getenv("TINH_CUDA_DRIVER"), RTLD_NOW);
    return reinterpret_cast<Function *>(dlsym(handle, name));
  }

  /// The artifact of one of so many ranks, on the GPU, by graph-compile.
  Module compile(int ranks, const std::string &options = "") {
    std::string name = directory / std::to_string(num_artifacts++);
    std::ofstream(name + ".json") << model(kBatch * 2 / ranks);
    std::string command = std::getenv("TINH_GRAPH_COMPILE");
    command += " " + name + ".json -o " + name +
               ".so --target=cuda --cuda-chips=emulated --train --loss=mse "
               "--optimizer=sgd,lr=0.1,momentum=0.9 " +
               (ranks > 1 ? "--data-parallel " : "") + options;
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
    return Module(name + ".so");
  }

  Trained train_alone() {
    Module module = compile(1);
    Trainer trainer(module, {});
    for (int i = 0; i < kSteps; ++i)
      trainer.run(i, 0, 1);
    return trainer.finish();
  }

  /// Has two threads train, with these options but for the ranks.
  std::vector<Trained> train(const Module &module,
                             const ContextOptions &options = {},
                             bool on_gpus = true) {
    std::vector<Trained> results(2);
    on_two(
        [&](tinh_collectives_t &ranks) {
          ContextOptions own = options;
          own.collectives = &ranks;
          Trainer trainer(module, own);
          for (int i = 0; i < kSteps; ++i)
            trainer.run(i, ranks.rank, 2);
          results[ranks.rank] = trainer.finish();
        },
        on_gpus);
    return results;
  }

  static void on_two(const std::function<void(tinh_collectives_t &)> &body,
                     bool on_gpus = true,
                     nccl::Clock::duration timeout = std::chrono::seconds(60)) {
    Meeting meeting;
    std::vector<std::thread> threads;
    for (uint32_t number : {0u, 1u})
      threads.emplace_back([&, number] {
        Host host(meeting, number);
        if (!on_gpus)
          return body(host);
        nccl::Communicator ranks(&host, timeout);
        body(ranks);
      });
    for (std::thread &thread : threads)
      thread.join();
  }

  /// On all ranks: the means of losses, and equal parameters.
  static void expect_near(const std::vector<Trained> &found,
                          const Trained &expected, float tolerance) {
    auto near = [&](const Floats &values) {
      return testing::Pointwise(testing::FloatNear(tolerance), values);
    };
    for (const Trained &each : found) {
      EXPECT_THAT(each.losses, near(expected.losses));
      EXPECT_THAT(each.v, near(expected.v));
      EXPECT_THAT(each.w, near(expected.w));
    }
  }

  fs::path directory;
  int num_artifacts = 0;
};

TEST_F(NcclTrainTest, IsOneProcessWithTheWholeBatchAndMpi) {
  Trained alone = train_alone();
  Module by_nccl = compile(2, "--collectives=nccl");
  EXPECT_TRUE(by_nccl.function_info(by_nccl.find_function("train_step"))
                  .has_gpu_collectives);
  std::vector<Trained> trained = train(by_nccl);
  expect_near(trained, alone, 1e-5F);
  // Of two ranks there is one order of additions.
  Module by_mpi = compile(2, "--collectives=mpi");
  expect_near(train(by_mpi, {}, /*on_gpus=*/false), trained[0], 0);
  // MPI's are there with NCCL, too.
  expect_near(train(by_mpi), trained[0], 0);
}

TEST_F(NcclTrainTest, StepByStepItIsTheSame) {
  Module module = compile(2, "--collectives=nccl");
  ContextOptions options;
  options.threads = 2;
  std::vector<Trained> trained = train(module, options);
  options.check_numerics = TINH_CHECK_NANS;
  expect_near(train(module, options), trained[0], 0);
}

TEST_F(NcclTrainTest, DividesTheOptimizersState) {
  Trained alone = train_alone();
  expect_near(train(compile(2, "--collectives=nccl --shard-optimizer=2")),
              alone, 1e-5F);
}

/// The driver's calls of each rank's step: one graph has all of it.
TEST_F(NcclTrainTest, AStepIsOneLaunch) {
  Module module = compile(2, "--collectives=nccl");
  fake("schedule=newest");
  train(module);
  EXPECT_EQ(count_calls("cuGraphLaunch "), 2 * kSteps);
  EXPECT_EQ(count_calls("cuLaunchKernel "), 0);
}

/// What waits for the GPU's collectives hears of it.
TEST_F(NcclTrainTest, AKernelThatFailsBeforeACollectiveEndsTheRun) {
  Module module = compile(2, "--collectives=nccl");
  std::string errors[2];
  std::barrier both(2, []() noexcept { fake("fault=matmul_relu_0:700"); });
  on_two([&](tinh_collectives_t &ranks) {
    ContextOptions options;
    options.collectives = &ranks;
    options.max_in_flight = 1; // One arena, whose graph is made.
    Trainer trainer(module, options);
    trainer.run(0, ranks.rank, 2);
    both.arrive_and_wait();
    try {
      trainer.run(1, ranks.rank, 2);
    } catch (const Error &error) {
      errors[ranks.rank] = error.what();
    }
  });
  // Both are on one GPU: who has not waited yet cannot go on.
  EXPECT_THAT(errors, testing::Each(HasSubstr("CUDA_ERROR_ILLEGAL_ADDRESS")));
  EXPECT_THAT(errors, testing::Contains(HasSubstr("matmul_relu_0")));
  EXPECT_EQ(count_calls("runs kernel matmul_relu_0"), 1);
}

/// Ranks take turns with their arenas alike, however many of two runs are in
/// flight: what they make graphs of together, they launch together.
TEST_F(NcclTrainTest, RanksThatKeepOtherTimeUseTheSameArenas) {
  Module module = compile(2, "--collectives=nccl");
  Trained expected = train(module)[0];
  on_two([&](tinh_collectives_t &ranks) {
    ContextOptions options;
    options.collectives = &ranks;
    options.max_in_flight = 2;
    Trainer trainer(module, options);
    trainer.submit(kSteps, ranks.rank, 2, /*waits=*/ranks.rank == 0);
    EXPECT_EQ(trainer.finish().w, expected.w);
  });
}

/// Ranks that could not take turns alike hear of it; what they have is whole.
TEST_F(NcclTrainTest, ComparesHowRunsAreExecuted) {
  Module module = compile(2, "--collectives=nccl");
  on_two([&](tinh_collectives_t &ranks) {
    ContextOptions options;
    options.collectives = &ranks;
    options.max_in_flight = 1 + ranks.rank;
    try {
      Trainer(module, options).run(0, ranks.rank, 2);
      ADD_FAILURE() << "it ran";
    } catch (const Error &error) {
      EXPECT_THAT(error.what(),
                  HasSubstr("rank 1 has another way to execute runs"));
    }
    options.max_in_flight = 2;
    Trainer(module, options).run(0, ranks.rank, 2);
  });
}

TEST_F(NcclTrainTest, WantsTheCollectivesOfGpus) {
  Module module = compile(2, "--collectives=nccl");
  on_two(
      [&](tinh_collectives_t &ranks) {
        ContextOptions options;
        options.collectives = &ranks;
        Trainer trainer(module, options);
        expect_invalid([&] { trainer.run(0, ranks.rank, 2); },
                       "libtinh_nccl.so");
      },
      /*on_gpus=*/false);
}

TEST_F(NcclTrainTest, IsOnTheGpuOfItsRank) {
  Module module = compile(2, "--collectives=nccl");
  on_two([&](tinh_collectives_t &ranks) {
    tinh_gpu_collectives_t other = *ranks.gpu;
    other.gpu = [](tinh_collectives_t *) { return 1u; };
    ranks.gpu = &other;
    ContextOptions options;
    options.collectives = &ranks;
    expect_invalid([&] { Context context(module, options); },
                   "set cuda_device");
  });
}

TEST_F(NcclTrainTest, ARankThatIsGoneEndsTheOther) {
  Module module = compile(2, "--collectives=nccl");
  on_two(
      [&](tinh_collectives_t &ranks) {
        ContextOptions options;
        options.collectives = &ranks;
        Trainer trainer(module, options);
        trainer.run(0, ranks.rank, 2);
        if (ranks.rank == 1)
          return;
        for (int i = 1; i < 3; ++i) { // It stays so.
          try {
            trainer.run(i, ranks.rank, 2);
            ADD_FAILURE() << "it ran";
          } catch (const Error &error) {
            EXPECT_EQ(error.status(), TINH_COLLECTIVE_FAILED);
            EXPECT_THAT(error.what(), HasSubstr("rank 0: all-reduce "));
          }
        }
        EXPECT_THROW(trainer.finish(), Error);
      },
      /*on_gpus=*/true, std::chrono::milliseconds(500));
}

} // namespace
