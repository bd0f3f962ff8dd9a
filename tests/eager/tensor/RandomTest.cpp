//===- RandomTest.cpp - Random tensors --------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Random.h"
#include "TensorTesting.h"

#include <algorithm>
#include <cmath>

using namespace tinh;
using namespace tinh::test;

// From the known answers of Random123, kat_vectors.
TEST(Random, PhiloxIsPhilox) {
  eager::PhiloxBlock zero(0, 0);
  EXPECT_EQ(zero.words[0], 0x6627e8d5u);
  EXPECT_EQ(zero.words[1], 0xe169c58du);
  EXPECT_EQ(zero.words[2], 0xbc57ac4cu);
  EXPECT_EQ(zero.words[3], 0x9b00dbd8u);
}

TEST(Random, FunctionsOfNormalNumbersArePrecise) {
  for (uint32_t i = 1; i <= 1u << 24; i += 97) {
    float x = std::ldexp(float(i), -24), sine, cosine;
    double expected = std::log(double(x));
    ASSERT_NEAR(eager::logOfUnit(x), expected, 1.2e-7 * std::abs(expected))
        << x;
    float turn = std::ldexp(float(i - 1), -24);
    eager::sineAndCosine(turn, sine, cosine);
    ASSERT_NEAR(sine, std::sin(2 * M_PI * double(turn)), 1.2e-7) << turn;
    ASSERT_NEAR(cosine, std::cos(2 * M_PI * double(turn)), 1.2e-7) << turn;
  }
}

TEST(Random, SeedsDecide) {
  Generator a(1), b(1), c(2);
  Tensor x = normal({100}, a);
  EXPECT_EQ(reals(x), reals(normal({100}, b)));
  EXPECT_NE(reals(x), reals(normal({100}, c)));
  EXPECT_NE(reals(x), reals(normal({100}, a))) << "the counter stands still";
  Generator later(1, 25); // 100 numbers are 25 blocks.
  EXPECT_EQ(reals(normal({100}, later)), reals(normal({100}, b)));
}

TEST(Random, NumbersDependOnTheirIndexAlone) {
  Generator a(5), b(5);
  std::vector<double> many = reals(uniform({100000}, a));
  std::vector<double> few = reals(uniform({1003}, b));
  EXPECT_TRUE(std::equal(few.begin(), few.end(), many.begin()));

  // Drawn a few at a time and many at a time.
  for (DType dtype : {float16, float32, float64}) {
    std::vector<double> all = reals(normal({5000}, Generator(7), 1, 3, dtype));
    for (int64_t block = 0; block < 20; ++block) {
      Generator at(7, uint64_t(block) * 31);
      int64_t index = block * 31 * (dtype == float64 ? 2 : 4);
      EXPECT_EQ(reals(normal({2}, at, 1, 3, dtype)),
                (Reals{all[size_t(index)], all[size_t(index) + 1]}));
    }
  }
}

TEST(Random, UniformNumbersFillTheirRange) {
  Generator generator(3);
  for (DType dtype : {float16, bfloat16, float32, float64}) {
    std::vector<double> x = reals(uniform({20000}, generator, -2, 2, dtype));
    auto [low, high] = std::minmax_element(x.begin(), x.end());
    EXPECT_GE(*low, -2);
    EXPECT_LT(*high, 2);
    EXPECT_LT(*low, -1.9);
    EXPECT_GT(*high, 1.9);
    double sum = 0;
    for (double value : x)
      sum += value;
    EXPECT_NEAR(sum / 20000, 0, 0.05);
  }
}

TEST(Random, NormalNumbersHaveTheirMoments) {
  Generator generator(4);
  for (DType dtype : {float32, float64}) {
    Tensor x = normal({50000}, generator, 3, 2, dtype);
    EXPECT_NEAR(x.mean().item<double>(), 3, 0.05);
    EXPECT_NEAR(tinh::std(x).item<double>(), 2, 0.05);
    Tensor inside = abs(x - 3) < 2.0;
    EXPECT_NEAR(inside.to(float64).mean().item<double>(), 0.6827, 0.02);
  }
}

TEST(Random, IntegersAreWithinTheirBounds) {
  Generator generator(6);
  std::vector<int64_t> x = integers(randint(-3, 4, {7000}, generator));
  for (int64_t value = -3; value < 4; ++value)
    EXPECT_NEAR(double(std::count(x.begin(), x.end(), value)), 1000, 150);
  EXPECT_EQ(std::count_if(x.begin(), x.end(),
                          [](int64_t v) { return v < -3 || v > 3; }),
            0);
  EXPECT_EQ(randint(0, 9, 4, generator, uint8).dtype(), uint8);
}

TEST(Random, PermutationsAreOnes) {
  Generator generator(8);
  std::vector<int64_t> x = integers(permutation(1000, generator));
  EXPECT_FALSE(std::is_sorted(x.begin(), x.end()));
  std::sort(x.begin(), x.end());
  EXPECT_EQ(x, integers(arange(1000)));
}

TEST(Random, DropoutKeepsTheMean) {
  Generator generator(9);
  Tensor x = ones({20000});
  std::vector<double> y = reals(dropout(x, 0.25, generator));
  double sum = 0;
  for (double value : y) {
    EXPECT_TRUE(value == 0 || std::abs(value - 4.0 / 3) < 1e-6);
    sum += value;
  }
  EXPECT_NEAR(sum / 20000, 1, 0.03);
  EXPECT_EQ(reals(dropout(x, 0, generator)), reals(x));
}
