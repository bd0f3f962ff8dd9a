//===- BlocksTest.cpp - Sizes of what is computed together ----------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Blocks.h"

#include <gtest/gtest.h>

using namespace tinh::cpu;

namespace {

/// A product of f32 that is worth sixteen chunks.
ProductSizes square(int64_t extent) {
  ProductSizes product;
  product.outer = 1;
  product.rows = product.columns = product.depth = extent;
  product.mostRowBlocks = product.mostGroups = extent / 32;
  product.wantedChunks = 16;
  product.operationsPerCycle = 64;
  return product;
}

} // namespace

TEST(BlocksTest, cutsWhatNeedsNoCopy) {
  ProductSizes product = square(1024);
  product.rightCycles = 0.2; // Each block of rows packs all columns.
  ProductBlocks blocks = chooseBlocks(product);
  EXPECT_EQ(blocks.rowBlocks, 1);
  EXPECT_EQ(blocks.groups, 16);
  product.rightCycles = 0;
  product.leftCycles = 0.2; // Each group converts all rows.
  blocks = chooseBlocks(product);
  EXPECT_EQ(blocks.rowBlocks, 16);
  EXPECT_EQ(blocks.groups, 1);
}

TEST(BlocksTest, copiesTwiceIfWorkersWouldWaitLonger) {
  ProductSizes product = square(1024);
  product.rightCycles = 0.2;
  product.mostGroups = 2;
  EXPECT_GT(chooseBlocks(product).rowBlocks, 1);
  product.rightCycles = 100;
  EXPECT_EQ(chooseBlocks(product).rowBlocks, 1);
}

TEST(BlocksTest, keepsToTheLeastBlocks) {
  ProductSizes product = square(1024);
  product.rightCycles = product.leftCycles = 1;
  product.wantedChunks = 1;
  EXPECT_EQ(chooseBlocks(product).groups, 1);
  product.leastGroups = 5;
  product.leastRowBlocks = 3;
  ProductBlocks blocks = chooseBlocks(product);
  EXPECT_EQ(blocks.groups, 5);
  EXPECT_EQ(blocks.rowBlocks, 3);
}

TEST(BlocksTest, sharesWork) {
  EXPECT_EQ(chunksFor(0, 16), 1);
  EXPECT_EQ(chunksFor(3.5e6, 16), 3);
  EXPECT_EQ(chunksFor(1e12, 16), 16);
  EXPECT_EQ(blocksPerChunk(1e5, 100, 16), 6); // Sixteen chunks are left.
  EXPECT_EQ(blocksPerChunk(1e5, 1000, 16), 10);
  EXPECT_EQ(blocksPerChunk(1e9, 1000, 16), 1);
  EXPECT_EQ(evenBlock(14, 13), 7);
}

TEST(BlocksTest, followsTheMachine) {
  const Machine &wide = machineFor("znver4", 64), &narrow = machineFor("", 32);
  EXPECT_EQ(mostTileRows(kTileVectors, wide.vectorRegisters), 12);
  EXPECT_EQ(mostTileRows(kTileVectors, narrow.vectorRegisters), 6);
  EXPECT_LT(residentBytes(narrow), residentBytes(wide));
  double vectors = copyCycles(wide, 4);
  EXPECT_LT(vectors, copyCycles(wide, 4, CopyOrder::Columns));
  EXPECT_LT(vectors, copyCycles(wide, 8));
  EXPECT_LT(copyCycles(wide, 4, CopyOrder::Columns),
            copyCycles(wide, 4, CopyOrder::Apart));
}
