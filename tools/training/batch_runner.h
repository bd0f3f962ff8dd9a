//===- batch_runner.h - Runs over batches of samples ------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TOOLS_BATCH_RUNNER_H
#define TINH_TOOLS_BATCH_RUNNER_H

#include "dataset.h"
#include "ranks.h"

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace tinh::tools {

/// Runs of a function over batches, two of them in flight: while one computes,
/// the next one's samples are gathered. Means of its outputs that are numbers,
/// the loss first.
///
/// With other ranks, a batch of all is one of each, in their order: N ranks see
/// in a step what one process sees that has N times the batch. A function that
/// computes without them is run on every N-th batch instead.
class BatchRunner {
public:
  /// `option` has the `files` of samples.
  BatchRunner(const Module &module, const Context &context, const Ranks &ranks,
              const std::string &function, const std::string &option,
              const std::string &files);
  BatchRunner(const BatchRunner &) = delete;
  /// Runs that have been started use its memory, also after an error.
  ~BatchRunner() { tinh_context_wait_all(context.handle()); }

  const Dataset &dataset() const { return data; }
  bool computes_with_ranks() const { return is_common; }
  /// Samples and steps of all ranks together.
  uint64_t batch_size() const;
  uint64_t num_steps() const;
  /// Sums of the outputs over the steps of an epoch so far; with other ranks,
  /// up to the last `collect`, of the means over these.
  std::vector<double> &sums() { return totals; }

  /// Starts step `step`, if this rank has a part in it. `epoch` is for
  /// messages.
  void start(const std::vector<uint64_t> &order, uint64_t epoch, uint64_t step);
  /// Waits for what has been started.
  void finish();
  /// Adds what the ranks have summed by themselves to `sums`. For all at a
  /// time.
  void collect();
  /// "loss 0.25, accuracy 0.5": means over all steps.
  std::string means() const;

private:
  struct Slot {
    Dataset::Batch inputs;
    std::vector<std::vector<char>> memory;
    std::vector<tinh_buffer_t> outputs;
    std::optional<Future> future;
    uint64_t epoch = 0, step = 0;
    std::vector<uint64_t> samples;
  };

  void finish(Slot &slot);
  void wait_for(Slot &slot);
  [[noreturn]] void fail(const Slot &slot, const std::string &what,
                         const std::string &advice) const;
  std::string wrong_label(const Slot &slot) const;
  void find_classes(const Module &module);

  const Context &context;
  const Ranks &ranks;
  const uint32_t function;
  const std::vector<tinh_tensor_info_t> outputs;
  const Dataset data;
  const bool is_common; ///< All ranks run it at a time.
  std::array<Slot, 2> slots;
  uint64_t num_started = 0;
  std::optional<size_t> target; ///< The input of classes, if there is one.
  int64_t classes = 0;
  std::vector<size_t> scalars; ///< The outputs that are summed.
  std::vector<double> totals, own;
};

} // namespace tinh::tools

#endif // TINH_TOOLS_BATCH_RUNNER_H
