//===- linked_test.cpp - Models that are linked into the program ----------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The toy artifact's description, as if it were part of this program.
//
//===----------------------------------------------------------------------===//
#include "toy.h"

#include <cstring>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <memory>
#include <numeric>

namespace {

class Linked : public testing::Test {
protected:
  void SetUp() override {
    library = dlopen(TOY_ARTIFACT, RTLD_NOW | RTLD_LOCAL);
    ASSERT_TRUE(library) << dlerror();
    artifact = *static_cast<const tinh_artifact_t *>(
        dlsym(library, TINH_ARTIFACT_SYMBOL));
    std::iota(std::begin(weights), std::end(weights), 0.0f);
    note.version = TINH_ARTIFACT_VERSION;
    note.weights_embedded = 1;
    note.weights_size = sizeof weights;
    std::strcpy(note.cpu, "toy-cpu");
    std::memcpy(note.weights_digest, kToyDigest, sizeof kToyDigest);
    model = {&note, &artifact, weights};
  }
  void TearDown() override { dlclose(library); }

  /// As in the companion file of a Toy.
  void make_external() {
    note.weights_embedded = 0;
    note.weights_offset = 4096;
    std::strcpy(note.weights_file, "toy.safetensors");
    model.weights = nullptr;
  }

  tinh_status_t load(const char *weights_path = nullptr) {
    module.reset();
    tinh_module_t *loaded = nullptr;
    tinh_status_t status =
        tinh_module_load_linked(&model, weights_path, &loaded);
    module.reset(loaded);
    return status;
  }

  /// The loaded model computes what the toy does.
  void expect_to_run() {
    tinh_context_t *context = nullptr;
    ASSERT_EQ(tinh_context_create(module.get(), nullptr, &context), TINH_OK);
    std::vector<float> x(1024, 0.5f), y(1024);
    tinh_buffer_t in = {x.data(), 4096}, out = {y.data(), 4096};
    EXPECT_EQ(tinh_context_run(context, 0, &in, 1, &out, 1), TINH_OK)
        << tinh_last_error();
    EXPECT_EQ(y, expected_of(x));
    tinh_context_release(context);
  }

  void *library = nullptr;
  alignas(TINH_BUFFER_ALIGNMENT) float weights[1024];
  tinh_note_t note = {};
  tinh_artifact_t artifact = {};
  tinh_model_t model = {};
  struct Release {
    void operator()(tinh_module_t *module) const {
      tinh_module_release(module);
    }
  };
  std::unique_ptr<tinh_module_t, Release> module;
};

} // namespace

TEST_F(Linked, Runs) {
  ASSERT_EQ(load(), TINH_OK) << tinh_last_error();
  tinh_module_info_t info;
  ASSERT_EQ(tinh_module_info(module.get(), &info), TINH_OK);
  EXPECT_STREQ(info.model, "toy");
  EXPECT_STREQ(info.cpu, "toy-cpu");
  expect_to_run();
  ASSERT_EQ(load("/nonexistent"), TINH_OK); // Not looked at.
}

TEST_F(Linked, VerifiesItsWeights) {
  ASSERT_EQ(load(), TINH_OK) << tinh_last_error();
  EXPECT_EQ(tinh_module_verify_weights(module.get()), TINH_OK);
  weights[1] = -1;
  EXPECT_EQ(tinh_module_verify_weights(module.get()), TINH_INVALID_ARTIFACT);
  EXPECT_EQ(std::string(tinh_last_error())
                .find("the weights in 'the program' have changed"),
            0u);
}

TEST_F(Linked, ExternalWeights) {
  Toy toy({}, /*external_weights=*/true);
  make_external();
  std::string path = (toy.folder / "toy.safetensors").string();
  ASSERT_EQ(load(path.c_str()), TINH_OK) << tinh_last_error();
  expect_to_run();
  EXPECT_EQ(load(), TINH_INVALID_ARGUMENT);
  EXPECT_STREQ(tinh_last_error(),
               "cannot load the model 'toy' in the program: its weights are "
               "external; give the path of 'toy.safetensors'");
  note.weights_digest[3] ^= 1;
  EXPECT_EQ(load(path.c_str()), TINH_INVALID_ARTIFACT);
  EXPECT_NE(std::string(tinh_last_error()).find("the digests differ"),
            std::string::npos);
  EXPECT_EQ(load("/nonexistent"), TINH_NOT_FOUND);
}

TEST_F(Linked, OtherVersion) {
  note.version = 77;
  EXPECT_EQ(load(), TINH_INCOMPATIBLE);
  EXPECT_EQ(std::string(tinh_last_error())
                .find("cannot load a model that is linked into the program: "
                      "it has artifact version 77"),
            0u);
}

TEST_F(Linked, OtherCpu) {
  note.cpu_features = 1ull << 60;
  EXPECT_EQ(load(), TINH_INCOMPATIBLE);
  EXPECT_NE(std::string(tinh_last_error()).find("needs bit 60"),
            std::string::npos);
}

TEST_F(Linked, Damaged) {
  artifact.weights_size += 4;
  EXPECT_EQ(load(), TINH_INVALID_ARTIFACT);
  artifact.weights_size -= 4;
  artifact.num_kernels = 0; // Which steps run.
  EXPECT_EQ(load(), TINH_INVALID_ARTIFACT);
  EXPECT_STREQ(tinh_last_error(),
               "cannot load a model that is linked into the program: its "
               "description is damaged");
}

TEST_F(Linked, MissingArguments) {
  tinh_module_t *loaded = nullptr;
  EXPECT_EQ(tinh_module_load_linked(nullptr, nullptr, &loaded),
            TINH_INVALID_ARGUMENT);
  EXPECT_EQ(tinh_module_load_linked(&model, nullptr, nullptr),
            TINH_INVALID_ARGUMENT);
}
