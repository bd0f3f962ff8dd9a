//===- numerics_test.cpp - Numbers that are not finite ----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How they are found in arrays, and what runs say that look for them.
//
//===----------------------------------------------------------------------===//
#include "shared/numerics.h"

#include "artifact/check_artifact.h"
#include "inspection/check_numerics.h"
#include "support/error.h"
#include "trainer.h"

#include <cmath>
#include <cstring>
#include <gmock/gmock.h>

using namespace tinh::runtime;
using testing::HasSubstr;

namespace {

constexpr float kInf = INFINITY;

/// What is found in a row of numbers.
template <typename Word>
std::string search(tinh_dtype_t dtype, const std::vector<Word> &values,
                   tinh_check_numerics_t wanted) {
  int64_t dims[] = {int64_t(values.size())}, strides[] = {1};
  auto found =
      find_not_finite({values.data(), dtype, 1, dims, strides}, wanted);
  return found ? found->text() : "nothing";
}

TEST(Numerics, KnowsAllFormats) {
  constexpr auto all = TINH_CHECK_NANS_AND_INFINITIES;
  using Half = std::vector<uint16_t>;
  // The largest numbers, infinities, and NaNs of either sign.
  EXPECT_EQ(search(TINH_DTYPE_F16, Half{0x7bff, 0xfbff}, all), "nothing");
  EXPECT_EQ(search(TINH_DTYPE_F16, Half{0, 0xfc00}, all),
            "-infinity at [1], the first of 1 among 2 numbers");
  EXPECT_EQ(search(TINH_DTYPE_BF16, Half{0x7f7f, 0xff7f}, all), "nothing");
  EXPECT_EQ(search(TINH_DTYPE_BF16, Half{0x7f80, 0xffc0, 0}, all),
            "infinity at [0], the first of 2 among 3 numbers");
  EXPECT_EQ(search(TINH_DTYPE_BF16, Half{0x7f80, 0xffc0, 0}, TINH_CHECK_NANS),
            "NaN at [1], the first of 1 among 3 numbers");
  using Bytes = std::vector<uint8_t>;
  EXPECT_EQ(search(TINH_DTYPE_F8E4M3FN, Bytes{0x7e, 0x80, 0xfe}, all),
            "nothing");
  EXPECT_EQ(search(TINH_DTYPE_F8E4M3FN, Bytes{0, 0xff}, all),
            "NaN at [1], the first of 1 among 2 numbers");
  EXPECT_EQ(search(TINH_DTYPE_F8E5M2, Bytes{0x7b, 0xfc}, all),
            "-infinity at [1], the first of 1 among 2 numbers");
  EXPECT_EQ(search(TINH_DTYPE_F8E5M2, Bytes{0x7c, 0x7d}, TINH_CHECK_NANS),
            "NaN at [1], the first of 1 among 2 numbers");
  for (tinh_dtype_t dtype : {TINH_DTYPE_F8E4M3FNUZ, TINH_DTYPE_F8E5M2FNUZ}) {
    EXPECT_EQ(search(dtype, Bytes{0x7f, 0xff}, all), "nothing");
    EXPECT_EQ(search(dtype, Bytes{0x80, 0}, all),
              "NaN at [0], the first of 1 among 2 numbers");
  }
  EXPECT_EQ(search(TINH_DTYPE_F8E8M0FNU, Bytes{0x80, 0xfe, 0x7f}, all),
            "nothing");
  EXPECT_EQ(search(TINH_DTYPE_F8E8M0FNU, Bytes{0, 0xff}, TINH_CHECK_NANS),
            "NaN at [1], the first of 1 among 2 numbers");
  EXPECT_EQ(search(TINH_DTYPE_F4E2M1FN, Bytes{7, 15}, all), "nothing");
  EXPECT_EQ(
      search(TINH_DTYPE_F32, std::vector{0.f, -kInf, 1.f}, TINH_CHECK_NANS),
      "nothing");
  EXPECT_EQ(search(TINH_DTYPE_F32, std::vector{0.f, 3.4e38f, -NAN}, all),
            "NaN at [2], the first of 1 among 3 numbers");
  EXPECT_EQ(search(TINH_DTYPE_F64, std::vector{1e308, double(kInf)}, all),
            "infinity at [1], the first of 1 among 2 numbers");
  // All bits set are a number of these, too.
  EXPECT_EQ(search(TINH_DTYPE_I32, std::vector{-1, 0x7f800000}, all),
            "nothing");
  EXPECT_EQ(search(TINH_DTYPE_F32, std::vector{NAN}, TINH_CHECK_NOTHING),
            "nothing");
}

TEST(Numerics, FollowsStrides) {
  // Rows of 3 in memory of 4: what lies between them does not matter.
  std::vector<float> memory(24, NAN);
  int64_t dims[] = {2, 3, 3}, strides[] = {12, 4, 1};
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 3; ++j)
      for (int k = 0; k < 3; ++k)
        memory[size_t(i * 12 + j * 4 + k)] = 1;
  NumberArray array = {memory.data(), TINH_DTYPE_F32, 3, dims, strides};
  EXPECT_FALSE(find_not_finite(array, TINH_CHECK_NANS));
  memory[12 + 4 + 2] = memory[12 + 8] = NAN;
  auto found = find_not_finite(array, TINH_CHECK_NANS);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->index, (std::vector<int64_t>{1, 1, 2}));
  EXPECT_EQ(found->count, 2u);
  EXPECT_EQ(found->total, 18u);
  strides[2] = 0; // The first of each row, three times.
  found = find_not_finite(array, TINH_CHECK_NANS);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->index, (std::vector<int64_t>{1, 2, 0}));
  dims[1] = 0;
  EXPECT_FALSE(find_not_finite(array, TINH_CHECK_NANS));
  float number = -kInf;
  found = find_not_finite({&number, TINH_DTYPE_F32, 0, nullptr, nullptr},
                          TINH_CHECK_NANS_AND_INFINITIES);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->text(), "-infinity at []");
}

