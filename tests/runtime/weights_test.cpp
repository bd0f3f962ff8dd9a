//===- weights_test.cpp - Modules with other weights ------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "check_artifact.h"
#include "module.h"
#include "trainer.h"

namespace {

class Weights : public testing::Test {
protected:
  /// A file with the parameter "w", and something else before it.
  std::string write(tinh_dtype_t dtype = TINH_DTYPE_F32,
                    const char *name = "w") const {
    const int64_t one = 1, dims = 1024;
    std::vector<tinh_safetensors_tensor_t> tensors = {
        {{"moment", TINH_DTYPE_U8, 1, &one, 1}, "m", 0},
        {{name, dtype, 1, &dims, 1024 * tinh_dtype_size(dtype)},
         weights.data(),
         0}};
    tinh::TensorFile::write(path, tensors); // "w" begins at an odd address.
    return path;
  }

  /// What "main" gives.
  std::vector<float> run(const tinh::Module &on) const {
    tinh::Context context(on);
    std::vector<float> y(1024);
    context.run({tinh::buffer(x)}, {tinh::buffer(y)});
    return y;
  }

  Toy toy;
  std::string path = (toy.folder / "weights").string();
  tinh::Module module{toy.path()};
  std::vector<float> x = std::vector<float>(1024, 0.5f);
  std::vector<float> weights = std::vector<float>(1024, 7.0f);
};

} // namespace

TEST_F(Weights, AreReplacedForOneModule) {
  tinh::Module changed = module.with_weights(write());
  EXPECT_EQ(run(changed), std::vector<float>(1024, 8.0f));
  EXPECT_EQ(run(module), expected_of(x));
  EXPECT_STREQ(changed.info().model, "toy");
}

TEST_F(Weights, TheFirstModuleIsNotNeeded) {
  auto changed = std::make_unique<tinh::Module>(
      tinh::Module(toy.path()).with_weights(write()));
  tinh::Module again = changed->with_weights(path);
  changed.reset();
  std::filesystem::remove(path);
  EXPECT_EQ(run(again), std::vector<float>(1024, 8.0f));
}

TEST_F(Weights, MustBeThere) {
  EXPECT_TRUE(fails(TINH_INVALID_FILE, "it lacks 'w'",
                    [&] { module.with_weights(write(TINH_DTYPE_F32, "v")); }));
  EXPECT_TRUE(fails(TINH_INVALID_FILE,
                    "its 'w' is f16 [1024], and f32 [1024] is expected",
                    [&] { module.with_weights(write(TINH_DTYPE_F16)); }));
  EXPECT_TRUE(fails(TINH_NOT_FOUND, "cannot open the file",
                    [&] { module.with_weights(path + ".not"); }));
  Toy fixed({}, false, TRAINER_ARTIFACT);
  EXPECT_TRUE(fails(TINH_INVALID_ARTIFACT,
                    "the model 'trainer' takes no other weights; compile it "
                    "with --loadable-weights",
                    [&] { tinh::Module(fixed.path()).with_weights(write()); }));
}

TEST_F(Weights, WhatPreparesThemIsChecked) {
  tinh::runtime::Module loaded(toy.path());
  tinh_artifact_t artifact = loaded.artifact();
  tinh_function_desc_t init = *artifact.init;
  artifact.init = &init;
  EXPECT_TRUE(tinh::runtime::valid_artifact(artifact));
  tinh_step_t step = init.steps[0];
  init.steps = &step;
  step.wait_for = 0;
  EXPECT_FALSE(tinh::runtime::valid_artifact(artifact));
  init = *loaded.artifact().init;
  tinh_tensor_desc_t input = init.inputs[0];
  init.inputs = &input;
  input.variable = 0;
  EXPECT_FALSE(tinh::runtime::valid_artifact(artifact));
  init = *loaded.artifact().init;
  init.num_outputs = 1;
  init.outputs = init.inputs;
  EXPECT_FALSE(tinh::runtime::valid_artifact(artifact));
}
