//===- collective_steps.h - A run's collectives -----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_RUNTIME_COLLECTIVE_STEPS_H
#define TINH_RUNTIME_COLLECTIVE_STEPS_H

#include "tinh/artifact.h"
#include "tinh/collectives.h"

#include <atomic>
#include <optional>
#include <vector>

namespace tinh::runtime {

/// Whether some number of ranks can do it.
bool valid_collective(const tinh_collective_desc_t &collective);

/// Throws INVALID_ARGUMENT or INCOMPATIBLE if the function computes with other
/// ranks, and these are not there (null) or of another number.
void require_ranks(const tinh_function_desc_t &function,
                   const tinh_collectives_t *collectives);

/// What the steps START and AWAIT do in one run at a time. One thread at a time
/// executes them.
class CollectiveSteps {
public:
  explicit CollectiveSteps(tinh_collectives_t *collectives)
      : collectives(collectives) {}

  void begin(const tinh_function_desc_t &function);
  /// After a failure nothing is started any more, but what was is waited for,
  /// as it may write to the run's memory; the run comes to its end.
  void execute(const tinh_step_t &step, uint32_t index, void *const *buffers);
  /// What has failed; null: nothing. It stays while the table is there.
  const char *failure() const { return failed.load(std::memory_order_acquire); }

private:
  tinh_collectives_t *const collectives;
  /// Of each step START, once it has started something.
  std::vector<std::optional<uint64_t>> tickets;
  std::atomic<const char *> failed{nullptr};
};

} // namespace tinh::runtime

#endif // TINH_RUNTIME_COLLECTIVE_STEPS_H
