//===- inputs_test.cpp - Contents of a run's inputs -------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// --input's arguments, and generated values of each element type.
//
//===----------------------------------------------------------------------===//
#include "inputs.h"

#include <cstring>
#include <gtest/gtest.h>

using namespace tinh::tools;

namespace {

constexpr int64_t dims[] = {10, 100};

tinh_tensor_info_t tensor(const char *name, tinh_dtype_t dtype) {
  return {name, dtype, 2, dims, 1000 * tinh_dtype_size(dtype)};
}

/// The elements of `bytes`, as doubles.
template <typename T>
std::vector<double> values(const std::vector<char> &bytes) {
  std::vector<T> elements(bytes.size() / sizeof(T));
  std::memcpy(elements.data(), bytes.data(), bytes.size());
  return {elements.begin(), elements.end()};
}

template <typename T>
void expect_small_integers(tinh_dtype_t dtype, int bound) {
  std::vector<bool> seen(static_cast<size_t>(bound));
  for (double value : values<T>(make_input(tensor("x", dtype), "random"))) {
    ASSERT_GE(value, 0);
    ASSERT_LT(value, bound);
    seen[static_cast<size_t>(value)] = true;
  }
  EXPECT_EQ(seen, std::vector<bool>(seen.size(), true)) << int(dtype);
}

template <typename T> void expect_normal(tinh_dtype_t dtype) {
  double sum = 0, squares = 0;
  for (double value : values<T>(make_input(tensor("x", dtype), "random"))) {
    sum += value;
    squares += value * value;
  }
  EXPECT_NEAR(sum / 1000, 0, 0.2);
  EXPECT_NEAR(squares / 1000, 1, 0.3);
}

} // namespace

TEST(Inputs, RandomOfEachType) {
  expect_small_integers<uint8_t>(TINH_DTYPE_BOOL, 2);
  expect_small_integers<int8_t>(TINH_DTYPE_I8, 10);
  expect_small_integers<uint8_t>(TINH_DTYPE_U8, 10);
  expect_small_integers<int16_t>(TINH_DTYPE_I16, 10);
  expect_small_integers<uint16_t>(TINH_DTYPE_U16, 10);
  expect_small_integers<int32_t>(TINH_DTYPE_I32, 10);
  expect_small_integers<uint32_t>(TINH_DTYPE_U32, 10);
  expect_small_integers<int64_t>(TINH_DTYPE_I64, 10);
  expect_small_integers<uint64_t>(TINH_DTYPE_U64, 10);
  expect_normal<float>(TINH_DTYPE_F32);
  expect_normal<double>(TINH_DTYPE_F64);
}

TEST(Inputs, HalvesAreNormalToo) {
  int small[2] = {}, index = 0;
  // The exponent's bits: below 1 in magnitude are 68 % of the values.
  for (auto [dtype, one] : {std::pair{TINH_DTYPE_F16, 0x3c00},
                            std::pair{TINH_DTYPE_BF16, 0x3f80}}) {
    for (double bits :
         values<uint16_t>(make_input(tensor("x", dtype), "random")))
      small[index] += (int(bits) & 0x7fff) < one;
    EXPECT_NEAR(small[index++], 683, 90);
  }
}

TEST(Inputs, FloatsOf4BitsAreNormalAndPowersOfTwoNearOne) {
  int small = 0, negative = 0;
  for (double bits : values<uint8_t>(
           make_input(tensor("x", TINH_DTYPE_F4E2M1FN), "random"))) {
    EXPECT_LT(bits, 16);
    small += (int(bits) & 7) < 2; // Less than 1.
    negative += int(bits) >= 8;
  }
  EXPECT_NEAR(small, 550, 110);
  EXPECT_NEAR(negative, 400, 100); // There is no -0.
  for (double bits : values<uint8_t>(
           make_input(tensor("x", TINH_DTYPE_F8E8M0FNU), "random"))) {
    EXPECT_GE(bits, 125);
    EXPECT_LE(bits, 129);
  }
}