/// Runs that look for such numbers, on 1 to 3 threads.
class CheckedRuns : public Trainer, public testing::WithParamInterface<int> {
protected:
  tinh::Context
  open_checked(tinh_check_numerics_t wanted = TINH_CHECK_NANS_AND_INFINITIES) {
    tinh::ContextOptions options;
    options.threads = uint32_t(GetParam());
    options.check_numerics = wanted;
    return tinh::Context(module, options);
  }

  std::string message_of_training(const tinh::Context &context) {
    try {
      train(context);
    } catch (const tinh::Error &error) {
      EXPECT_EQ(error.status(), TINH_NOT_FINITE);
      return error.what();
    }
    return "no error";
  }
};

INSTANTIATE_TEST_SUITE_P(, CheckedRuns, testing::Range(1, 4));

TEST_P(CheckedRuns, TrainAsOthersDo) {
  tinh::Context plain = open(2), checked = open_checked();
  for (int i = 0; i < 20; ++i)
    ASSERT_EQ(train(checked), train(plain));
  EXPECT_EQ(read(checked, w), read(plain, w));
  EXPECT_EQ(read<int64_t>(checked, stamp), read<int64_t>(plain, stamp));
}

TEST_P(CheckedRuns, NameTheFirstStep) {
  tinh::Context context = open_checked();
  y[3] = 3e38f; // Finite; its square is not.
  EXPECT_EQ(message_of_training(context),
            "train_step: step 1 of 6: kernel 'evaluate', of the nodes "
            "'EVALUATE', gave infinity at [] of its result 0, the output "
            "'loss', f32 []; all that it had read was finite");
}

TEST_P(CheckedRuns, SayWhatWasReadAlready) {
  tinh::Context context = open_checked();
  x[2 * 4 + 1] = NAN;
  EXPECT_EQ(message_of_training(context),
            "train_step: step 0 of 6: kernel 'predict', of the nodes "
            "'PREDICT', gave NaN at [2], the first of 1 among 8 numbers of its "
            "result 0, f32 [8]; it had read NaN at [2, 1], the first of 1 "
            "among 32 numbers of its operand 0, the input 'x', f32 [8, 4]");
}

TEST_P(CheckedRuns, KnowVariables) {
  tinh::Context context = open_checked();
  float huge = -kInf;
  context.write_variable(b, tinh::buffer(&huge, 1));
  EXPECT_THAT(message_of_training(context),
              HasSubstr("the first of 8 among 8 numbers of its result 0, f32 "
                        "[8]; it had read -infinity at [] of its operand 2, "
                        "the variable 'b', f32 []"));
}

TEST_P(CheckedRuns, PassInfinitiesIfOnlyNansAreWanted) {
  tinh::Context context = open_checked(TINH_CHECK_NANS);
  y[3] = 2e19f; // Its square is infinite, gradients are not.
  EXPECT_EQ(train(context), kInf);
  y[3] = NAN;
  EXPECT_THAT(message_of_training(context), HasSubstr("gave NaN at []"));
}

