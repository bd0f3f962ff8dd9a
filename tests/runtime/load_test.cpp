//===- load_test.cpp - Loading artifacts, whole and broken ------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every way in which a file can be wrong gives a status and a sentence.
//
//===----------------------------------------------------------------------===//
#include "artifact/elf_note.h"
#include "support/error.h"
#include "toy.h"

#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <random>

static tinh_status_t try_load(const std::string &path) {
  tinh_module_t *module = nullptr;
  tinh_status_t status = tinh_module_load(path.c_str(), &module);
  tinh_module_release(module);
  return status;
}

static bool said(const char *text) {
  return std::string(tinh_last_error()).find(text) != std::string::npos;
}

TEST(Load, DescribesItself) {
  Toy toy;
  tinh_module_t *module = nullptr;
  ASSERT_EQ(tinh_module_load(toy.path().c_str(), &module), TINH_OK)
      << tinh_last_error();
  tinh_module_info_t info;
  ASSERT_EQ(tinh_module_info(module, &info), TINH_OK);
  EXPECT_STREQ(info.model, "toy");
  EXPECT_STREQ(info.cpu, "toy-cpu");
  uint32_t index = 99;
  EXPECT_EQ(tinh_module_find_function(module, "count", &index), TINH_OK);
  EXPECT_EQ(index, 1u);
  EXPECT_EQ(tinh_module_find_function(module, "x", &index), TINH_NOT_FOUND);
  EXPECT_TRUE(said("it has 'main', 'count', 'chain', 'late'"))
      << tinh_last_error();
  tinh_tensor_info_t tensor;
  ASSERT_EQ(tinh_module_input_info(module, 0, 0, &tensor), TINH_OK);
  EXPECT_STREQ(tensor.name, "x");
  EXPECT_EQ(tensor.dims[0], 1024);
  EXPECT_EQ(tinh_module_input_info(module, 0, 1, &tensor),
            TINH_INVALID_ARGUMENT);
  EXPECT_EQ(tinh_module_output_info(module, 7, 0, &tensor),
            TINH_INVALID_ARGUMENT);
  tinh_module_release(module);
}

TEST(Load, TruncatedAtAnyLength) {
  Toy toy;
  std::string path = toy.path();
  for (uint64_t size = std::filesystem::file_size(path); size > 0;) {
    size -= std::min<uint64_t>(size, size % 97 + 1);
    std::filesystem::resize_file(path, size);
    ASSERT_EQ(try_load(path), TINH_INVALID_ARTIFACT) << size;
    ASSERT_TRUE(said("cannot load '")) << size;
  }
  EXPECT_TRUE(said("the file is empty"));
}

TEST(Load, DamagedHeadersAreReadWithoutHarm) {
  Toy toy;
  std::string path = toy.path();
  std::ifstream whole(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(whole)), {});
  std::mt19937 random(1);
  int refused = 0;
  for (int trial = 0; trial < 1000; ++trial) {
    std::string damaged = bytes;
    for (int change = 0; change < 4; ++change)
      damaged[random() % 1024] = static_cast<char>(random());
    std::filesystem::remove(path);
    std::ofstream(path, std::ios::binary) << damaged;
    try {
      // What a loader would do with the rest is not this library's concern.
      tinh::runtime::read_note(tinh::runtime::File(path, "it"), path);
    } catch (const tinh::runtime::Error &) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 300);
}

/// Each byte of a file counts: of headers, relocations, descriptors, code and
/// images, and of the checksum itself. Those of weights alone do not.
TEST(Load, ChangedBytes) {
  Toy toy;
  std::string path = toy.path();
  std::ifstream whole(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(whole)), {});
  size_t end_of_weights = bytes.size() - sizeof(uint64_t);
  size_t weights = end_of_weights - 1024 * sizeof(float);
  std::mt19937 random(2);
  for (size_t at = 0; at < bytes.size(); at += 1 + random() % 31) {
    if (at >= weights && at < end_of_weights)
      continue;
    std::string damaged = bytes;
    damaged[at] ^= static_cast<char>(1u << random() % 8);
    std::filesystem::remove(path);
    std::ofstream(path, std::ios::binary) << damaged;
    ASSERT_NE(try_load(path), TINH_OK) << at;
    ASSERT_TRUE(said("cannot load '")) << at;
  }
}

TEST(Load, OtherVersion) {
  Toy toy([](tinh_note_t &note) { note.version = 77; });
  EXPECT_EQ(try_load(toy.path()), TINH_INCOMPATIBLE);
  EXPECT_TRUE(said("it has artifact version 77")) << tinh_last_error();
}

TEST(Load, OtherCpu) {
  Toy toy([](tinh_note_t &note) { note.cpu_features |= 1ull << 60; });
  EXPECT_EQ(try_load(toy.path()), TINH_INCOMPATIBLE);
  EXPECT_TRUE(said("the CPU 'toy-cpu' and needs bit 60")) << tinh_last_error();
}

TEST(Load, WeightsOutsideTheFile) {
  Toy toy([](tinh_note_t &note) { note.weights_offset = 1ull << 40; });
  EXPECT_EQ(try_load(toy.path()), TINH_INVALID_ARTIFACT);
  EXPECT_TRUE(said("its Tinh note is damaged")) << tinh_last_error();
}

TEST(Load, ExternalWeights) {
  Toy good({}, true);
  EXPECT_EQ(try_load(good.path()), TINH_OK) << tinh_last_error();
  Toy other([](tinh_note_t &note) { note.weights_digest[3] ^= 1; }, true);
  EXPECT_EQ(try_load(other.path()), TINH_INVALID_ARTIFACT);
  EXPECT_TRUE(said("the digests differ")) << tinh_last_error();
  std::filesystem::resize_file(good.folder / "toy.safetensors", 5000);
  EXPECT_EQ(try_load(good.path()), TINH_INVALID_ARTIFACT);
  std::filesystem::remove(good.folder / "toy.safetensors");
  EXPECT_EQ(try_load(good.path()), TINH_NOT_FOUND);
}

TEST(Load, NoArtifact) {
  EXPECT_EQ(try_load("/nonexistent.so"), TINH_NOT_FOUND);
  EXPECT_EQ(try_load("/"), TINH_INVALID_ARTIFACT);
  EXPECT_EQ(try_load(__FILE__), TINH_INVALID_ARTIFACT);
  EXPECT_EQ(tinh_module_load(nullptr, nullptr), TINH_INVALID_ARGUMENT);
}

TEST(Names, OfStatusesAndElementTypes) {
  EXPECT_STREQ(tinh_status_name(TINH_OK), "TINH_OK");
  for (int i = 0; i <= TINH_DEVICE_ERROR; ++i)
    EXPECT_EQ(std::string(tinh_status_name(tinh_status_t(i))).substr(0, 5),
              "TINH_");
  EXPECT_STREQ(tinh_status_name(tinh_status_t(99)), "?");
  EXPECT_STREQ(tinh_dtype_name(TINH_DTYPE_BF16), "bf16");
  EXPECT_EQ(tinh_dtype_size(TINH_DTYPE_BF16), 2u);
  EXPECT_STREQ(tinh_dtype_name(tinh_dtype_t(99)), "?");
  EXPECT_EQ(tinh_dtype_size(tinh_dtype_t(99)), 0u);
}
