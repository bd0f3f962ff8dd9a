//===- DeviceTest.cpp - Tensors on a GPU ----------------------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each operation gives on the GPU what it gives on the CPU. The GPU is the one
// of tests/cuda/driver, which runs the real code.
//
//===----------------------------------------------------------------------===//
#include "DeviceTesting.h"

#include "tinh/engine.h"
#include "tinh/losses.h"
#include "tinh/random.h"

using namespace tinh;

namespace {

TEST(DeviceTest, TellsThatThereIsAGpu) {
  EXPECT_TRUE(cuda_is_available());
  EXPECT_GE(cuda_device_count(), 1u);
  EXPECT_STREQ(cuda_device_info(kGpu.index()).name, "Emulated GPU");
}

TEST(DeviceTest, AddsAndPrints) {
  Tensor x = numbers({2, 3}), y = x.to(kGpu);
  EXPECT_TRUE(x.device().is_cpu());
  EXPECT_EQ(y.device(), kGpu);
  EXPECT_TRUE(y.to(kGpu).is_same(y));
  Tensor sum = y + y;
  EXPECT_EQ(sum.device(), kGpu);
  EXPECT_EQ(to_string(sum), to_string(x + x));
  EXPECT_EQ(sum.to_vector<float>(), (x + x).to_vector<float>());
  EXPECT_EQ(sum[1][2].item<float>(), (x + x)[1][2].item<float>());
}

TEST(DeviceTest, CreatesWhereItIsTold) {
  EXPECT_EQ(zeros({2}, float32, kGpu).device(), kGpu);
  EXPECT_EQ(ones({2}, int32, kGpu).to_vector<int>(), std::vector({1, 1}));
  EXPECT_EQ(full({2}, 0.5, float16, kGpu).dtype(), float16);
  EXPECT_EQ(empty({2}, float32, kGpu).device(), kGpu);
  EXPECT_TRUE(zeros({2}).device().is_cpu());
  DeviceScope scope(kGpu);
  EXPECT_EQ(arange(3).device(), kGpu);
  EXPECT_EQ(tensor({{1.0, 2.0}}).device(), kGpu);
  EXPECT_EQ(eye(3).to_vector<float>(),
            std::vector<float>({1, 0, 0, 0, 1, 0, 0, 0, 1}));
  EXPECT_EQ(linspace(0, 1, 3).to_vector<float>(),
            std::vector<float>({0, 0.5, 1}));
  Generator here(7), there(7);
  std::vector<float> drawn = normal({5, 3}, here).to_vector<float>();
  DeviceScope cpu(Device::cpu());
  std::vector<float> expected = normal({5, 3}, there).to_vector<float>();
  for (size_t i = 0; i < drawn.size(); ++i)
    EXPECT_NEAR(drawn[i], expected[i], 1e-5);
}

TEST(DeviceTest, ComputesAsTheCpu) {
  compare("arithmetic", {numbers({4, 5}), numbers({5})},
          [](auto &x) { return x[0] * 2.5 + x[1] / 3 - maximum(x[0], x[1]); });
  compare("functions", {numbers({3, 7})}, [](auto &x) {
    return exp(x[0]) + tanh(x[0]) * sigmoid(x[0]) + gelu(x[0]);
  });
  compare("comparisons", {numbers({3, 7})},
          [](auto &x) { return where(x[0] > 0, x[0], x[0] * x[0]); });
  compare("integers", {numbers({9}).to(int64)},
          [](auto &x) { return (x[0] * 3 % 5).to(float32); });
  compare("sums", {numbers({4, 6, 5})}, [](auto &x) {
    return x[0].sum(1) + x[0].max(1) + x[0].mean({0, 1});
  });
  compare("argmax", {numbers({4, 6})},
          [](auto &x) { return x[0].argmax(1).to(float32); });
  compare("cumsum", {numbers({4, 6})}, [](auto &x) { return cumsum(x[0], 1); });
  compare("cumprod", {numbers({4, 6})},
          [](auto &x) { return cumprod(x[0], 1); });
  compare("softmax", {numbers({4, 6})},
          [](auto &x) { return x[0].softmax(-1) + x[0].log_softmax(0); });
  compare("sort", {numbers({4, 6})},
          [](auto &x) { return sort(x[0], 1).values; });
}

TEST(DeviceTest, MultipliesAsTheCpu) {
  compare("matmul", {numbers({5, 7}), numbers({7, 3})},
          [](auto &x) { return matmul(x[0], x[1]); });
  compare("turned", {numbers({5, 7}), numbers({3, 7})},
          [](auto &x) { return matmul(x[0], x[1].t()); });
  compare("batches", {numbers({2, 5, 7}), numbers({2, 7, 3})},
          [](auto &x) { return matmul(x[0], x[1]); });
  compare("conv", {numbers({2, 3, 8, 8}), numbers({4, 3, 3, 3}), numbers({4})},
          [](auto &x) { return conv2d(x[0], x[1], x[2]); });
  compare("pool", {numbers({2, 3, 8, 8})},
          [](auto &x) { return max_pool2d(x[0], {2, 2}); });
  compare("einsum", {numbers({3, 4}), numbers({4, 5})},
          [](auto &x) { return einsum("ij,jk->ki", {x[0], x[1]}); });
}

TEST(DeviceTest, ReadsAndWritesViews) {
  compare("transpose", {numbers({4, 6})}, [](auto &x) { return x[0].t() * 2; });
  compare("slices", {numbers({4, 6})}, [](auto &x) {
    return x[0].slice(1, 1, 6, 2) + x[0].slice(1, 0, 5, 2);
  });
  compare("expanded", {numbers({4, 1})},
          [](auto &x) { return x[0].expand({4, 3}) + 1; });
  compare("of everything", {numbers({4, 6, 2})}, [](auto &x) {
    return x[0].slice(1, 2, 5).transpose(0, 2).unsqueeze(1).expand(
               {2, 2, 3, 4}) *
           2;
  });
  compare("a row", {numbers({4, 6})}, [](auto &x) {
    Tensor y = x[0].clone();
    y[1] = 3;
    y[2] += y[0];
    return y;
  });
  compare("columns", {numbers({4, 6})}, [](auto &x) {
    Tensor y = x[0].clone();
    y.slice(1, 1, 6, 2) = x[0].slice(1, 0, 5, 2);
    y.t()[0] *= 2;
    return y;
  });
  compare("in place", {numbers({4, 6})}, [](auto &x) {
    Tensor y = x[0].clone();
    y += y * 0.5;
    y.relu_();
    y.addmul_(x[0], 2);
    return y;
  });
  compare("not aligned", {numbers({33})}, [](auto &x) {
    Tensor y = x[0].clone();
    y.slice(0, 5, 22) *= y.slice(0, 1, 18);
    return y;
  });
}

TEST(DeviceTest, MovesElementsByIndex) {
  Tensor index = tensor({2, 0, 1});
  compare("gather", {numbers({4, 6}), index},
          [](auto &x) { return x[0].index({x[1]}); });
  compare("take", {numbers({4, 6})},
          [](auto &x) { return gather(x[0], 1, argsort(x[0], 1)); });
  compare("scatter", {numbers({4, 6}), index}, [](auto &x) {
    return index_add(x[0], 0, x[1], x[0].slice(0, 0, 3));
  });
  compare("mask", {numbers({4, 6})},
          [](auto &x) { return x[0].index({x[0] > 0}); });
  compare("concat", {numbers({4, 6}), numbers({2, 6})},
          [](auto &x) { return concat({x[0], x[1]}, 0); });
  compare("pad", {numbers({4, 6})},
          [](auto &x) { return pad(x[0], {1, 2}, {0, 1}); });
  compare("flip", {numbers({4, 6})}, [](auto &x) { return flip(x[0], 1); });
  compare("triangle", {numbers({4, 6})}, [](auto &x) { return tril(x[0]); });
  compare("one hot", {index},
          [](auto &x) { return one_hot(x[0], 4).to(float32); });
  compare("nonzero", {numbers({4, 6})},
          [](auto &x) { return nonzero(x[0]).to(float32); });
}

TEST(DeviceTest, NumbersOnTheCpuCountAsNumbers) {
  Tensor x = numbers({3}), two = tensor(2.0);
  EXPECT_EQ((x.to(kGpu) * two).to_vector<float>(), (x * 2).to_vector<float>());
}

TEST(DeviceTest, RefusesTensorsOfTwoDevices) {
  Tensor x = numbers({3}), y = x.to(kGpu);
  expectError([&] { x + y; },
              "add: a tensor of shape [3] lies on cuda:0 and another one on "
              "cpu; move one of them, as by .to(tinh::Device::cpu())");
  expectError([&] { y += x; },
              "add_: a tensor of shape [3] lies on cpu and another one on "
              "cuda:0; move one of them, as by .to(tinh::Device::cuda(0))");
  expectError([&] { to_dlpack(y); }, "DLPack needs it on the CPU");
  expectError([&] { call("f", [](auto, auto) {}, {y}, {}); },
              "a function of the host needs it on the CPU");
  expectError([&] { x.to(Device::cuda(7)); }, "there is no GPU 7");
  expectError([&] { x.to(Device::cuda(~0u)); }, "there is no GPU 4294967295");
}

TEST(DeviceTest, SaysWhoseMemoryDoesNotSuffice) {
  expectError([] { zeros({int64_t(1) << 40}, float32, kGpu).wait_to_read(); },
              "zeros: out of memory", "the GPU has no more");
  EXPECT_EQ(ones({2}, float32, kGpu).to_vector<float>()[1], 1);
}

TEST(DeviceTest, CopiesBetweenDevices) {
  Tensor x = numbers({4, 6}), y = zeros({6, 4}, float64, kGpu);
  y.t().copy_(x);
  EXPECT_EQ(y.to_vector<float>(), x.t().to_vector<float>());
  Tensor z = zeros({2, 6, 4}, float16);
  z.copy_(y);
  EXPECT_EQ(z[1].to_vector<float>(), x.t().to_vector<float>());
  EXPECT_EQ(x.slice(0, 0, 0).to(kGpu).to_vector<float>().size(), 0u);
}

TEST(DeviceTest, FindsTheFirstNan) {
  EngineOptions checking = engine_options();
  checking.check_numerics = TINH_CHECK_NANS;
  configure(checking);
  Tensor x = numbers({4}).to(kGpu);
  expectError([&] { log(x).to_vector<float>(); }, "log: ", "gave NaN");
  checking.check_numerics = TINH_CHECK_NOTHING;
  configure(checking);
}

} // namespace