TEST_P(CheckedRuns, GoOnAfterOne) {
  tinh::Context context = open_checked(), other = open(1);
  float good = y[3];
  y[3] = NAN;
  message_of_training(context);
  y[3] = good;
  context.reset_state();
  EXPECT_EQ(train(context), train(other));
}

/// Those that are submitted fail alone; who waits for one hears of it.
TEST_P(CheckedRuns, TellFutures) {
  tinh::Context context = open_checked();
  std::vector<float> bad = y;
  bad[0] = NAN;
  float losses[3];
  auto submit = [&](std::vector<float> &target, float &loss,
                    const tinh::Context::Futures &after) {
    return context.submit({tinh::buffer(x), tinh::buffer(target)},
                          {tinh::buffer(&loss, 1)}, after, train_step);
  };
  tinh::Future first = submit(bad, losses[0], {});
  tinh::Future second = submit(y, losses[1], {first});
  tinh::Future third = submit(y, losses[2], {});
  EXPECT_TRUE(fails(TINH_NOT_FINITE, "'EVALUATE'", [&] { first.wait(); }));
  EXPECT_TRUE(
      fails(TINH_DEPENDENCY_FAILED, "'EVALUATE'", [&] { second.wait(); }));
  third.wait();
}

TEST_P(CheckedRuns, WorkOnThePoolOfTheProgram) {
  tinh::ContextOptions options;
  options.threads = uint32_t(GetParam());
  options.check_numerics = TINH_CHECK_NANS;
  options.parallel_for = [](void *, uint32_t count,
                            void (*task)(void *, uint32_t), void *argument) {
    for (uint32_t i = 0; i < count; ++i)
      task(argument, i);
  };
  tinh::Context context(module, options);
  y[0] = NAN;
  EXPECT_THAT(message_of_training(context), HasSubstr("'evaluate'"));
}

/// The step is in a loop; its iteration is named.
TEST_P(CheckedRuns, NameTheIteration) {
  Toy control{{}, false, CONTROL_ARTIFACT};
  tinh::Module loops(control.path());
  tinh::ContextOptions options;
  options.threads = uint32_t(GetParam());
  options.check_numerics = TINH_CHECK_NANS_AND_INFINITIES;
  tinh::Context context(loops, options);
  constexpr size_t kLength = 1000, kRow = 16;
  std::vector<float> xs(kLength * kRow, 1), sum(kRow), sums(kLength * kRow);
  std::vector<int64_t> indices(kLength);
  int64_t count = kLength;
  auto run = [&] {
    context.run({tinh::buffer(xs), tinh::buffer(&count, 1)},
                {tinh::buffer(sum), tinh::buffer(sums), tinh::buffer(indices)},
                loops.find_function("prefix"));
  };
  run();
  EXPECT_EQ(sum[5], float(kLength));
  EXPECT_EQ(indices[999], 999);
  xs[700 * kRow + 5] = xs[701 * kRow + 5] = 3e38f;
  EXPECT_TRUE(fails(TINH_NOT_FINITE,
                    "prefix: step 4 of 9, iteration 701: kernel 'add', of the "
                    "nodes 'ADD', gave infinity at [5]",
                    run));
}

TEST_F(Trainer, KnowsWhatCanBeChecked) {
  tinh::ContextOptions options;
  options.check_numerics = static_cast<tinh_check_numerics_t>(3);
  EXPECT_TRUE(fails(TINH_INVALID_ARGUMENT, "check_numerics",
                    [&] { tinh::Context(module, options); }));
}

/// Rows of three that lie in rows of four, all of which one kernel reads, and
/// the second of which another one does.
class PackedVariable : public testing::Test {
protected:
  static void unpack(void *const *buffers, void *, int64_t, int64_t) {
    for (int row = 0; row < 2; ++row)
      std::memcpy(static_cast<float *>(buffers[1]) + row * 3,
                  static_cast<const float *>(buffers[0]) + row * 4, 12);
  }

