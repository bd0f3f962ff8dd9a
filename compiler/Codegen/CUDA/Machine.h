//===- Machine.h - What GPUs can do -----------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Named GPUs, one for each of the chips that code is usually for: their
// vendor's numbers (Machine.cpp names each source), and estimates of what a
// plan takes on one. All cycles are those of one multiprocessor.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CUDA_MACHINE_H
#define TINH_CODEGEN_CUDA_MACHINE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>

namespace tinh::cuda {

struct Target;

struct Machine {
  llvm::StringLiteral chip, name;
  int64_t multiprocessors;
  double gigahertz;            ///< Of the boost clock.
  double gigabytesPerSecond;   ///< From and to global memory.
  int64_t fmas;                ///< FFMA of a multiprocessor in a cycle.
  int64_t halfFmas, tf32Fmas;  ///< The same by its tensor cores; 0: none.
  int64_t sharedBytes;         ///< Of a multiprocessor,
  int64_t sharedBytesPerBlock; ///< and at most of one block.
  int64_t registers;           ///< Of a multiprocessor, of 32 bits.
  int64_t threads;             ///< At most on a multiprocessor.

  /// Of global memory in a cycle, for all multiprocessors.
  double bytesPerCycle() const { return gigabytesPerSecond / gigahertz; }
};

llvm::ArrayRef<Machine> machines();

/// The machine that plans are made for. An artifact has one plan of each kernel
/// for all its chips, so that they compute the same; this is the GPU whose
/// multiprocessors are most to keep busy.
const Machine &plannedMachine();

/// What a block may have on all chips of `target`, and which of them allows
/// least.
struct Limits {
  llvm::StringRef chip;
  int64_t sharedBytes, registers;
};
Limits limitsOf(const Target &target);

//===----------------------------------------------------------------------===//
// What has been measured
//===----------------------------------------------------------------------===//

/// On an H100, of products of many shapes with each tile
/// (docs/benchmarks/gpu.md).
namespace measured {
/// FFMA, by how many sums a thread has. A warp reads from shared memory what it
/// multiplies in as many cycles as it has elements of both factors, and
/// multiplies for a quarter of those of its sums: so much for the efficiency.
struct FmaRate {
  double efficiency; ///< Of the multiprocessor's peak, with enough blocks.
  double waiting;    ///< Cycles that a block takes at least for each depth.
};
inline constexpr FmaRate kLargeThread{0.62, 180}, // 8 × 8
    kThread{0.58, 103},                           // 8 × 4
    kSmallThread{0.44, 76};                       // 4 × 4
/// Tensor cores, by the smaller side of a tile: cycles for 64 bytes of the
/// depth, of f16. A step of bytes or tf32 takes as many instructions, of the
/// same rate.
struct TensorCoreRate {
  double multiplying; ///< Of each block, with enough of them.
  double waiting;     ///< That a block takes at least.
};
inline constexpr TensorCoreRate kLargeTile{470, 730}, // 128
    kTile{245, 410},                                  // 64
    kSmallTile{130, 375};                             // 32
/// Cycles from the end of a kernel to that of a small one that reads what it
/// has written.
inline constexpr double kNextKernel = 5400;
} // namespace measured

//===----------------------------------------------------------------------===//
// What nobody has measured
//===----------------------------------------------------------------------===//

/// Guesses, of the order of what is said of other code. They rank plans and
/// tell no times.
namespace guess {
/// How much of its peak a multiprocessor reaches with blocks of 128, 64 and 32
/// queries of attention: the more they are, the fewer loads a product costs.
inline constexpr double kManyQueries = 1, kQueries = 0.8, kFewQueries = 0.5;
/// The same with products in kernels of their own; and how many FFMA a
/// multiprocessor does while three of these start, and while a score is written
/// and read twice.
inline constexpr double kChained = 0.7, kLaunches = 1 << 20, kOfScore = 100;
/// How much faster than FFMA tensor cores multiply in attention.
inline constexpr double kTensorSpeed = 12;
/// Cycles from a load of global memory to its use, of a shuffle, and of a
/// barrier with the accesses to shared memory on both sides of it.
inline constexpr double kLoad = 500, kShuffle = 25, kBarrier = 60;
/// Cycles while a kernel starts: what takes less costs as much.
inline constexpr double kLaunch = 6000;
/// Bytes that come from global memory where neighbours of a warp read single
/// elements that lie apart: a sector's.
inline constexpr int64_t kSector = 32;
/// Bytes that a multiprocessor's cache gives in a cycle.
inline constexpr int64_t kCacheBytes = 128;
} // namespace guess

/// What a kernel does, whatever its strategy.
struct Demand {
  double memoryBytes = 0; ///< From and to global memory, each once.
  double cacheBytes = 0;  ///< That threads load, some of them again and again.
  double chain = 0;       ///< Cycles of what follows each other in a block.
};
/// What takes longest: memory, caches, the threads that wait, or the launch.
double cyclesOf(const Demand &demand, const Machine &machine);

} // namespace tinh::cuda

#endif // TINH_CODEGEN_CUDA_MACHINE_H
