//===- races.h - Accesses of shared memory that race ------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two threads that access the same bytes of shared memory, one of them writing,
// need a barrier between. Which of them comes first on a GPU is chance, so what
// is read may be right here with any order of threads; this finds that nothing
// orders them. Writes of the same value are no race among themselves.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TESTS_CUDA_DRIVER_RACES_H
#define TINH_TESTS_CUDA_DRIVER_RACES_H

#include <cstdint>
#include <string>
#include <vector>

namespace tinh::fake {

class RaceDetector {
public:
  /// A block begins, with shared memory of so many bytes.
  void begin(uint64_t size);
  /// A barrier of the block.
  void synchronise() { ++time; }

  // `thread` accesses `size` bytes at `offset`. They say what races, if
  // anything. Single bytes are not looked at.
  std::string read(uint64_t offset, uint32_t size, uint32_t thread);
  /// `bytes` are what has been written.
  std::string write(uint64_t offset, uint32_t size, uint32_t thread,
                    const char *bytes);

private:
  /// The last access of one kind; `thread` is kSeveral if other ones have been
  /// there since the last barrier.
  struct Access {
    uint32_t thread = 0, time = 0;
  };
  struct Place {
    Access write, read;
    uint16_t value = 0;
  };
  static constexpr uint32_t kSeveral = UINT32_MAX, kGranule = 2;

  /// Whether nothing orders an access before what `thread` does now.
  bool isUnordered(const Access &access, uint32_t thread) const;
  void note(Access &access, uint32_t thread);
  static std::string describe(uint64_t offset, uint32_t thread,
                              const char *what, const Access &other,
                              const char *otherWhat);

  // Times go on from one block to the next, so that nothing is to be cleared.
  uint32_t time = 0;
  std::vector<Place> places;
};

} // namespace tinh::fake

#endif // TINH_TESTS_CUDA_DRIVER_RACES_H
