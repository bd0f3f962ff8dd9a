//===- collective_steps.cpp - A run's collectives -------------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "collectives/collective_steps.h"

#include "artifact/step_buffers.h"
#include "artifact/steps.h"
#include "support/error.h"

#include <algorithm>

namespace tinh::runtime {

void require_ranks(const tinh_function_desc_t &function, bool on_gpu,
                   const tinh_collectives_t *collectives) {
  if (on_gpu && collectives && !computes_on_gpus(*collectives))
    throw_error(TINH_INVALID_ARGUMENT,
                {"'", function.name,
                 "' computes together with other ranks on GPUs: its context "
                 "needs the collectives of libtinh_nccl.so "
                 "(tinh_collectives_load), not those of ",
                 collectives->library,
                 "; or compile it with --collectives=mpi"});
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

static bool knows_times(const tinh_collectives_t &table) {
  return has_member(table, &tinh_collectives_t::wait_timed) && table.wait_timed;
}

void CollectiveSteps::begin(const tinh_function_desc_t &next, uint64_t number) {
  function = &next;
  run = number;
  started.assign(next.num_steps, std::nullopt);
}

void CollectiveSteps::execute(uint32_t index, void *const *buffers) {
  const tinh_step_t &step = function->steps[index];
  const char *error = nullptr;
  if (step.opcode == TINH_OP_AWAIT)
    error = wait(step.target);
  else if (!failure())
    error = start(index, buffers);
  if (error)
    ranks->fail(error);
}

void CollectiveSteps::give_up(const std::string &why) {
  auto steps = function->steps;
  if (!failure() &&
      std::any_of(steps, steps + function->num_steps, is_collective))
    ranks->give_up(why);
}

void CollectiveSteps::require_same() {
  const char *error = failure();
  if (!error && (error = ranks->compare(*function)))
    ranks->fail(error);
  if (error)
    throw Error(TINH_COLLECTIVE_FAILED, error);
}

const char *CollectiveSteps::start(uint32_t index, void *const *buffers) {
  if (const char *error = ranks->compare(*function))
    return error;
  const tinh_collective_desc_t &desc = *function->steps[index].collective;
  tinh_collective_t collective = collective_of(desc, buffers);
  Started begun = {0, trace ? trace_clock() : 0};
  tinh_collectives_t &table = ranks->table;
  const char *error = table.start(&table, &collective, &begun.ticket);
  if (!error)
    started[index] = begun;
  return error;
}

/// For what the step `start` has started, if it has.
const char *CollectiveSteps::wait(uint32_t start) {
  if (!started[start])
    return nullptr;
  tinh_collectives_t &table = ranks->table;
  auto [ticket, begun] = *started[start];
  if (!trace || !knows_times(table))
    return table.wait(&table, ticket);
  int64_t finished = 0;
  const char *error = table.wait_timed(&table, ticket, &finished);
  if (!error)
    trace->add_collective(*function, start, run, begun, finished);
  return error;
}

} // namespace tinh::runtime
