//===- collective_steps.h - A run's collectives -----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_RUNTIME_COLLECTIVE_STEPS_H
#define TINH_RUNTIME_COLLECTIVE_STEPS_H

#include "collectives/ranks.h"
#include "trace/trace.h"

#include <optional>

namespace tinh::runtime {

/// Throws INVALID_ARGUMENT or INCOMPATIBLE if the function computes with other
/// ranks, and these are not there (null), of another number or, if it does so
/// `on_gpu`, without GPUs.
void require_ranks(const tinh_function_desc_t &function, bool on_gpu,
                   const tinh_collectives_t *collectives);

/// What the steps START and AWAIT do in one run at a time. One thread at a time
/// executes them.
class CollectiveSteps {
public:
  CollectiveSteps(std::shared_ptr<Ranks> ranks, Trace *trace)
      : ranks(std::move(ranks)), trace(trace) {}

  void begin(const tinh_function_desc_t &function, uint64_t run);
  /// After a failure nothing is started any more, but what was is waited for,
  /// as it may write to the run's memory; the run comes to its end.
  void execute(uint32_t step, void *const *buffers);
  /// Before those of the GPU, which are not executed here: throws
  /// COLLECTIVE_FAILED unless all ranks run the same.
  void require_same();
  const char *failure() const { return ranks->failure(); }
  /// Ends what the function has of collectives on all ranks, as its run has
  /// ended before them.
  void give_up(const std::string &why);

private:
  struct Started {
    uint64_t ticket;
    int64_t time; ///< By trace_clock.
  };
  const char *start(uint32_t step, void *const *buffers);
  const char *wait(uint32_t start);

  const std::shared_ptr<Ranks> ranks;
  Trace *const trace; ///< Or null.
  const tinh_function_desc_t *function = nullptr;
  uint64_t run = 0;
  /// Of each step START, once it has started something.
  std::vector<std::optional<Started>> started;
};

} // namespace tinh::runtime

#endif // TINH_RUNTIME_COLLECTIVE_STEPS_H
