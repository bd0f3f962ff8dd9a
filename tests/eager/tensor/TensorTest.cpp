//===- TensorTest.cpp - Handles, dtypes, creation, elements -----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "TensorTesting.h"

#include <dlpack/dlpack.h>
#include <sstream>
#include <thread>

using namespace tinh;
using namespace tinh::test;

TEST(DTypes, SizesAreThoseOfTheRuntime) {
  for (int i = TINH_DTYPE_BOOL; i <= TINH_DTYPE_F4E2M1FN; ++i) {
    auto dtype = static_cast<tinh_dtype_t>(i);
    EXPECT_EQ(DType(dtype).size(), tinh_dtype_size(dtype))
        << tinh_dtype_name(dtype);
  }
}

TEST(Tensor, HandlesAliasAndClonesDoNot) {
  Tensor x = tensor({1.0, 2.0}), y = x, z = x.clone();
  EXPECT_TRUE(x.is_same(y));
  EXPECT_FALSE(x.is_same(z));
  x += 1;
  EXPECT_EQ(reals(y), (Reals{2, 3}));
  EXPECT_EQ(reals(z), (Reals{1, 2}));
  x = z;
  EXPECT_EQ(reals(y), (Reals{2, 3})) << "an assignment changed elements";
}

TEST(Tensor, MetadataIsKnown) {
  Tensor x = zeros({2, 3, 4}, float16);
  EXPECT_EQ(x.shape(), (Shape{2, 3, 4}));
  EXPECT_EQ(x.strides(), (IntArray{12, 4, 1}));
  EXPECT_EQ(x.size(-1), 4);
  EXPECT_EQ(x.dim(), 3);
  EXPECT_EQ(x.numel(), 24);
  EXPECT_EQ(x.nbytes(), 48u);
  EXPECT_TRUE(x.is_contiguous());
  EXPECT_FALSE(x.transpose(0, 1).is_contiguous());
  EXPECT_TRUE(tensor(1).shape().empty());
}

TEST(Tensor, LiteralsHaveShapesAndDefaultDTypes) {
  EXPECT_EQ(tensor({{1, 2, 3}, {4, 5, 6}}).shape(), (Shape{2, 3}));
  EXPECT_EQ(tensor({{{1}, {2}}, {{3}, {4}}}).shape(), (Shape{2, 2, 1}));
  EXPECT_EQ(tensor({1, 2}).dtype(), int64);
  EXPECT_EQ(tensor({1.0, 2.0}).dtype(), float32);
  EXPECT_EQ(tensor({true, false}).dtype(), boolean);
  EXPECT_EQ(tensor({{true}, {false}}).dtype(), boolean);
  EXPECT_EQ(tensor({1, 2}, uint8).dtype(), uint8);
  EXPECT_EQ(from_data(std::vector<int>{1, 2}).dtype(), int32);
  EXPECT_EQ(from_data(std::vector<double>{1, 2}, Shape{2, 1}).dtype(), float64);
  EXPECT_EQ(integers(tensor({{1, 2}, {3, 4}})), (Integers{1, 2, 3, 4}));
}

TEST(Tensor, DataIsCopiedAtTheCall) {
  std::vector<float> data = {1, 2, 3};
  Tensor x = from_data(data);
  data.assign(3, 0);
  EXPECT_EQ(reals(x), (Reals{1, 2, 3}));
}

TEST(Tensor, ConversionsFollowC) {
  Tensor x = tensor({-1.7, 0.0, 2.9});
  EXPECT_EQ(integers(x.to(int32)), (Integers{-1, 0, 2}));
  EXPECT_EQ(integers(x.to(boolean)), (Integers{1, 0, 1}));
  EXPECT_EQ(integers(tensor({300, -1}).to(uint8)), (Integers{44, 255}));
  EXPECT_EQ(reals(tensor({true, false}).to(float16)), (Reals{1, 0}));
  EXPECT_TRUE(x.to(float32).is_same(x));
  EXPECT_EQ(reals(tensor({1.0009765625, 65504.0}, float64).to(float16)),
            (Reals{1.0009765625, 65504}));
  EXPECT_EQ(reals(tensor({1.00390625}, float64).to(bfloat16)), (Reals{1}));
}

TEST(Tensor, ItemsAreConverted) {
  EXPECT_EQ(tensor(2.5).item<double>(), 2.5);
  EXPECT_EQ(tensor({{7}}).item<float>(), 7.0f);
  EXPECT_EQ(tensor(2.5).item<int>(), 2);
  EXPECT_TRUE(tensor(3).item<bool>());
  EXPECT_EQ(tensor({1, 0}).to_vector<bool>(), (std::vector<bool>{true, false}));
  std::vector<int64_t> copy(4);
  arange(4).reshape({2, 2}).t().copy_to(copy.data());
  EXPECT_EQ(copy, (Integers{0, 2, 1, 3}));
}

//===----------------------------------------------------------------------===//
// Promotion
//===----------------------------------------------------------------------===//

