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
// Waits and signals are positions: a worker has come to position p when it is
// done with all steps before step p, or has gone past them. walk.h says how
// positions go on growing in a loop.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_RUNTIME_PROGRAM_H
#define TINH_RUNTIME_PROGRAM_H

#include "artifact/module.h"
#include "artifact/steps.h"
#include "device/device.h"
#include "tinh/collectives.h"

#include <map>
#include <vector>

namespace tinh::runtime {

constexpr uint32_t kNoLoop = UINT32_MAX;

/// Opcodes of instructions for worker 0, who gives a GPU its work.
constexpr uint32_t kDeviceStep = TINH_OP_NEXT + 1;
constexpr uint32_t kDeviceLaunch = TINH_OP_NEXT + 2; ///< Segment `begin`.
/// For the GPU to be done with what is due before step `begin`.
constexpr uint32_t kDeviceWait = TINH_OP_NEXT + 3;

struct Instruction {
  tinh_kernel_fn kernel; ///< Null if this is no dispatch on the CPU.
  uint32_t opcode;       ///< tinh_opcode_t, or one of the above.
  uint32_t step;         ///< That it belongs to.
  /// Of its buffers in the address table or, if `moves`, among the walk's own.
  uint32_t first_buffer;
  bool moves;
  bool alone; ///< In a loop that this worker runs alone, or begins it.
  /// The position that the others must have reached; 0 for none.
  uint32_t wait;
  /// Own position to tell afterwards; 0 for none.
  uint32_t signal;
  uint32_t target; ///< The instruction to go to, and
  uint32_t target_step;
  uint32_t told_target; ///< The position to tell then.
  uint32_t loop; ///< That it begins, ends or, if it goes, leaves; or kNoLoop.
  int64_t begin, end; ///< Its share, of chunks or of bytes.
  /// Of its chunks, how many are worth giving to a thread that waits; 0: none.
  int64_t grain;

  /// Whether it is more than work of this worker's.
  bool is_control() const { return opcode >= TINH_OP_BRANCH; }
  bool is_for_device() const { return opcode >= kDeviceStep; }
};

/// A buffer of an instruction in a loop whose address the worker computes.
struct MovingBuffer {
  uint32_t address; ///< Among the walk's own.
  uint32_t entry;   ///< Of the address table: where it lies at first.
  /// Strides, by loops around it; for the number of an iteration there is none.
  uint32_t num_strides;
  const tinh_stride_t *strides;
  int32_t counter; ///< The depth of the loop whose number it is; or -1.
};

struct Loop {
  uint32_t step; ///< Its LOOP.
  uint32_t depth;
  uint32_t parent; ///< The loop around it, or kNoLoop.
  int64_t length;  ///< Iterations at most.
  /// One worker does all of its steps: worker 0 if there are some for a GPU
  /// among them, and otherwise the one whom assign.h gives it to.
  bool alone;
  bool for_device;
  /// What is placed when it begins; the first `num_moving` of it also before
  /// each other iteration.
  std::vector<MovingBuffer> buffers;
  size_t num_moving = 0;
};

/// Where an argument's address goes.
struct ArgumentSlot {
  uint32_t entry;    ///< Of the address table.
  uint32_t argument; ///< Inputs first, then outputs.
  uint64_t offset;
};

class Program {
public:
  /// Unless all workers are to walk all steps, a loop that is alone is left to
  /// one of them, who then waits for nobody.
  Program(const Module &module, const tinh_function_desc_t &function,
          uint32_t num_workers, bool all_walk = false);

  const tinh_function_desc_t &function() const { return *description; }
  const DeviceSchedule &schedule() const { return for_device; }
  bool uses_device() const { return !for_device.empty(); }
  /// Whether it is left to worker 0: what there is beside the GPU's steps is
  /// not worth sharing.
  bool on_leader() const { return left_to_leader; }
  /// Of a run, that of a GPU included.
  uint32_t num_parts(uint32_t num_workers) const {
    if (!uses_device())
      return num_workers;
    return left_to_leader ? 1 : num_workers + 1;
  }
  const std::vector<Instruction> &instructions(uint32_t worker) const {
    return workers[worker];
  }
  /// The index of the first instruction in a worker's list that belongs to
  /// `step` or a later one.
  static uint32_t index_at(const std::vector<Instruction> &list, uint32_t step);
  /// Whether its runs are not to overtake one another: all ranks must start
  /// their collectives in the same order.
  bool computes_with_ranks() const { return has_collectives; }
  /// Whether the GPU does so.
  bool computes_with_gpus() const { return has_gpu_collectives; }
  /// Throws INVALID_ARGUMENT or INCOMPATIBLE if there are not the ranks that it
  /// computes with, if with any.
  void require_ranks(const tinh_collectives_t *collectives) const;
  const std::vector<ArgumentSlot> &arguments() const { return slots; }
  /// The arguments that the CPU reads or writes, each with the first step in
  /// which it does.
  const std::map<uint32_t, uint32_t> &host_arguments() const { return of_host; }
  /// That argument `argument` is.
  const tinh_tensor_desc_t &tensor(uint32_t argument) const {
    return argument_of(*description, argument);
  }

  /// Those of `Instruction::loop`.
  const std::vector<Loop> &loops() const { return all_loops; }
  /// The innermost one around a step, or kNoLoop.
  uint32_t loop_around(uint32_t step) const { return loop_of[step]; }
  uint32_t depth() const { return max_depth; }
  uint32_t num_moving_addresses() const { return num_addresses; }

  /// Where buffers lie; what lies on a GPU has an address there.
  struct Memory {
    char *arena, *weights;
    char *device_arena = nullptr, *device_weights = nullptr;
  };
  /// Addresses of all buffers, arguments left null.
  std::vector<void *> address_table(const Memory &memory) const;
  /// Puts the addresses of a run's arguments into such a table.
  void place(const std::vector<void *> &arguments,
             std::vector<void *> &table) const;

private:
  class Expander;
  void find_arguments();
  void find_loops(bool all_walk);
  void add_moving_buffers(uint32_t step, uint32_t first_entry);

  const tinh_function_desc_t *description;
  DeviceSchedule for_device;
  bool left_to_leader;
  bool has_collectives, has_gpu_collectives;
  std::vector<std::vector<Instruction>> workers;
  std::vector<ArgumentSlot> slots;
  std::map<uint32_t, uint32_t> of_host;
  std::vector<Loop> all_loops;
  std::vector<uint32_t>
      loop_of; ///< Of each step, a NEXT's its own; or kNoLoop.
  /// For each step the first of its addresses among the walk's own, if any.
  static constexpr uint32_t kNone = UINT32_MAX;
  std::vector<uint32_t> first_moving;
  uint32_t max_depth = 0;
  uint32_t num_addresses = 0;
};

} // namespace tinh::runtime

#endif // TINH_RUNTIME_PROGRAM_H
