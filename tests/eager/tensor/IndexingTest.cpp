//===- IndexingTest.cpp - Indices of all kinds ------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "TensorTesting.h"

using namespace tinh;
using namespace tinh::test;

TEST(Indexing, SlicesFollowPython) {
  Tensor x = arange(10);
  auto part = [&](Slice slice) { return integers(x.index({slice})); };
  EXPECT_EQ(part(Slice(2, 8, 3)), (Integers{2, 5}));
  EXPECT_EQ(part(Slice(-3)), (Integers{7, 8, 9}));
  EXPECT_EQ(part(Slice(None, -7)), (Integers{0, 1, 2}));
  EXPECT_EQ(part(Slice(5, 2)), (Integers{}));
  EXPECT_EQ(part(Slice(8, 100)), (Integers{8, 9}));
  EXPECT_EQ(part(Slice(-100, 2)), (Integers{0, 1}));
  EXPECT_EQ(part(Slice(None, None, -3)), (Integers{9, 6, 3, 0}));
  EXPECT_EQ(part(Slice(7, 2, -2)), (Integers{7, 5, 3}));
  EXPECT_EQ(part(Slice(2, 7, -1)), (Integers{}));
}

TEST(Indexing, ShapesFollowNumPy) {
  Tensor x = zeros({2, 3, 4});
  EXPECT_EQ(x.index({1}).shape(), (Shape{3, 4}));
  EXPECT_EQ(x.index({Ellipsis, 0}).shape(), (Shape{2, 3}));
  EXPECT_EQ(x.index({None, 1, Ellipsis, None}).shape(), (Shape{1, 3, 4, 1}));
  EXPECT_EQ(x.index({Slice(), None, Slice(1, 2)}).shape(), (Shape{2, 1, 1, 4}));
  EXPECT_EQ(x.index({tensor({{0, 1, 1}})}).shape(), (Shape{1, 3, 3, 4}));
  EXPECT_EQ(x.index({Ellipsis, tensor({0, 1})}).shape(), (Shape{2, 3, 2}));
  EXPECT_EQ(x.index({tensor({0, 1}), Slice(), tensor({0, 1})}).shape(),
            (Shape{2, 3}));
  EXPECT_EQ(x.index({tensor({true, false})}).shape(), (Shape{1, 3, 4}));
}

TEST(Indexing, MasksPickAndWrite) {
  Tensor x = arange(6.0).reshape({2, 3});
  EXPECT_EQ(reals(x[x > 2]), (Reals{3, 4, 5}));
  x.index_put_({x > 3}, 0);
  EXPECT_EQ(reals(x), (Reals{0, 1, 2, 3, 0, 0}));
  x.index_put_({tensor({false, true})}, 9);
  EXPECT_EQ(reals(x), (Reals{0, 1, 2, 9, 9, 9}));
  x.index_put_({x > 8}, tensor({1.0, 2.0, 3.0}));
  EXPECT_EQ(reals(x), (Reals{0, 1, 2, 1, 2, 3}));
}

TEST(Indexing, AnyNumberOfIndicesWrites) {
  Tensor x = zeros({2, 3});
  for (std::vector<Index> indices;
       const Index &index : {Index(1), Index(tensor({0, 2}))}) {
    indices.push_back(index);
    x.index_put_(indices, static_cast<int64_t>(indices.size()));
  }
  EXPECT_EQ(reals(x), (Reals{0, 0, 0, 2, 1, 2}));
}

TEST(Indexing, WritesLandWhereReadsLook) {
  Tensor x = zeros({3, 4});
  Tensor rows = tensor({0, 2}), columns = tensor({1, -1});
  x.index_put_({rows, columns}, tensor({5.0, 6.0}));
  EXPECT_EQ(reals(x.index({rows, columns})), (Reals{5, 6}));
  x.index_put_({Slice(1, None), rows}, tensor({{1.0, 2.0}, {3.0, 4.0}}));
  EXPECT_EQ(reals(x), (Reals{0, 5, 0, 0, 1, 0, 2, 0, 3, 0, 4, 6}));
  x.index_put_({0}, 8);
  x.index_put_({tensor({1, 1}), 0}, 1, true);
  EXPECT_EQ(reals(x), (Reals{8, 8, 8, 8, 3, 0, 2, 0, 3, 0, 4, 6}));
}

TEST(Indexing, NegativeIndicesCountFromTheEnd) {
  Tensor x = arange(5);
  EXPECT_EQ(x[-1].item<int>(), 4);
  EXPECT_EQ(integers(x[tensor({-1, 0, -5})]), (Integers{4, 0, 0}));
}

TEST(Indexing, OutOfBoundsIndicesAreErrorsOfTheResult) {
  Tensor x = arange(5);
  std::string message = errorOf([&] { integers(x[tensor({0, 7})]); });
  EXPECT_NE(message.find("index 7"), std::string::npos) << message;
  EXPECT_NE(message.find("IndexingTest.cpp"), std::string::npos) << message;
  EXPECT_EQ(integers(x), (Integers{0, 1, 2, 3, 4}));
}
