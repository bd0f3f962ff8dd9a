//===- collective_steps.cpp - A run's collectives -------------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "collective_steps.h"

#include "error.h"
#include "step_buffers.h"

namespace tinh::runtime {

bool valid_collective(const tinh_collective_desc_t &collective) {
  bool is_reduction = collective.kind == TINH_ALL_REDUCE ||
                      collective.kind == TINH_REDUCE_SCATTER;
  bool is_for_a_number = collective.kind == TINH_ALL_GATHER ||
                         collective.kind == TINH_REDUCE_SCATTER;
  bool is_rounded = is_reduction && collective.dtype == TINH_DTYPE_F32 &&
                    collective.wire == TINH_DTYPE_BF16;
  return collective.kind <= TINH_BROADCAST &&
         collective.reduction <= TINH_REDUCE_MAX &&
         element_size(collective.dtype) != 0 &&
         (collective.wire == collective.dtype || is_rounded) &&
         (collective.num_ranks != 0 || !is_for_a_number) &&
         collective_size(collective, 0) && collective_size(collective, 1);
}

void require_ranks(const tinh_function_desc_t &function,
                   const tinh_collectives_t *collectives) {
  for (uint32_t s = 0; s < function.num_steps; ++s) {
    const tinh_step_t &step = function.steps[s];
    if (step.opcode != TINH_OP_START)
      continue;
    if (!collectives)
      throw_error(TINH_INVALID_ARGUMENT,
                  {"'", function.name,
                   "' computes together with other ranks: its context needs "
                   "collectives (tinh_context_options_t), as those of MPI "
                   "in a process that mpirun has started"});
    if (step.collective->kind == TINH_BROADCAST &&
        step.collective->root >= collectives->num_ranks)
      throw_error(TINH_INCOMPATIBLE,
                  {"'", function.name, "' has rank ", step.collective->root,
                   " send to the others, and there are ",
                   collectives->num_ranks});
    uint32_t wanted = step.collective->num_ranks;
    if (wanted != 0 && wanted != collectives->num_ranks)
      throw_error(TINH_INCOMPATIBLE,
                  {"'", function.name, "' was compiled for ", wanted,
                   " ranks, and there are ", collectives->num_ranks});
  }
}

void CollectiveSteps::begin(const tinh_function_desc_t &function) {
  tickets.assign(function.num_steps, std::nullopt);
  failed.store(nullptr, std::memory_order_relaxed);
}

void CollectiveSteps::execute(const tinh_step_t &step, uint32_t index,
                              void *const *buffers) {
  const char *error = nullptr;
  if (step.opcode == TINH_OP_AWAIT) {
    if (std::optional<uint64_t> ticket = tickets[step.target])
      error = collectives->wait(collectives, *ticket);
  } else if (!failure()) {
    const tinh_collective_desc_t &desc = *step.collective;
    tinh_collective_t collective = {
        static_cast<tinh_collective_kind_t>(desc.kind),
        static_cast<tinh_reduction_t>(desc.reduction),
        static_cast<tinh_dtype_t>(desc.dtype),
        static_cast<tinh_dtype_t>(desc.wire),
        desc.root,
        desc.count,
        buffers[0],
        buffers[1]};
    uint64_t ticket = 0;
    error = collectives->start(collectives, &collective, &ticket);
    if (!error)
      tickets[index] = ticket;
  }
  if (error && !failure())
    failed.store(error, std::memory_order_release);
}

} // namespace tinh::runtime
