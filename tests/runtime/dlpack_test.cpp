//===- dlpack_test.cpp - Exchange of tensors without copies -----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs on DLPack tensors, and what is refused.
//
//===----------------------------------------------------------------------===//
#include "tinh/dlpack.h"

#include "toy_context.h"

#include <dlpack/dlpack.h>

namespace {

/// A tensor as another library would hand it over: 2 x 3 x 4 of f32.
class DLPack : public testing::Test {
protected:
  DLPack() {
    given.dl_tensor.data = memory;
    given.dl_tensor.device = {kDLCPU, 0};
    given.dl_tensor.ndim = 3;
    given.dl_tensor.dtype = {kDLFloat, 32, 1};
    given.dl_tensor.shape = shape;
    given.dl_tensor.strides = strides;
  }

  tinh_status_t import() {
    return tinh_buffer_from_dlpack(&wanted, &given, &buffer);
  }

  void expect_refused(const char *message) {
    EXPECT_EQ(import(), TINH_INVALID_ARGUMENT);
    EXPECT_STREQ(tinh_last_error(), message);
  }

  alignas(8) float memory[26] = {};
  int64_t dims[3] = {2, 3, 4}, shape[3] = {2, 3, 4}, strides[3] = {12, 4, 1};
  tinh_tensor_info_t wanted = {"x", TINH_DTYPE_F32, 3, dims, 96};
  DLManagedTensor given = {};
  tinh_buffer_t buffer = {};
};

class DLPackRun : public ToyContext {};

} // namespace

TEST_F(DLPack, TakesDenseTensors) {
  ASSERT_EQ(import(), TINH_OK) << tinh_last_error();
  EXPECT_EQ(buffer.data, memory);
  EXPECT_EQ(buffer.size, 96u);
  given.dl_tensor.strides = nullptr;
  given.dl_tensor.byte_offset = 8;
  ASSERT_EQ(import(), TINH_OK) << tinh_last_error();
  EXPECT_EQ(buffer.data, memory + 2);
}

TEST_F(DLPack, IgnoresStridesThatNothingIsReachedBy) {
  dims[0] = shape[0] = 1;
  strides[0] = 777;
  wanted.size = 48;
  EXPECT_EQ(import(), TINH_OK) << tinh_last_error();
  dims[2] = shape[2] = 0;
  wanted.size = 0;
  given.dl_tensor.data = nullptr;
  EXPECT_EQ(import(), TINH_OK) << tinh_last_error();
}

TEST_F(DLPack, RefusesWhatDoesNotFit) {
  strides[0] = 24;
  expect_refused("tensor 'x': the DLPack tensor has strides [24, 4, 1]; it "
                 "must be dense and row-major, so make a contiguous copy "
                 "first");
  shape[1] = 5;
  expect_refused("tensor 'x': the DLPack tensor has shape [2, 5, 4], where "
                 "[2, 3, 4] is expected");
  given.dl_tensor.dtype = {kDLFloat, 64, 1};
  expect_refused("tensor 'x': the DLPack tensor has elements of f64, where "
                 "f32 is expected");
  given.dl_tensor.dtype = {kDLComplex, 64, 1};
  expect_refused("tensor 'x': the DLPack tensor has elements of type code 5 "
                 "of 64 bits, 1 lanes, where f32 is expected");
  given.dl_tensor.device.device_type = kDLCUDA;
  expect_refused("tensor 'x': the DLPack tensor is on device type 2, not in "
                 "CPU memory (1); copy it there first");
}

TEST_F(DLPack, RefusesMisalignedAndMissingMemory) {
  given.dl_tensor.byte_offset = 2;
  expect_refused("tensor 'x': the buffer is not aligned to its elements of 4 "
                 "bytes");
  given.dl_tensor.data = nullptr;
  expect_refused("tensor 'x': the buffer is NULL");
  EXPECT_EQ(tinh_buffer_from_dlpack(&wanted, nullptr, &buffer),
            TINH_INVALID_ARGUMENT);
  EXPECT_STREQ(tinh_last_error(), "dlpack is NULL");
}

TEST_F(DLPack, EveryElementTypeComesBack) {
  for (int i = 0; i <= TINH_DTYPE_F4E2M1FN; ++i) {
    wanted.dtype = static_cast<tinh_dtype_t>(i);
    wanted.size = 24 * tinh_dtype_size(wanted.dtype);
    DLManagedTensor *made = nullptr;
    ASSERT_EQ(tinh_dlpack_create(&wanted, &made), TINH_OK);
    EXPECT_EQ(made->dl_tensor.dtype.bits, 8 * tinh_dtype_size(wanted.dtype));
    EXPECT_EQ(tinh_buffer_from_dlpack(&wanted, made, &buffer), TINH_OK)
        << tinh_last_error();
    EXPECT_EQ(buffer.data, made->dl_tensor.data);
    EXPECT_EQ(made->dl_tensor.strides[0], 12);
    made->deleter(made);
  }
}

TEST_F(DLPack, GivesBackTheProgramsMemory) {
  int released = 0;
  auto release = [](void *user) { ++*static_cast<int *>(user); };
  buffer = {memory, 96};
  DLManagedTensor *made = nullptr;
  ASSERT_EQ(
      tinh_dlpack_from_buffer(&wanted, &buffer, release, &released, &made),
      TINH_OK);
  EXPECT_EQ(made->dl_tensor.data, memory);
  EXPECT_EQ(released, 0);
  made->deleter(made);
  EXPECT_EQ(released, 1);
  buffer.size = 95;
  EXPECT_EQ(
      tinh_dlpack_from_buffer(&wanted, &buffer, release, &released, &made),
      TINH_INVALID_ARGUMENT);
  EXPECT_STREQ(tinh_last_error(),
               "tensor 'x' has 96 bytes, but its buffer has 95");
}

TEST_F(DLPackRun, ReadsAndWritesTensorsThatOutliveIt) {
  open(2);
  tinh_tensor_info_t in, out;
  ASSERT_EQ(tinh_module_input_info(module, 0, 0, &in), TINH_OK);
  ASSERT_EQ(tinh_module_output_info(module, 0, 0, &out), TINH_OK);
  std::vector<float> x = input(3);
  tinh_buffer_t buffer = {x.data(), x.size() * 4}, result_buffer;
  DLManagedTensor *given = nullptr, *result = nullptr;
  ASSERT_EQ(tinh_dlpack_from_buffer(&in, &buffer, nullptr, nullptr, &given),
            TINH_OK);
  ASSERT_EQ(tinh_dlpack_create(&out, &result), TINH_OK);
  ASSERT_EQ(tinh_buffer_from_dlpack(&in, given, &buffer), TINH_OK);
  ASSERT_EQ(tinh_buffer_from_dlpack(&out, result, &result_buffer), TINH_OK);
  ASSERT_EQ(tinh_context_run(context, 0, &buffer, 1, &result_buffer, 1),
            TINH_OK);
  close();
  tinh_module_release(module);
  module = nullptr;
  given->deleter(given);
  const float *y = static_cast<float *>(result->dl_tensor.data);
  EXPECT_EQ(std::vector<float>(y, y + result->dl_tensor.shape[0]),
            expected_of(x));
  result->deleter(result);
}
