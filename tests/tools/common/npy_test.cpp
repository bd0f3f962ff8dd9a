//===- npy_test.cpp - Reading and writing .npy files ------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is written is read again, and damaged files are told.
//
//===----------------------------------------------------------------------===//
#include "npy.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <random>

using namespace tinh::tools;

namespace {

class Npy : public testing::Test {
protected:
  Npy() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "tinh-npy-XXXXXX").string();
    folder = mkdtemp(pattern.data());
    path = folder + "/a.npy";
  }
  ~Npy() override { std::filesystem::remove_all(folder); }

  std::string content() const {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void replace(const std::string &bytes) const {
    std::filesystem::remove(path); // Or some file systems flush each version.
    std::ofstream(path, std::ios::binary) << bytes;
  }

  std::string folder, path, message;
};

} // namespace

TEST_F(Npy, EveryTypeAndRankComesBack) {
  const size_t sizes[] = {1, 1, 1, 2, 2, 4, 4, 8, 8, 2,
                          2, 4, 8, 1, 1, 1, 1, 1, 1};
  std::vector<int64_t> dims;
  for (int dtype = TINH_DTYPE_BOOL; dtype <= TINH_DTYPE_F4E2M1FN; ++dtype) {
    std::vector<char> data(sizes[dtype]);
    for (int64_t dim : dims)
      data.resize(data.size() * size_t(dim));
    for (size_t i = 0; i < data.size(); ++i)
      data[i] = static_cast<char>(i * 7);
    ASSERT_TRUE(write_npy(path, tinh_dtype_t(dtype), dims, data.data(),
                          data.size(), &message))
        << message;
    NpyArray array;
    ASSERT_TRUE(read_npy(path, &array, &message)) << message;
    EXPECT_TRUE(can_be(array.dtype, tinh_dtype_t(dtype)));
    EXPECT_EQ(array.dtype, std::min(dtype, int(TINH_DTYPE_F8E4M3FN)));
    EXPECT_EQ(array.dims, dims);
    EXPECT_EQ(array.data, data);
    dims.push_back(dtype % 3 == 2 ? 3 : 1);
    if (dims.size() > TINH_MAX_RANK)
      dims = {0, 5};
  }
}

TEST_F(Npy, BytesCanBeAllFloatsOf8And4Bits) {
  const tinh_dtype_t floats[] = {TINH_DTYPE_F8E4M3FN,  TINH_DTYPE_F8E4M3FNUZ,
                                 TINH_DTYPE_F8E5M2,    TINH_DTYPE_F8E5M2FNUZ,
                                 TINH_DTYPE_F8E8M0FNU, TINH_DTYPE_F4E2M1FN};
  for (tinh_dtype_t wanted : floats) {
    EXPECT_TRUE(can_be(TINH_DTYPE_F8E4M3FN, wanted));
    EXPECT_FALSE(can_be(TINH_DTYPE_U8, wanted));
    EXPECT_FALSE(can_be(wanted, TINH_DTYPE_I8));
  }
  // As ml_dtypes names one of them, and pads its header.
  std::string header = "{'descr': '<f1', 'fortran_order': False, 'shape': (2,)";
  header.append(117 - header.size(), ' ').append("}\n");
  replace(std::string("\x93NUMPY\x01\x00\x77\x00", 10) + header + "ab");
  NpyArray array;
  ASSERT_TRUE(read_npy(path, &array, &message)) << message;
  EXPECT_EQ(array.dtype, TINH_DTYPE_F8E5M2);
}

