//===- walk.h - Where a worker is in a run ----------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a worker's part in a run is made of: the next instruction, the loops
// that it is in and the addresses of buffers that move with them. All workers
// take the same branches, since each reads the same bytes.
//
// Progress counters count positions: the base of the run plus a step's index.
// They must never come back to a position, so an iteration of a loop adds the
// loop's length to the worker's base. How far a run comes is so known only when
// it ends, and to worker 0 in time: it starts the next run, from there.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_RUNTIME_WALK_H
#define TINH_RUNTIME_WALK_H

#include "program/program.h"

#include <optional>

namespace tinh::runtime {

class alignas(64) Walk {
public:
  /// With room for any of `programs`, so that a run need not allocate.
  explicit Walk(const std::vector<Program> &programs);

  /// Begins a run at position `base`; `table` has its buffers' addresses.
  void begin(const Program &program, void *const *table, uint32_t base);

  const Instruction *at = nullptr; ///< The next one.
  /// What the others must have come to before that; none if its own wait is all
  /// that there is.
  std::optional<uint32_t> awaited;

  /// The progress that makes a position of the program.
  uint32_t progress(uint32_t position) const { return base + position; }

  void *const *buffers(const Instruction &instruction) const {
    return (instruction.moves ? addresses() : table) + instruction.first_buffer;
  }

  /// Does what a control instruction says; true: go on at its target.
  bool decide(const Instruction &control);

  /// Of the innermost iteration of a loop: its number, and for traces when it
  /// began.
  int64_t &iteration(uint32_t depth) { return levels[depth].iteration; }
  int64_t &began(uint32_t depth) { return levels[depth].began; }
  /// Those of the loops around and of `loop` itself, the outermost first.
  std::vector<int64_t> iterations(uint32_t loop) const;

private:
  void place(const Loop &loop, size_t count);
  void **addresses() const {
    return reinterpret_cast<void **>(
        const_cast<AddressLine *>(address_lines.data()));
  }

  /// On cache lines of its own: other workers write theirs all the time.
  struct alignas(64) Level {
    int64_t iteration = 0;
    int64_t length = 0;
    int64_t began = 0;
  };
  struct alignas(64) AddressLine {
    void *addresses[8];
  };

  const Program *program = nullptr;
  void *const *table = nullptr;
  uint32_t base = 0;
  std::vector<Level> levels; ///< Of the loops around, the outermost first.
  std::vector<AddressLine> address_lines;
};

} // namespace tinh::runtime

#endif // TINH_RUNTIME_WALK_H
