//===- ErrorsTest.cpp - What users are told ---------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "TensorTesting.h"

#include <dlpack/dlpack.h>
#include <sstream>

using namespace tinh;
using namespace tinh::test;

/// Expects an error that names this file, the operation and `words`.
#define EXPECT_ERROR(operation, words, ...)                                    \
  do {                                                                         \
    std::string message = errorOf([&] { (void)(__VA_ARGS__); });               \
    std::string place = "ErrorsTest.cpp:" + std::to_string(__LINE__);          \
    EXPECT_NE(message.find(place), std::string::npos) << message;              \
    EXPECT_NE(message.find(operation), std::string::npos) << message;          \
    EXPECT_NE(message.find(words), std::string::npos) << message;              \
  } while (false)

TEST(Errors, ShapesThatDoNotFit) {
  Tensor x = zeros({2, 3}), y = zeros({2, 4}), v = zeros(5);
  EXPECT_ERROR("add",
               "[2, 3] and [2, 4] do not broadcast: dimension -1 is 3 "
               "in one and 4 in the other",
               x + y);
  EXPECT_ERROR("matmul", "rows of 3 elements meet columns of 2", matmul(x, y));
  EXPECT_ERROR("reshape", "has 6 elements, [4, 2] 8", x.reshape({4, 2}));
  EXPECT_ERROR("reshape", "no multiple of 4", x.reshape({4, -1}));
  EXPECT_ERROR("view", "use reshape", x.t().view(-1));
  EXPECT_ERROR("t", "at most 2 dimensions, found shape [1, 2, 3]",
               zeros({1, 2, 3}).t());
  EXPECT_ERROR("mT", "at least 2 dimensions, found shape [5]", v.mT());
  EXPECT_ERROR("concat", "must be equal but for dimension 0", concat({x, y}));
  EXPECT_ERROR("stack", "must be equal", stack({x, y}));
  EXPECT_ERROR("expand", "does not broadcast to [2, 4]", x.expand({2, 4}));
  EXPECT_ERROR("linear", "the weight must be [out, in]", linear(x, y));
  EXPECT_ERROR("conv2d", "channels",
               conv2d(zeros({1, 2, 5, 5}), zeros({4, 3, 3, 3})));
  EXPECT_ERROR("max_pool2d", "does not fit",
               max_pool2d(zeros({1, 1, 2, 2}), 3));
  EXPECT_ERROR("dot", "must be vectors", dot(x, v));
  EXPECT_ERROR("layer_norm", "are not [4]", layer_norm(x, 4));
  EXPECT_ERROR("batch_norm", "must be of shape [3]", batch_norm(x, v, v));
  EXPECT_ERROR("where", "do not broadcast", where(x > 0, x, y));
}

TEST(Errors, PlacesOfAnInterpreter) {
  Tensor x = zeros({2, 3}), y = zeros({2, 4});
  At place = At::current();
  std::string line = "ErrorsTest.cpp:" + std::to_string(place.line());
  {
    AtScope scope(place);
    std::string message = errorOf([&] { (void)(x + y); });
    EXPECT_NE(message.find(line), std::string::npos) << message;
  }
  EXPECT_ERROR("add", "do not broadcast", x + y);
}

TEST(Errors, EinsumsThatAreWrong) {
  Tensor x = zeros({2, 3}), y = zeros({4, 5});
  EXPECT_ERROR("einsum", "stands for dimensions of 3 and 4",
               einsum("ij,jk->ik", {x, y}));
  EXPECT_ERROR("einsum", "are for 3 dimensions", einsum("ijk", {x}));
  EXPECT_ERROR("einsum", "for more than the 1 operands", einsum("ij,j", {x}));
  EXPECT_ERROR("einsum", "is in no operand", einsum("ij->iz", {x}));
  EXPECT_ERROR("einsum", "neither a letter", einsum("i3", {x}));
  EXPECT_ERROR("einsum", "twice in the result", einsum("ij->ii", {x}));
  EXPECT_ERROR("einsum", "dimensions of 2 and 3", einsum("ii", {x}));
}

TEST(Errors, DTypesThatDoNotFit) {
  Tensor x = zeros({2, 2}), n = zeros({2, 2}, int64), b = x > 0;
  EXPECT_ERROR("add", "u64", tensor({1}, uint64) + tensor({1}, int8));
  EXPECT_ERROR("matmul", "f32 and i64 differ", matmul(x, n));
  EXPECT_ERROR("mean", "not defined for i64", mean(n));
  EXPECT_ERROR("sub", "not defined for boolean", b - b);
  EXPECT_ERROR("neg", "not defined for boolean", -b);
  EXPECT_ERROR("bitwise_and", "not defined for f32", x & x);
  EXPECT_ERROR("where", "must be boolean", where(n, x, x));
  EXPECT_ERROR("softmax", "not defined for i64", softmax(n, 0));
  EXPECT_ERROR("embedding", "must be integers", embedding(x, x));
  EXPECT_ERROR("pow", "negative power", pow(n, -1));
  EXPECT_ERROR("add_", "cannot be written in place to one of i64", n.add_(1.5));
  EXPECT_ERROR("div_", "cannot be written in place", n.div_(2));
  EXPECT_ERROR("index", "index tensor has dtype f32", n.index({x}));
}

