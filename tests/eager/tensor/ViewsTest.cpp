//===- ViewsTest.cpp - Views share elements, copies do not ------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "TensorTesting.h"

using namespace tinh;
using namespace tinh::test;

TEST(Views, ShareMemory) {
  Tensor x = arange(24).reshape({2, 3, 4});
  for (const Tensor &view :
       {x[1], x.select(1, -1), x.slice(2, 1, 4, 2), x.narrow(0, 1, 1),
        x.transpose(0, 2), x.permute({1, 2, 0}), x.mT(), x.reshape({6, 4}),
        x.view({-1}), x.flatten(1), x.unsqueeze(1), x.unsqueeze(-1),
        x.unsqueeze(0).squeeze(), x.expand({5, 2, 3, 4}),
        x.index({Ellipsis, 1}), x.index({None, 0, Slice(1, None)})})
    EXPECT_TRUE(view.shares_memory_with(x)) << view.shape();
  EXPECT_FALSE(x.transpose(0, 1).reshape(-1).shares_memory_with(x));
  EXPECT_FALSE(x.clone().shares_memory_with(x));
  EXPECT_FALSE((x + 0).shares_memory_with(x));
}

TEST(Views, ShowTheRightElements) {
  Tensor x = arange(24).reshape({2, 3, 4});
  EXPECT_EQ(integers(x[1][2]), (Integers{20, 21, 22, 23}));
  EXPECT_EQ(integers(x.select(2, -1)), (Integers{3, 7, 11, 15, 19, 23}));
  EXPECT_EQ(integers(x.slice(2, -3, None, 2).slice(1, 1, 2)),
            (Integers{5, 7, 17, 19}));
  EXPECT_EQ(integers(x.permute({2, 0, 1}).slice(0, 0, 1)),
            (Integers{0, 4, 8, 12, 16, 20}));
  EXPECT_EQ(integers(x.transpose(0, 2).flatten().narrow(0, 0, 4)),
            (Integers{0, 12, 4, 16}));
  EXPECT_EQ(integers(x[0][0].expand({2, 4})),
            (Integers{0, 1, 2, 3, 0, 1, 2, 3}));
  EXPECT_EQ(x.expand({3, -1, -1, -1}).strides(), (IntArray{0, 12, 4, 1}));
}

TEST(Views, ReshapeViewsWhatItCan) {
  Tensor x = arange(24).reshape({2, 3, 4});
  Tensor rows = x.slice(2, 0, 2); // [2, 3, 2], strides 12, 4, 1.
  EXPECT_TRUE(rows.reshape({6, 2}).shares_memory_with(x));
  EXPECT_TRUE(rows.reshape({2, 3, 1, 2}).shares_memory_with(x));
  EXPECT_FALSE(rows.reshape({2, 6}).shares_memory_with(x));
  EXPECT_EQ(integers(rows.reshape({2, 6})),
            (Integers{0, 1, 4, 5, 8, 9, 12, 13, 16, 17, 20, 21}));
  EXPECT_EQ(x.reshape({4, -1}).shape(), (Shape{4, 6}));
  EXPECT_EQ(tensor(3).reshape({1, 1}).shape(), (Shape{1, 1}));
  EXPECT_EQ(zeros({0, 4}).reshape({2, 0}).shape(), (Shape{2, 0}));
  EXPECT_TRUE(
      x.transpose(0, 1).transpose(0, 1).reshape(-1).shares_memory_with(x));
}

TEST(Views, OperationsReadAnyStrides) {
  Tensor x = arange(12.0).reshape({3, 4});
  EXPECT_EQ(reals(x.t() + x.t()), reals((x + x).t()));
  EXPECT_EQ(reals(x.t().sum(0)), reals(x.sum(1)));
  EXPECT_EQ(reals(x.slice(1, 0, None, 2).sum(0)), (Reals{12, 18}));
  EXPECT_EQ(reals(matmul(x.t(), x)), reals(matmul(x.t().clone(), x)));
  EXPECT_EQ(reals(x[0].expand({3, 4}) - x), reals(x[0] - x));
  EXPECT_TRUE(allclose(softmax(x.t(), 0), softmax(x, 1).t(), 1e-6));
  EXPECT_EQ(reals(concat({x.t(), x.t()})), reals(concat({x, x}, 1).t()));
}

TEST(Views, OutliveTheirBase) {
  Tensor view;
  {
    Tensor x = arange(1000);
    view = x.slice(0, 990);
  }
  EXPECT_EQ(view.sum().item<int64_t>(), 9945);
}

TEST(Views, SqueezeDropsWhatIsAsked) {
  Tensor x = zeros({1, 3, 1});
  EXPECT_EQ(x.squeeze().shape(), (Shape{3}));
  EXPECT_EQ(x.squeeze(0).shape(), (Shape{3, 1}));
  EXPECT_EQ(x.squeeze(1).shape(), (Shape{1, 3, 1}));
  EXPECT_EQ(x.squeeze({0, -1}).shape(), (Shape{3}));
}

TEST(Views, SplitsAreViews) {
  Tensor x = arange(10);
  std::vector<Tensor> parts = split(x, 4);
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(integers(parts[2]), (Integers{8, 9}));
  EXPECT_TRUE(parts[1].shares_memory_with(x));
  EXPECT_EQ(chunk(x, 3).size(), 3u);
  EXPECT_EQ(integers(split_sizes(x, {1, 9})[0]), (Integers{0}));
}
