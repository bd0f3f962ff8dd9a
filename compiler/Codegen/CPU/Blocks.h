//===- Blocks.h - Sizes of what is computed together ------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What follows from a machine and from sizes alone, numbers in and numbers out:
// for kernels whose sizes are known when they are compiled, and for those that
// take them as arguments.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CPU_BLOCKS_H
#define TINH_CODEGEN_CPU_BLOCKS_H

#include "compiler/Codegen/CPU/Machine.h"

#include <algorithm>

namespace tinh::cpu {

//===----------------------------------------------------------------------===//
// Registers
//===----------------------------------------------------------------------===//

/// Of the squares of elements that are turned in registers: wider ones than 16
/// would take more registers than there are.
inline int64_t squareSide(int64_t elementBytes, int64_t vectorBytes) {
  return std::clamp<int64_t>(vectorBytes / elementBytes, 1, 16);
}

/// Vectors of the columns of a register tile, and of a row alone, whose sums
/// are otherwise too few to hide the latency of the FMAs.
inline constexpr int64_t kTileVectors = 2, kRowVectors = 4;

/// The rows of the largest register tile: as many as the registers have sums
/// for, beside the vectors of the columns and one for the row's element, and no
/// more than a set of the first-level cache has lines: rows may be apart by
/// multiples of a page.
inline int64_t mostTileRows(int64_t vectors, int64_t vectorRegisters) {
  constexpr int64_t kMostRows = 12;
  return std::clamp<int64_t>((vectorRegisters - vectors - 1) / vectors, 1,
                             kMostRows);
}

/// Instructions for a step of k of all tiles that cut `extent` rows, the last
/// of which is as full as the others or has fewer rows.
int64_t stepOfTiles(int64_t extent, int64_t rows, int64_t vectors, bool isFull);
/// The rows, up to `most`, of which these are fewest.
int64_t chooseTileRows(int64_t extent, int64_t vectors, int64_t most,
                       bool isFull);

/// Bytes of scratch memory for a column of a row that a kernel of rows of any
/// length keeps: an element of any type, or one in each lane of a vector.
inline int64_t keptBytes(bool acrossRows, int64_t vectorBytes) {
  return acrossRows ? vectorBytes : 8;
}

//===----------------------------------------------------------------------===//
// Caches
//===----------------------------------------------------------------------===//

/// What a block of work goes through again and again may take this much of the
/// second-level cache; the rest is for what passes through beside it. (With
/// half of it for a block of the right factor, products of 128 rows took 6 %
/// longer on Zen 4.)
inline int64_t residentBytes(const Machine &machine) {
  return machine.l2.bytes / 8 * 3;
}

/// Where a copy finds the elements of its result's rows.
enum class CopyOrder : uint8_t { Neighbours, Columns, Apart };

/// Cycles to copy one of many elements within the first-level cache: in
/// vectors, turned in registers by a shuffle for each bit of its lanes if they
/// lie as columns, or one by one.
double copyCycles(const Machine &machine, int64_t elementBytes,
                  CopyOrder order = CopyOrder::Neighbours);

//===----------------------------------------------------------------------===//
// Chunks
//===----------------------------------------------------------------------===//

/// Operations that are worth a chunk: tens of microseconds, a hundred times
/// what it costs to share work.
inline constexpr double kChunkOperations = 1e6;

/// Chunks of so many operations, up to `most`.
inline int64_t chunksFor(double operations, int64_t most) {
  return static_cast<int64_t>(
      std::clamp(operations / kChunkOperations, 1.0, double(most)));
}

/// As many blocks a chunk as have enough operations, if that leaves `enough`
/// chunks.
inline int64_t blocksPerChunk(double operationsPerBlock, int64_t blocks,
                              int64_t enough) {
  return static_cast<int64_t>(
      std::clamp(kChunkOperations / operationsPerBlock, 1.0,
                 std::max(1.0, double(blocks / enough))));
}

inline int64_t divideUp(int64_t x, int64_t y) { return (x + y - 1) / y; }

/// The extent of blocks of at most `most` that cut `extent` evenly.
inline int64_t evenBlock(int64_t extent, int64_t most) {
  return divideUp(extent, divideUp(extent, most));
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Rows up to which a right factor is read where it lies, if vectors of its
/// columns do: to pack it takes about as long as to multiply it by eight rows,
/// and what is packed is read from the cache again.
inline constexpr int64_t kMostUnpackedRows = 16;
/// Rows of such a matrix that are multiplied at a time: prefetchers follow so
/// many streams, a page each.
inline constexpr int64_t kMatrixDepth = 16;

/// How far ahead of its words a product asks for those to come from beyond the
/// second-level cache: prefetchers stop at the end of a page, and start anew in
/// the next.
inline constexpr int64_t kPrefetchBytes = 8192;

/// A product that is cut into blocks of rows by groups of panels.
struct ProductSizes {
  int64_t outer;               // Products, one after the other.
  double rows, columns, depth; // Of each.
  int64_t leastRowBlocks = 1, mostRowBlocks;
  int64_t leastGroups = 1, mostGroups;
  int64_t wantedChunks;
  /// Cycles an element of the right factor for each block of rows, and one of
  /// the left factor for each group of panels: to copy it, or to load it from
  /// afar.
  double rightCycles = 0, leftCycles = 0;
  double operationsPerCycle;
};

/// A way to cut it.
struct ProductBlocks {
  int64_t rowBlocks, groups;
};

/// Cycles of all workers together for what the blocks add to the product, and
/// in which some wait for others in the end, half a chunk each.
double blockCycles(const ProductSizes &product, const ProductBlocks &blocks);
double idleCycles(const ProductSizes &product, int64_t chunks);
/// The blocks of which both together are least.
ProductBlocks chooseBlocks(const ProductSizes &product);

} // namespace tinh::cpu

#endif // TINH_CODEGEN_CPU_BLOCKS_H