TEST(Errors, AxesAndIndicesOutOfRange) {
  Tensor x = zeros({2, 3});
  EXPECT_ERROR("sum", "axis 2 is out of range for 2 dimensions", sum(x, 2));
  EXPECT_ERROR("sum", "occurs twice", x.sum({0, -2}));
  EXPECT_ERROR("operator[]", "index 2 is out of bounds", x[2]);
  EXPECT_ERROR("operator[]", "rank 0", tensor(1)[0]);
  EXPECT_ERROR("operator[]", "must be an integer", x[0.5]);
  EXPECT_ERROR("index", "too many", x.index({0, 0, 0}));
  EXPECT_ERROR("index", "more than one Ellipsis",
               x.index({Ellipsis, Ellipsis}));
  EXPECT_ERROR("index", "does not fit", x.index({tensor({true})}));
  EXPECT_ERROR("slice", "step is 0", x.slice(0, None, None, 0));
  EXPECT_ERROR("narrow", "are not within", x.narrow(1, 2, 2));
  EXPECT_ERROR("permute", "must name each dimension", x.permute({0}));
  EXPECT_ERROR("topk", "there are no 4 elements", topk(x, 4));
  EXPECT_ERROR("max", "there are no elements", max(zeros({0})));
}

TEST(Errors, WritesThatWouldBeLostOrAmbiguous) {
  Tensor x = zeros({2, 3}), wide = zeros(3).expand({2, 3});
  EXPECT_ERROR("add_", "expanded view", wide.add_(1));
  EXPECT_ERROR("copy_", "expanded view", wide.copy_(x));
  EXPECT_ERROR("operator=", "use index_put_", x[tensor({0})] = 1);
  EXPECT_ERROR("operator=", "use index_put_", x[x > 0] = 1);
  EXPECT_ERROR("operator=", "use index_put_", x.slice(0, None, None, -1) = 1);
  EXPECT_ERROR("index_put_", "would be lost",
               x.index_put_({Slice(None, None, -1)}, 1));
  EXPECT_ERROR("add_", "cannot be written in place to shape [2, 3]",
               x.add_(zeros({4, 2, 3})));
  EXPECT_ERROR("copy_", "does not broadcast", x.copy_(zeros(4)));
}

TEST(Errors, UseAfterMove) {
  Tensor x = zeros(3), y = std::move(x), never;
  EXPECT_ERROR("add", "use after move", x + y);
  EXPECT_ERROR("shape", "use after move", x.shape());
  EXPECT_ERROR("relu", "use after move", relu(never));
  EXPECT_ERROR("mul_", "use after move", y *= x);
  EXPECT_ERROR("item", "use after move", x.item<float>());
  std::ostringstream text;
  EXPECT_ERROR("operator<<", "use after move", text << x);
  EXPECT_FALSE(x.defined());
  x = y; // May be assigned to.
  EXPECT_EQ(x.numel(), 3);
}

TEST(Errors, ItemsThatAreNotOne) {
  EXPECT_ERROR("item", "has 3 elements", zeros(3).item<float>());
  EXPECT_ERROR("from_data", "where shape [2, 2] has 4",
               from_data(std::vector<float>{1, 2}, Shape{2, 2}));
  EXPECT_ERROR("from_data", "equally long", tensor({{1, 2}, {3}}));
  EXPECT_ERROR("zeros", "negative", zeros({2, -1}));
  EXPECT_ERROR("zeros", "at most 8", zeros({1, 1, 1, 1, 1, 1, 1, 1, 1}));
  EXPECT_ERROR("zeros", "larger than can be addressed",
               zeros({1ll << 40, 1ll << 40}));
}

TEST(Errors, DTypesOfCompiledModelsAlone) {
  Tensor x = zeros(3);
  for (DType dtype : {TINH_DTYPE_F8E4M3FN, TINH_DTYPE_F8E5M2FNUZ,
                      TINH_DTYPE_F8E8M0FNU, TINH_DTYPE_F4E2M1FN}) {
    uint8_t bytes[3] = {};
    std::string why =
        std::string("tensors have no elements of ") + dtype.name() + ", which";
    EXPECT_ERROR("zeros", why, zeros(3, dtype));
    EXPECT_ERROR("from_data", why, from_bytes(bytes, {3}, dtype));
    EXPECT_ERROR("to", why, x.to(dtype));
    EXPECT_ERROR("ones_like", why, ones_like(x, dtype));
    EXPECT_ERROR("empty_like", why, empty_like(x, dtype));
    EXPECT_ERROR("promote_types", why, promote_types(float32, dtype));
  }
}

TEST(Errors, DLPackThatCannotBeShared) {
  float data[2] = {};
  int64_t shape[] = {2}, strides[] = {-1};
  DLManagedTensor given = {};
  given.dl_tensor = {data,  {kDLCPU, 0}, 1, {kDLFloat, 32, 1},
                     shape, nullptr,     0};
  DLManagedTensor elsewhere = given, odd = given, backwards = given,
                  misaligned = given;
  elsewhere.dl_tensor.device.device_type = kDLCUDA;
  odd.dl_tensor.dtype.lanes = 4;
  backwards.dl_tensor.strides = strides;
  misaligned.dl_tensor.byte_offset = 1;
  EXPECT_ERROR("from_dlpack", "device type 2", from_dlpack(&elsewhere));
  EXPECT_ERROR("from_dlpack", "4 lanes", from_dlpack(&odd));
  EXPECT_ERROR("from_dlpack", "negative", from_dlpack(&backwards));
  EXPECT_ERROR("from_dlpack", "not aligned", from_dlpack(&misaligned));
  EXPECT_ERROR("from_dlpack", "null", from_dlpack(nullptr));
}
