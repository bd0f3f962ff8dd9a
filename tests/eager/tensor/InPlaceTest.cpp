//===- InPlaceTest.cpp - Elements that are written --------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "TensorTesting.h"

using namespace tinh;
using namespace tinh::test;

TEST(InPlace, WritesThroughViews) {
  Tensor x = zeros({2, 3});
  x[1] += 1;
  x.t()[0] += 10;
  x.slice(1, 1, None, 2).mul_(3);
  EXPECT_EQ(reals(x), (Reals{10, 0, 0, 11, 3, 1}));
  Tensor view = x.select(1, 2);
  x.fill_(4);
  EXPECT_EQ(reals(view), (Reals{4, 4}));
  view.zero_();
  EXPECT_EQ(reals(x), (Reals{4, 4, 0, 4, 4, 0}));
}

TEST(InPlace, AssignmentsToPartsWrite) {
  Tensor x = zeros({2, 3});
  x[0] = 1;
  x.slice(1, 2) = tensor({{5.0}, {6.0}});
  x.index({1, Slice(None, 2)}) = tensor({7.0, 8.0});
  EXPECT_EQ(reals(x), (Reals{1, 1, 5, 7, 8, 6}));
  Tensor row = x[0];
  row = x[1]; // Another handle, nothing written.
  EXPECT_EQ(reals(x), (Reals{1, 1, 5, 7, 8, 6}));
}

TEST(InPlace, EarlierResultsKeepTheirValues) {
  Tensor x = ones(4);
  Tensor before = x * 2;
  x += 1;
  Tensor after = x * 2;
  x.zero_();
  EXPECT_EQ(reals(before), Reals(4, 2.0));
  EXPECT_EQ(reals(after), Reals(4, 4.0));
}

TEST(InPlace, OverlappingSourcesAreReadFirst) {
  Tensor x = arange(6.0);
  x.slice(0, 1).copy_(x.slice(0, 0, 5));
  EXPECT_EQ(reals(x), (Reals{0, 0, 1, 2, 3, 4}));
  Tensor y = arange(4.0).reshape({2, 2});
  y += y.t();
  EXPECT_EQ(reals(y), (Reals{0, 3, 3, 6}));
  y += y;
  EXPECT_EQ(reals(y), (Reals{0, 6, 6, 12}));
  Tensor z = arange(5.0);
  z.slice(0, 0, 4).add_(z.slice(0, 1));
  EXPECT_EQ(reals(z), (Reals{1, 3, 5, 7, 4}));
}

TEST(InPlace, BroadcastsIntoTheDestination) {
  Tensor x = zeros({2, 3});
  x += tensor({1.0, 2.0, 3.0});
  x.sub_(tensor({{1.0}, {2.0}}));
  EXPECT_EQ(reals(x), (Reals{0, 1, 2, -1, 0, 1}));
}

TEST(InPlace, ConvertsToTheDestination) {
  Tensor bytes = tensor({1, 2}, int8);
  bytes += tensor({100, 200}); // In int64, then wrapped.
  EXPECT_EQ(bytes.dtype(), int8);
  EXPECT_EQ(integers(bytes), (Integers{101, -54}));
  Tensor x = ones(2);
  x += tensor({1.5, 2.5}, float64);
  EXPECT_EQ(x.dtype(), float32);
  EXPECT_EQ(reals(x), (Reals{2.5, 3.5}));
  x.copy_(tensor({3, 4}));
  EXPECT_EQ(reals(x), (Reals{3, 4}));
  bytes.copy_(x / 2);
  EXPECT_EQ(integers(bytes), (Integers{1, 2}));
}

TEST(InPlace, FunctionsOfOneOperand) {
  Tensor x = tensor({-1.0, 0.0, 4.0});
  x.relu_().sqrt_();
  EXPECT_EQ(reals(x), (Reals{0, 0, 2}));
  x.add_(1).pow_(2).neg_().abs_();
  EXPECT_EQ(reals(x), (Reals{1, 1, 9}));
  x.clamp_(2, 5).div_(2).sub_(0.5).mul_(4);
  EXPECT_EQ(reals(x), (Reals{2, 2, 8}));
  x.addmul_(tensor({1.0, 2.0, 3.0}), -1);
  EXPECT_EQ(reals(x), (Reals{1, 0, 5}));
  x.masked_fill_(x > 0, 7);
  EXPECT_EQ(reals(x), (Reals{7, 0, 7}));
  x.remainder_(4).minimum_(2).maximum_(1);
  EXPECT_EQ(reals(x), (Reals{2, 1, 2}));
  Tensor flags = tensor({true, false});
  flags.logical_or_(tensor({0, 0})).logical_and_(1);
  EXPECT_EQ(integers(flags), (Integers{1, 0}));
}

TEST(InPlace, ScattersWriteThroughViews) {
  Tensor x = zeros({3, 2});
  x.t().scatter_(1, tensor({{2, 0}}), tensor({{1.0, 2.0}}));
  EXPECT_EQ(reals(x), (Reals{2, 0, 0, 0, 1, 0}));
  x.index_add_(0, tensor({0, 0, -1}), ones({3, 2}));
  EXPECT_EQ(reals(x), (Reals{4, 2, 0, 0, 2, 1}));
  x.scatter_add_(0, tensor({{1, 1}, {1, 1}}), 5);
  EXPECT_EQ(reals(x), (Reals{4, 2, 10, 10, 2, 1}));
}

TEST(InPlace, LongChainsKeepTheirOrder) {
  Tensor x = zeros(100), total = zeros(100);
  for (int i = 1; i <= 50; ++i) {
    x += 1;
    total += x;
  }
  EXPECT_EQ(total.sum().item<double>(), 100 * 1275.0);
}
