//===- collective_steps.cpp - A run's collectives -------------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "collective_steps.h"

#include "error.h"

namespace tinh::runtime {

void require_ranks(const tinh_function_desc_t &function,
                   const tinh_collectives_t *collectives) {
  for (uint32_t s = 0; s < function.num_steps; ++s) {
    const tinh_step_t &step = function.steps[s];
    if (step.opcode != TINH_OP_START)
      continue;
    if (!collectives)
      throw Error(TINH_INVALID_ARGUMENT,
                  std::string("'") + function.name +
                      "' computes together with other ranks: its context needs "
                      "collectives (tinh_context_options_t), as those of MPI "
                      "in a process that mpirun has started");
    uint32_t wanted = step.collective->num_ranks;
    if (wanted != 0 && wanted != collectives->num_ranks)
      throw Error(TINH_INCOMPATIBLE,
                  std::string("'") + function.name + "' was compiled for " +
                      std::to_string(wanted) + " ranks, and there are " +
                      std::to_string(collectives->num_ranks));
  }
}

void CollectiveSteps::begin(const tinh_function_desc_t &function) {
  tickets.resize(function.num_steps);
  failed.store(nullptr, std::memory_order_relaxed);
}

void CollectiveSteps::execute(const tinh_step_t &step, uint32_t index,
                              void *const *buffers) {
  if (failure())
    return;
  const char *error = nullptr;
  if (step.opcode == TINH_OP_AWAIT) {
    error = collectives->wait(collectives, tickets[step.target]);
  } else {
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
    error = collectives->start(collectives, &collective, &tickets[index]);
  }
  failed.store(error, std::memory_order_release);
}

} // namespace tinh::runtime