TEST_F(Npy, StringsAreBytesInALastDimension) {
  auto file = [&](std::string descr, const std::string &data) {
    std::string header =
        "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (2,), ";
    header.append(117 - header.size(), ' ').append("}\n");
    replace(std::string("\x93NUMPY\x01\x00\x77\x00", 10) + header + data);
  };
  NpyArray array;
  file("|S3", std::string("a\0\0bcd", 6));
  ASSERT_TRUE(read_npy(path, &array, &message)) << message;
  EXPECT_EQ(array.dtype, TINH_DTYPE_U8);
  EXPECT_TRUE(array.is_string);
  EXPECT_EQ(array.dims, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(std::string(array.data.data(), 6), std::string("a\0\0bcd", 6));
  // An e with an accent has two bytes.
  file("<U2", std::string("\xe9\0\0\0z\0\0\0y\0\0\0\0\0\0\0", 16));
  ASSERT_TRUE(read_npy(path, &array, &message)) << message;
  EXPECT_EQ(array.dims, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(std::string(array.data.data(), 6),
            std::string("\xc3\xa9zy\0\0", 6));
  file("|S0", "");
  ASSERT_TRUE(read_npy(path, &array, &message)) << message;
  EXPECT_EQ(array.dims, (std::vector<int64_t>{2, 1}));
  EXPECT_EQ(array.data, std::vector<char>(2));
  for (const char *wrong : {">U2", "|S", "|S-1", "<S3", "|S9999999999"}) {
    file(wrong, std::string(16, 'a'));
    EXPECT_FALSE(read_npy(path, &array, &message)) << wrong;
    EXPECT_NE(message.find("is not supported"), std::string::npos) << message;
  }
}

TEST_F(Npy, MappedElementsAreThoseThatAreRead) {
  std::vector<float> data = {1, 2, 3, 4, 5, 6};
  ASSERT_TRUE(
      write_npy(path, TINH_DTYPE_F32, {2, 3}, data.data(), 24, &message));
  NpyArray array;
  ASSERT_TRUE(map_npy(path, &array, &message)) << message;
  EXPECT_EQ(array.dims, (std::vector<int64_t>{2, 3}));
  EXPECT_TRUE(array.data.empty());
  ASSERT_EQ(array.bytes().size(), 24u);
  EXPECT_EQ(std::memcmp(array.bytes().data(), data.data(), 24), 0);
  const std::string whole = content();
  array.bytes()[0] = 7; // Of this process.
  EXPECT_EQ(content(), whole);
  // What has no elements is read.
  ASSERT_TRUE(write_npy(path, TINH_DTYPE_F32, {0, 3}, nullptr, 0, &message));
  ASSERT_TRUE(map_npy(path, &array, &message)) << message;
  EXPECT_EQ(array.bytes().size(), 0u);
}

TEST_F(Npy, DamageIsToldAndNeverFollowed) {
  std::vector<float> data(6, 1.5f);
  ASSERT_TRUE(
      write_npy(path, TINH_DTYPE_F32, {2, 3}, data.data(), 24, &message));
  const std::string whole = content();
  NpyArray array;
  for (size_t size = 0; size < whole.size(); ++size) {
    replace(whole.substr(0, size));
    ASSERT_FALSE(read_npy(path, &array, &message)) << size;
    ASSERT_EQ(message.rfind("cannot read '" + path + "': ", 0), 0u) << message;
    std::string why = message;
    ASSERT_FALSE(map_npy(path, &array, &message)) << size;
    ASSERT_EQ(message, why);
  }
  std::mt19937 random(1);
  for (int trial = 0; trial < 2000; ++trial) {
    std::string damaged = whole;
    for (int change = 0; change < 3; ++change)
      damaged[random() % damaged.size()] = static_cast<char>(random());
    replace(damaged);
    if (read_npy(path, &array, &message)) {
      size_t elements = 1;
      for (int64_t dim : array.dims)
        elements *= size_t(dim);
      ASSERT_LE(elements, array.data.size());
    }
  }
}

TEST_F(Npy, LeavesNoHalfFile) {
  std::vector<char> data(8);
  EXPECT_FALSE(write_npy(folder + "/none/a.npy", TINH_DTYPE_U8, {8},
                         data.data(), 8, &message));
  EXPECT_EQ(message, "cannot write '" + folder +
                         "/none/a.npy': No such file or directory");
}
