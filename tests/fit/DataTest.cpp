//===- DataTest.cpp - Batches of examples ---------------------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tinh/data.h"

#include <gtest/gtest.h>

#include <numeric>

using namespace tinh;

namespace {

/// The numbers of the examples of an epoch, which are their own values.
std::vector<int64_t> epoch(DataLoader &loader) {
  std::vector<int64_t> seen;
  while (auto batch = loader.next())
    for (int64_t number : (*batch)[0].to_vector<int64_t>())
      seen.push_back(number);
  return seen;
}

TEST(DataLoader, GivesEachExampleOnceAnEpoch) {
  DataLoader loader({arange(10), arange(10) * 2}, {.batch_size = 4});
  EXPECT_EQ(loader.size(), 3);
  std::vector<int64_t> sizes;
  while (auto batch = loader.next()) {
    sizes.push_back((*batch)[0].size(0));
    EXPECT_TRUE(((*batch)[1] == (*batch)[0] * 2).all().item<bool>());
  }
  EXPECT_EQ(sizes, (std::vector<int64_t>{4, 4, 2}));
  EXPECT_EQ(loader.position(), (DataLoader::Position{1, 0}));
}

TEST(DataLoader, DropsTheLastBatch) {
  DataLoader loader({arange(10)}, {.batch_size = 4, .drop_last = true});
  EXPECT_EQ(epoch(loader).size(), 8u);
}

TEST(DataLoader, ShufflesEachEpochAnew) {
  DataLoaderOptions options{.batch_size = 7, .shuffle = true, .seed = 3};
  DataLoader loader({arange(50)}, options);
  std::vector<int64_t> first = epoch(loader), second = epoch(loader);
  EXPECT_NE(first, second);
  std::vector<int64_t> all(50);
  std::iota(all.begin(), all.end(), 0);
  for (std::vector<int64_t> *seen : {&first, &second})
    EXPECT_TRUE(std::is_permutation(all.begin(), all.end(), seen->begin()));
  DataLoader same({arange(50)}, options);
  EXPECT_EQ(epoch(same), first);
}

TEST(DataLoader, GoesOnAtAPosition) {
  DataLoaderOptions options{.batch_size = 4, .shuffle = true, .prefetch = 3};
  DataLoader whole({arange(22)}, options), resumed({arange(22)}, options);
  epoch(whole);
  whole.next();
  whole.next();
  resumed.seek(whole.position());
  EXPECT_EQ(epoch(resumed), epoch(whole));
  EXPECT_EQ(epoch(resumed), epoch(whole));
}

TEST(DataLoader, TakesExamplesFromAFunction) {
  auto dataset = std::make_shared<FunctionDataset>(
      10, std::vector<FunctionDataset::Field>{{{2}, float32}, {{}, int64}},
      [](int64_t number, std::span<std::byte *const> fields) {
        auto *x = reinterpret_cast<float *>(fields[0]);
        x[0] = static_cast<float>(number);
        x[1] = -x[0];
        *reinterpret_cast<int64_t *>(fields[1]) = number;
      });
  DataLoader loader(dataset, {.batch_size = 3, .shuffle = true});
  while (auto batch = loader.next()) {
    Tensor x = (*batch)[0], number = (*batch)[1].to(float32);
    EXPECT_EQ(x.size(1), 2);
    EXPECT_TRUE((x.select(1, 0) == number).all().item<bool>());
    EXPECT_TRUE((x.select(1, 1) == -number).all().item<bool>());
  }
}

TEST(DataLoader, FailsWhereAnExampleCannotBeMade) {
  auto dataset = std::make_shared<FunctionDataset>(
      4, std::vector<FunctionDataset::Field>{{{}, float32}},
      [](int64_t number, std::span<std::byte *const>) {
        if (number == 3)
          throw std::runtime_error("example 3 is missing");
      });
  DataLoader loader(dataset, {.batch_size = 2});
  loader.next()->front().wait_to_read();
  try {
    loader.next()->front().wait_to_read();
    FAIL() << "no error";
  } catch (const Error &error) {
    EXPECT_NE(std::string(error.what()).find("example 3 is missing"),
              std::string::npos)
        << error.what();
  }
}

TEST(Subset, HasAPartOfTheExamples) {
  auto all = std::make_shared<TensorDataset>(std::vector{arange(10)});
  DataLoader loader(subset(all, 6, 4), {.batch_size = 3});
  EXPECT_EQ(epoch(loader), (std::vector<int64_t>{6, 7, 8, 9}));
  EXPECT_THROW(subset(all, 6, 5), Error);
}

TEST(DataLoader, RefusesWhatItCannotLoad) {
  EXPECT_THROW(DataLoader({arange(3), arange(4)}), Error);
  EXPECT_THROW(DataLoader(std::vector<Tensor>{}), Error);
  EXPECT_THROW(DataLoader({arange(3)}, {.batch_size = 0}), Error);
  EXPECT_THROW(DataLoader({arange(3)}, {.batch_size = 4, .drop_last = true}),
               Error);
  DataLoader loader({arange(3)});
  EXPECT_THROW(loader.seek({0, 2}), Error);
  EXPECT_THROW(DataLoader(std::shared_ptr<const Dataset>()), Error);
  EXPECT_THROW(FunctionDataset(-1, {{{}}}, [](int64_t, auto) {}), Error);
}

} // namespace
