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
/// more than a set of the first-level cache has lines, on small cores: rows may
/// be apart by multiples of a page.
inline int64_t mostTileRows(int64_t vectors, int64_t vectorRegisters) {
  constexpr int64_t kMostRows = 12;
  return std::clamp<int64_t>((vectorRegisters - vectors - 1) / vectors, 1,
                             kMostRows);
}

/// Bytes of scratch memory for a column of a row that a kernel of rows of any
/// length keeps: an element of any type, or one in each lane of a vector.
inline int64_t keptBytes(bool acrossRows, int64_t vectorBytes) {
  return acrossRows ? vectorBytes : 8;
}

} // namespace tinh::cpu

#endif // TINH_CODEGEN_CPU_BLOCKS_H