TEST(Inputs, FloatsOf8BitsAreNormalToo) {
  // The bits of 1.
  for (auto [dtype, one] : {std::pair{TINH_DTYPE_F8E4M3FN, 0x38},
                            std::pair{TINH_DTYPE_F8E4M3FNUZ, 0x40},
                            std::pair{TINH_DTYPE_F8E5M2, 0x3c},
                            std::pair{TINH_DTYPE_F8E5M2FNUZ, 0x40}}) {
    int small = 0, negative = 0;
    for (double bits :
         values<uint8_t>(make_input(tensor("x", dtype), "random"))) {
      small += (int(bits) & 0x7f) < one;
      negative += int(bits) >= 0x80;
    }
    EXPECT_NEAR(small, 650, 110);
    EXPECT_NEAR(negative, 500, 100);
  }
}

TEST(Inputs, DependOnNameAndTypeAlone) {
  auto of = [](const char *name) {
    return make_input(tensor(name, TINH_DTYPE_F32), "random");
  };
  EXPECT_EQ(of("a"), of("a"));
  EXPECT_NE(of("a"), of("b"));
  EXPECT_EQ(make_input(tensor("a", TINH_DTYPE_I16), "zeros"),
            std::vector<char>(2000));
}

TEST(Inputs, MemoryIsNamed) {
  tinh_tensor_info_t huge = tensor("y", TINH_DTYPE_F32);
  huge.size = uint64_t(1) << 63; // Sanitizers abort where a system refuses.
  try {
    allocate(huge, "output");
    FAIL();
  } catch (const UserError &error) {
    EXPECT_STREQ(error.what(), "cannot allocate 9223372036854775808 bytes for "
                               "the output 'y' (f32 10x100)");
  }
}

TEST(Inputs, FilesAreOfOneTensor) {
  std::map<std::string, std::string> files;
  claim_file(tensor("a/b", TINH_DTYPE_F32), files, "--output-dir", "out");
  claim_file(tensor("a/b", TINH_DTYPE_F32), files, "--output-dir", "out");
  claim_file(tensor("a_c", TINH_DTYPE_F32), files, "--output-dir", "out");
  try {
    claim_file(tensor("a_b", TINH_DTYPE_F32), files, "--output-dir", "out");
    FAIL();
  } catch (const UserError &error) {
    EXPECT_STREQ(error.what(),
                 "--output-dir: 'a/b' and 'a_b' would both be 'out/a_b.npy', "
                 "as files have _ for each / of a name; rename one of them in "
                 "the model");
  }
}

TEST(Inputs, NamesMayHaveSignsInThem) {
  std::vector<tinh_tensor_info_t> tensors = {
      tensor("a=b", TINH_DTYPE_F32), tensor("gpu_0/x:0", TINH_DTYPE_I8)};
  auto sources = parse_inputs({"a=b=c=d.npy", "gpu_0/x:0=zeros"}, tensors);
  EXPECT_EQ(sources["a=b"], "c=d.npy");
  EXPECT_EQ(sources["gpu_0/x:0"], "zeros");
  check_inputs(sources, tensors);
  EXPECT_EQ(file_of(tensors[1]), "gpu_0_x:0.npy");
  try {
    parse_inputs({"a=zeros"}, tensors);
    FAIL();
  } catch (const UserError &error) {
    EXPECT_STREQ(error.what(),
                 "the model has no input 'a'; its inputs are 'a=b' (f32 "
                 "10x100), 'gpu_0/x:0' (i8 10x100)");
  }
}

TEST(Inputs, AllNeedASource) {
  std::vector<tinh_tensor_info_t> tensors = {tensor("a", TINH_DTYPE_F32),
                                             tensor("b", TINH_DTYPE_I8)};
  try {
    check_inputs(parse_inputs({"a=zeros"}, tensors), tensors);
    FAIL();
  } catch (const UserError &error) {
    EXPECT_STREQ(error.what(),
                 "these inputs are missing; give them as\n"
                 "  --input b=FILE.npy   (i8 10x100; or =random, =zeros)\n"
                 "or all others by --inputs=random, zeros, a folder or an .npz "
                 "file");
  }
}
