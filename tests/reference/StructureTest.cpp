//===- StructureTest.cpp - Constants, kernels and functions -----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tests/reference/ReferenceTestSupport.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace tinh::test {

using Structure = ReferenceTest;

TEST_F(Structure, Constants) {
  EXPECT_EQ(evaluate(R"(() -> tensor<3xui8> {
      %0 = graph.constant dense<[1, 200, 3]> : tensor<3xui8>
      return %0 : tensor<3xui8> })",
                     {}),
            (Values{1, 200, 3}));
  EXPECT_EQ(evaluate(R"(() -> tensor<3xi1> {
      %0 = graph.constant dense<[true, false, true]> : tensor<3xi1>
      return %0 : tensor<3xi1> })",
                     {}),
            (Values{1, 0, 1}));
  EXPECT_EQ(evaluate(R"(() -> tensor<2xbf16> {
      %0 = graph.constant dense<[1.5, -2.0]> : tensor<2xbf16>
      return %0 : tensor<2xbf16> })",
                     {}),
            (Values{1.5, -2}));
  EXPECT_EQ(evaluate(R"(() -> tensor<2xi8> {
      %0 = graph.constant dense<-7> : tensor<2xi8>
      return %0 : tensor<2xi8> })",
                     {}),
            (Values{-7, -7}));
  EXPECT_EQ(evaluate(R"((%x: tensor<2xf32>) -> tensor<2xf32> {
      %0 = graph.constant #graph.external<"file", 4, 8> : tensor<2xf32>
      %1 = graph.add %x, %0 : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
      return %1 : tensor<2xf32> })",
                     {{1, 2}}),
            (Values{21, 32}));
}

TEST_F(Structure, Kernels) {
  EXPECT_EQ(evaluate(R"((%x: tensor<2xf32>) -> tensor<2xf32> {
      %0:2 = graph.kernel (%a = %x) : (tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
        %1 = graph.neg %a : tensor<2xf32>
        %2 = graph.add %1, %1 : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
        graph.yield %1, %2 : tensor<2xf32>, tensor<2xf32>
      }
      %3 = graph.mul %0#0, %0#1 : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
      return %3 : tensor<2xf32> })",
                     {{1, 3}}),
            (Values{2, 18}));
}

TEST_F(Structure, RefusesWhatItDoesNotDefine) {
  EXPECT_EQ(evaluate(R"(() -> tensor<2xf32> {
      %0 = graph.weight "w" : tensor<2xf32>
      return %0 : tensor<2xf32> })",
                     {}),
            Values());
  EXPECT_NE(message.find("does not define 'graph.weight'"), std::string::npos)
      << message;
  evaluateOp("graph.and %0, %0 : t0, t0 -> ty", "1xf32", {{"1xf32", {1}}});
  EXPECT_NE(message.find("does not define 'graph.and'"), std::string::npos)
      << message;
}

TEST_F(Structure, BytesOfEachType) {
  auto roundTrip = [&](Type element, std::vector<char> bytes) {
    auto type = RankedTensorType::get({2}, element);
    EXPECT_EQ(reference::toBytes(reference::fromBytes(type, bytes)), bytes);
  };
  Builder b(&context);
  roundTrip(b.getI1Type(), {0, 1});
  roundTrip(b.getI8Type(), {-128, 5});
  roundTrip(b.getIntegerType(8, false), {-1, 5});
  roundTrip(b.getI16Type(), {1, -2, 3, 4});
  roundTrip(b.getF16Type(), {1, 0x3c, 1, 0});
  roundTrip(b.getBF16Type(), {1, 0x3c, 1, 0});
  roundTrip(b.getF32Type(), {1, 2, 3, 4, 5, 6, 7, 8});
  roundTrip(b.getI64Type(), {1, 2, 3, 4, 5, 6, 7, -8, 1, 2, 3, 4, 5, 6, 7, 8});
  roundTrip(b.getF64Type(), {1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8});
}

TEST_F(Structure, Differences) {
  auto tensor = [&](Type element, const Values &values) {
    reference::Tensor x(RankedTensorType::get({3}, element));
    x.floats = values;
    x.integers.assign(values.begin(), values.end());
    return x;
  };
  auto difference = [&](Type element, const Values &x, const Values &y) {
    auto d =
        reference::largestDifference(tensor(element, x), tensor(element, y));
    return std::make_pair(d.absolute, d.relative);
  };
  Builder b(&context);
  Type f32 = b.getF32Type(), i64 = b.getI64Type();
  EXPECT_EQ(difference(f32, {1, 2, kNan}, {1, 4, kNan}), std::pair(2.0, 0.5));
  EXPECT_EQ(difference(f32, {1, 2, kInfinity}, {1, 2, kInfinity}),
            std::pair(0.0, 0.0));
  EXPECT_EQ(difference(f32, {1, 2, kNan}, {1, 2, 3}).first, kInfinity);
  EXPECT_EQ(difference(f32, {0, 0, 1}, {0, 0, 0}).second, kInfinity);
  EXPECT_EQ(difference(i64, {0x1p60, 1, 0}, {0x1p60, 2, 0}).first, 1);
}

} // namespace tinh::test
