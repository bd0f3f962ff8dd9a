//===- Blocks.cpp - Sizes of what is computed together ----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Blocks.h"

#include <bit>
#include <limits>

namespace tinh::cpu {

int64_t stepOfTiles(int64_t extent, int64_t rows, int64_t vectors,
                    bool isFull) {
  auto step = [&](int64_t rows) {
    // Under eight sums, four of each unit, FMAs wait for one another.
    return std::max<int64_t>(rows * vectors, 8) + vectors;
  };
  if (isFull)
    return divideUp(extent, rows) * step(rows);
  int64_t tail = extent % rows;
  return extent / rows * step(rows) + (tail ? step(tail) : 0);
}

int64_t chooseTileRows(int64_t extent, int64_t vectors, int64_t most,
                       bool isFull) {
  int64_t best = 1;
  for (int64_t rows = 2; rows <= std::min(extent, most); ++rows)
    if (stepOfTiles(extent, rows, vectors, isFull) <=
        stepOfTiles(extent, best, vectors, isFull))
      best = rows;
  return best;
}

double copyCycles(const Machine &machine, int64_t elementBytes,
                  CopyOrder order) {
  // All of the machines load two single elements in a cycle and store one, by
  // the manuals that Machine.cpp names.
  constexpr double kSingle = 1.5;
  if (order == CopyOrder::Apart)
    return kSingle;
  double each = 1 / machine.loadsPerCycle + 1 / machine.storesPerCycle;
  if (order == CopyOrder::Columns) {
    int64_t side = squareSide(elementBytes, machine.vectorBytes);
    return (each + std::countr_zero(static_cast<uint64_t>(side))) / side;
  }
  return each * elementBytes / machine.vectorBytes;
}

double blockCycles(const ProductSizes &p, const ProductBlocks &blocks) {
  return p.rightCycles * p.outer * blocks.rowBlocks * p.depth * p.columns +
         p.leftCycles * p.outer * blocks.groups * p.depth * p.rows;
}

double idleCycles(const ProductSizes &p, int64_t chunks) {
  double operations = 2 * p.outer * p.rows * p.columns * p.depth;
  return operations / p.operationsPerCycle / 2 /
         std::min(chunks, p.wantedChunks);
}

ProductBlocks chooseBlocks(const ProductSizes &p) {
  double least = std::numeric_limits<double>::infinity();
  ProductBlocks best{p.leastRowBlocks, p.leastGroups};
  int64_t mostRows = std::clamp(p.wantedChunks, p.leastRowBlocks,
                                std::max(p.leastRowBlocks, p.mostRowBlocks));
  for (int64_t rows = p.leastRowBlocks; rows <= mostRows; ++rows) {
    int64_t groups = std::clamp<int64_t>(
        divideUp(p.wantedChunks, p.outer * rows), p.leastGroups,
        std::max(p.leastGroups, p.mostGroups));
    for (; groups >= p.leastGroups; groups /= 2) {
      ProductBlocks blocks{rows, groups};
      double cost =
          blockCycles(p, blocks) + idleCycles(p, p.outer * rows * groups);
      if (cost < least) {
        least = cost;
        best = blocks;
      }
    }
  }
  return best;
}

} // namespace tinh::cpu
