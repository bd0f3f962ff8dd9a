//===- program.h - A function's schedule, expanded for each worker --------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// At context creation each function becomes one list of instructions for each
// worker, with the worker's share of the chunks and only those waits and
// signals that are needed, and a table of buffer addresses of which only the
// arguments change from run to run.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_RUNTIME_PROGRAM_H
#define TINH_RUNTIME_PROGRAM_H

#include "module.h"

#include <vector>

namespace tinh::runtime {

struct Instruction {
  tinh_kernel_fn kernel; ///< Null: copy bytes [begin, end).
  uint32_t first_buffer; ///< Of its buffers in the address table.
  uint32_t step;         ///< That it belongs to, for traces.
  /// Progress within the run that the others must have made; 0 for none.
  uint32_t wait;
  /// Own progress to tell afterwards; 0 for none.
  uint32_t signal;
  int64_t begin, end;
};

/// Where an argument's address goes.
struct ArgumentSlot {
  uint32_t entry;    ///< Of the address table.
  uint32_t argument; ///< Inputs first, then outputs.
  uint64_t offset;
};

class Program {
public:
  Program(const Module &module, const tinh_function_desc_t &function,
          uint32_t num_workers);

  const tinh_function_desc_t &function() const { return *description; }
  const std::vector<Instruction> &instructions(uint32_t worker) const {
    return workers[worker];
  }
  const std::vector<ArgumentSlot> &arguments() const { return slots; }

  /// Addresses of all buffers, arguments left null.
  std::vector<void *> address_table(const Module &module, char *arena,
                                    char *state) const;

private:
  void expand(const Module &module, uint32_t worker, uint32_t num_workers,
              const std::vector<bool> &awaited);

  const tinh_function_desc_t *description;
  std::vector<std::vector<Instruction>> workers;
  std::vector<ArgumentSlot> slots;
};

} // namespace tinh::runtime

#endif // TINH_RUNTIME_PROGRAM_H
