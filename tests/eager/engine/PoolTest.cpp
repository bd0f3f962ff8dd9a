//===- PoolTest.cpp - Memory for storages ---------------------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sizes of blocks, their reuse, and the limit.
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Engine/Pool.h"

#include <gtest/gtest.h>

#include <random>

namespace tinh::eager {
namespace {

TEST(PoolTest, BlocksAreLargeEnoughButNotMuchLarger) {
  EXPECT_EQ(Pool::blockSize(0), 0u);
  EXPECT_EQ(Pool::blockSize(1), 64u);
  EXPECT_EQ(Pool::blockSize(64), 64u);
  EXPECT_EQ(Pool::blockSize(65), 80u);
  EXPECT_EQ(Pool::blockSize(1 << 20), 1u << 20);
  std::mt19937_64 random(1);
  for (int i = 0; i < 100'000; ++i) {
    uint64_t size = (random() >> random() % 62 >> 2) + 64;
    uint64_t block = Pool::blockSize(size);
    ASSERT_GE(block, size);
    ASSERT_LE(block, size + size / 4 + 1);
    ASSERT_EQ(Pool::blockSize(block), block);
  }
}

TEST(PoolTest, BlocksAreUsedAgain) {
  Pool pool;
  void *a = pool.allocate(1000), *b = pool.allocate(1000);
  EXPECT_NE(a, b);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(a) % 64, 0u);
  EXPECT_EQ(pool.statistics().in_use, 2 * 1024u);
  pool.deallocate(a, 1000);
  EXPECT_EQ(pool.statistics().in_use, 1024u);
  EXPECT_EQ(pool.statistics().cached, 1024u);
  EXPECT_EQ(pool.allocate(990), a);
  EXPECT_EQ(pool.statistics().peak, 2 * 1024u);
  pool.deallocate(a, 990);
  pool.resetPeak();
  EXPECT_EQ(pool.statistics().peak, 1024u);
  pool.deallocate(b, 1000);
  pool.trim();
  EXPECT_EQ(pool.statistics().cached, 0u);
  EXPECT_EQ(pool.statistics().in_use, 0u);
}

TEST(PoolTest, CachedBlocksMakeWayForOthers) {
  Pool pool;
  pool.setLimit(1 << 20);
  void *small[100];
  for (void *&block : small)
    block = pool.allocate(8000);
  EXPECT_THROW(pool.allocate(512 << 10), Error);
  for (void *block : small)
    pool.deallocate(block, 8000);
  void *large = pool.allocate(1 << 20);
  EXPECT_NE(large, nullptr);
  EXPECT_EQ(pool.statistics().cached, 0u);
  EXPECT_THROW(pool.allocate(1), Error);
  pool.deallocate(large, 1 << 20);
  pool.trim();
}

} // namespace
} // namespace tinh::eager