TEST(Promotion, CategoriesDecideFirst) {
  EXPECT_EQ(promote_types(int64, float16), float16);
  EXPECT_EQ(promote_types(boolean, uint8), uint8);
  EXPECT_EQ(promote_types(float16, bfloat16), float32);
  EXPECT_EQ(promote_types(float16, float32), float32);
  EXPECT_EQ(promote_types(uint8, int8), int16);
  EXPECT_EQ(promote_types(uint32, int32), int64);
  EXPECT_EQ(promote_types(int64, uint8), int64);
  EXPECT_EQ(promote_types(uint64, uint8), uint64);
}

TEST(Promotion, NumbersAndScalarsAreWeak) {
  Tensor bytes = tensor({1, 2}, int8), halves = tensor({1.0, 2.0}, float16);
  EXPECT_EQ((bytes + 1).dtype(), int8);
  EXPECT_EQ((bytes + 1.5).dtype(), float32);
  EXPECT_EQ((1.5 * halves).dtype(), float16);
  EXPECT_EQ((halves + tensor(1.0, float64)).dtype(), float16);
  EXPECT_EQ((bytes + tensor(1.0, float64)).dtype(), float64);
  EXPECT_EQ((bytes + tensor(1, int64)).dtype(), int8);
  EXPECT_EQ((tensor(1, int8) + tensor(1, int64)).dtype(), int64);
  EXPECT_EQ((tensor({true}) + 1).dtype(), int64);
  EXPECT_EQ((tensor({true}) + tensor({true})).dtype(), boolean);
  EXPECT_EQ((bytes / bytes).dtype(), float32);
  EXPECT_EQ((bytes == 1).dtype(), boolean);
}

//===----------------------------------------------------------------------===//
// Empty tensors
//===----------------------------------------------------------------------===//

TEST(Empty, OperationsTakeThem) {
  Tensor x = zeros({0, 3});
  EXPECT_EQ((x + 1).shape(), (Shape{0, 3}));
  EXPECT_EQ(reals(x.sum(0)), (Reals{0, 0, 0}));
  EXPECT_EQ(reals(matmul(zeros({2, 0}), x.reshape({0, 3}))), Reals(6, 0.0));
  EXPECT_EQ(concat({x, ones({2, 3})}).shape(), (Shape{2, 3}));
  EXPECT_EQ(x.slice(1, 1).shape(), (Shape{0, 2}));
  EXPECT_EQ(softmax(x, 1).numel(), 0);
  EXPECT_EQ(sort(x, 0).indices.numel(), 0);
  EXPECT_EQ(to_string(x), "[]");
  EXPECT_TRUE(x.to_vector<float>().empty());
  EXPECT_TRUE(all(x > 0).item<bool>());
  EXPECT_EQ(arange(5, 5).numel(), 0);
  EXPECT_EQ(nonzero(zeros({3})).shape(), (Shape{0, 1}));
}

//===----------------------------------------------------------------------===//
// DLPack
//===----------------------------------------------------------------------===//

TEST(DLPack, SharesMemoryBothWays) {
  Tensor x = arange(6.0).reshape({2, 3}).t();
  DLManagedTensor *exported = to_dlpack(x);
  EXPECT_EQ(exported->dl_tensor.ndim, 2);
  EXPECT_EQ(exported->dl_tensor.shape[0], 3);
  EXPECT_EQ(exported->dl_tensor.strides[1], 3);
  Tensor y = from_dlpack(exported); // Calls the deleter in the end.
  EXPECT_EQ(y.shape(), x.shape());
  EXPECT_EQ(reals(y), reals(x));
  x.fill_(5);
  x.wait_to_read();
  EXPECT_EQ(reals(y), Reals(6, 5.0));
}

TEST(DLPack, ReleasesWhatItWasGiven) {
  bool released = false;
  float data[] = {1, 2, 3};
  int64_t shape[] = {3};
  DLManagedTensor given = {};
  given.dl_tensor = {data,  {kDLCPU, 0}, 1, {kDLFloat, 32, 1},
                     shape, nullptr,     0};
  given.manager_ctx = &released;
  given.deleter = [](DLManagedTensor *self) {
    *static_cast<bool *>(self->manager_ctx) = true;
  };
  {
    Tensor x = from_dlpack(&given);
    x += 1;
    x.wait_to_read();
    EXPECT_EQ(data[2], 4);
    EXPECT_FALSE(released);
  }
  EXPECT_TRUE(released);
}

TEST(Tensor, ThreadsUseTensorsTogether) {
  Tensor shared = ones(1000);
  std::vector<double> totals(4);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < totals.size(); ++i)
    threads.emplace_back([&, i] {
      eager::BackendScope scope(backendOfTests());
      Tensor own = shared.clone();
      for (int step = 0; step < 100; ++step)
        own += shared * double(i);
      totals[i] = own.sum().item<double>();
    });
  for (std::thread &thread : threads)
    thread.join();
  for (size_t i = 0; i < totals.size(); ++i)
    EXPECT_EQ(totals[i], 1000.0 * (1 + 100 * double(i)));
}

TEST(Print, StreamsWriteIt) {
  std::ostringstream text;
  text << tensor({{1.0, 2.5}}) << ' ' << Shape{2, 3} << ' ' << float32;
  EXPECT_EQ(text.str(), "[[1.  2.5]] [2, 3] f32");
}
