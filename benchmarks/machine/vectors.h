//===- vectors.h - Loops over vectors of one width --------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The same loops are compiled for each width (vectors.inc), by sources with the
// options that this width needs; they are run where the CPU has it.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_BENCHMARKS_MACHINE_VECTORS_H
#define TINH_BENCHMARKS_MACHINE_VECTORS_H

#include <cstddef>
#include <cstdint>

namespace machine {

/// Counts are of iterations; sizes are in bytes and whole multiples of eight
/// vectors; memory is aligned to 64 bytes.
struct Vectors {
  const char *name; // As figures have it: "256".
  size_t bytes;     // Of a vector.

  /// Chains of fused multiply-adds that do not wait for each other.
  unsigned chains;
  void (*fma_throughput)(uint64_t count);
  void (*fma_latency)(uint64_t count);

  void (*read)(const char *memory, size_t size, uint64_t count);
  void (*write)(char *memory, size_t size, uint64_t count);
  void (*copy)(char *to, const char *from, size_t size, uint64_t count);
  /// Reads an element into all lanes, as often as there are elements.
  void (*broadcast)(const char *memory, size_t size, uint64_t count);
  /// An element into all lanes, and a multiply-add with it: `chains` a step.
  void (*broadcast_fma)(const char *memory, uint64_t count);

  /// Reads `rows` rows, `stride` bytes apart, a vector of each in turn.
  void (*read_rows)(const char *memory, size_t stride, size_t rows, size_t size,
                    uint64_t count);
  /// Writes a vector and reads another one `distance` bytes behind.
  void (*write_and_read)(char *memory, size_t distance, size_t size,
                         uint64_t count);
};

extern const Vectors vectors_256, vectors_512;

} // namespace machine

#endif // TINH_BENCHMARKS_MACHINE_VECTORS_H