  void SetUp() override {
    for (uint32_t i : {0, 1}) {
      kernels[kAll + i].name = i ? "row" : "all";
      kernels[kUnpack + i].name = i ? "pack" : "unpack";
      kernels[kAll + i].num_operands = kernels[kUnpack + i].num_operands = 2;
      kernels[kAll + i].operands = &operands[2 * i];
      kernels[kUnpack + i].operands = &operands[4 + 2 * i];
      steps[i].kernel = kAll + i;
      steps[i].wait_for = -1;
      steps[i].num_buffers = 2;
      steps[i].buffers = &references[2 * i];
      steps[i].num_chunks = 1;
    }
    for (tinh_kernel_desc_t &kernel : kernels)
      kernel.function = unpack; // Only that of "unpack" is called.
    w.name = input.name = "w";
    output.name = "y";
    w.dtype = input.dtype = output.dtype = TINH_DTYPE_F32;
    w.rank = input.rank = 2;
    w.dims[0] = input.dims[0] = 2;
    w.dims[1] = input.dims[1] = 3;
    w.size = input.size = 24;
    w.initial_offset = TINH_INITIALLY_ZERO;
    w.stored_size = 32;
    w.unpack = {kUnpack, 1};
    w.pack = {kPack, 1};
    output.size = 4;
    output.variable = TINH_NOT_VARIABLE;
    function.name = "f";
    function.inputs = &input;
    function.outputs = &output;
    function.steps = steps;
    function.num_inputs = function.num_outputs = 1;
    function.num_steps = 2;
    artifact.kernels = kernels;
    artifact.num_kernels = 4;
    artifact.functions = &function;
    artifact.variables = &w;
    artifact.num_functions = artifact.num_variables = 1;
    artifact.version = note.version = TINH_ARTIFACT_VERSION;
    artifact.state_size = 64;
    ASSERT_TRUE(valid_artifact(artifact));
  }

  /// What is said if step `number` reads `memory` and gives NaN.
  std::string check(uint32_t number) {
    tinh_model_t model = {&note, &artifact, nullptr};
    Module module(model, nullptr);
    NumericsCheck numerics(module, TINH_CHECK_NANS);
    float result = NAN;
    void *buffers[] = {memory.data() + 4 * number, &result};
    NumericsCheck::Step step = {function, number, buffers, {}};
    try {
      numerics.before(step);
      numerics.after(step);
    } catch (const Error &error) {
      return error.what();
    }
    return "no error";
  }

  enum : uint32_t { kAll, kRow, kUnpack, kPack };
  static constexpr int64_t plain[] = {2, 3}, packed[] = {2, 4}, row[] = {4},
                           by_3[] = {3, 1}, by_4[] = {4, 1}, dense[] = {1};
  const tinh_operand_desc_t operands[8] = {
      {TINH_DTYPE_F32, 0, 2, packed, by_4},
      {TINH_DTYPE_F32, 1, 0, nullptr, nullptr},
      {TINH_DTYPE_F32, 0, 1, row, dense},
      {TINH_DTYPE_F32, 1, 0, nullptr, nullptr},
      {TINH_DTYPE_F32, 0, 2, packed, by_4},
      {TINH_DTYPE_F32, 1, 2, plain, by_3},
      {TINH_DTYPE_F32, 0, 2, plain, by_3},
      {TINH_DTYPE_F32, 1, 2, packed, by_4}};
  const tinh_buffer_ref_t references[4] = {{TINH_SPACE_INPUT, 0, 0},
                                           {TINH_SPACE_OUTPUT, 0, 0},
                                           {TINH_SPACE_INPUT, 0, 16},
                                           {TINH_SPACE_OUTPUT, 0, 0}};
  std::vector<float> memory = {1, 2, 3, NAN, 4, 5, 6, NAN};
  tinh_kernel_desc_t kernels[4] = {};
  tinh_step_t steps[2] = {};
  tinh_tensor_desc_t input = {}, output = {};
  tinh_variable_desc_t w = {};
  tinh_function_desc_t function = {};
  tinh_artifact_t artifact = {};
  tinh_note_t note = {};
};

TEST_F(PackedVariable, IsLookedAtAsProgramsSeeIt) {
  EXPECT_THAT(check(0), HasSubstr("nothing that it had read was NaN"));
  memory[5] = NAN;
  EXPECT_THAT(check(0), HasSubstr("NaN at [1, 1], the first of 1 among 6 "
                                  "numbers of its operand 0, the variable "
                                  "'w', f32 [2, 3]"));
}

TEST_F(PackedVariable, IsLookedAtAsItLiesInParts) {
  EXPECT_THAT(check(1), HasSubstr("NaN at [3], the first of 1 among 4 numbers "
                                  "of its operand 0, the variable 'w', f32 "
                                  "[4]"));
}

} // namespace
