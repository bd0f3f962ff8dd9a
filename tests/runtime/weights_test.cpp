//===- weights_test.cpp - Modules with other weights ------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "artifact/blake3.h"
#include "artifact/check_artifact.h"
#include "artifact/module.h"
#include "trainer.h"

#include <fstream>

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

TEST_F(Weights, AreVerified) {
  module.verify_weights();
  EXPECT_TRUE(fails(TINH_INVALID_ARGUMENT, "of which no digest is known",
                    [&] { module.with_weights(write()).verify_weights(); }));
  for (bool external : {false, true}) {
    Toy damaged({}, external);
    std::string file = external ? (damaged.folder / "toy.safetensors").string()
                                : damaged.path();
    // Embedded weights are followed by the checksum of all else.
    auto end = std::filesystem::file_size(file) - (external ? 0 : 8);
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekp(static_cast<std::streamoff>(end - 1));
    stream.put(1);
    stream.close();
    tinh::Module loaded(damaged.path()); // Which reads no weights.
    EXPECT_TRUE(fails(TINH_INVALID_ARTIFACT,
                      "the weights in '" + file +
                          "' have changed since they were written: their "
                          "digest is ",
                      [&] { loaded.verify_weights(); }));
  }
}

/// Of bytes that count to 250 again and again, as LLVM has them.
TEST(Blake3, OfAnyLength) {
  const std::pair<size_t, const char *> digests[] = {
      {0, "af1349b9f5f9a1a6a0404dea36dcc949"},
      {1, "2d3adedff11b61f14c886e35afa03673"},
      {64, "4eed7141ea4a5cd4b788606bd23f46e2"},
      {65, "de1e5fa0be70df6d2be8fffd0e99ceaa"},
      {1024, "42214739f095a406f3fc83deb889744a"},
      {1025, "d00278ae47eb27b34faecf67b4fe263f"},
      {3072, "b98cb0ff3623be03326b373de6b90952"},
      {4096, "015094013f57a5277b59d8475c050104"},
      {4097, "9b4052b38f1c5fc8b1f9ff7ac7b27cd2"},
      {8193, "bab6c09cb8ce8cf459261398d2e7aef3"},
      {31744, "62b6960e1a44bcc1eb1a611a8d6235b6"},
      {102400, "bc3e3d41a1146b069abffad3c0d44860"}};
  for (auto [size, expected] : digests) {
    std::vector<uint8_t> bytes(size);
    for (size_t i = 0; i < size; ++i)
      bytes[i] = static_cast<uint8_t>(i % 251);
    std::string found;
    for (uint8_t byte : tinh::runtime::blake3(bytes.data(), size))
      for (int digit : {byte >> 4, byte & 15})
        found += "0123456789abcdef"[digit];
    EXPECT_EQ(found, expected) << size;
  }
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
