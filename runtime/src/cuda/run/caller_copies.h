//===- caller_copies.h - Copies from and to the caller's memory -*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The steps of a function that copy between the GPU and its arguments go
// through pinned memory, their *staging*, unless the GPU can use the caller's
// memory itself: that is *direct*. What they leave in staging for the caller
// *arrives* once the GPU is done with it.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_RUNTIME_CUDA_CALLER_COPIES_H
#define TINH_RUNTIME_CUDA_CALLER_COPIES_H

#include "cuda/run/segment_graph.h"

#include <optional>

namespace tinh::runtime::cuda {

struct CallerCopy {
  uint32_t step = 0;
  uint32_t argument = 0; ///< Inputs first, then outputs.
  uint64_t offset = 0, size = 0;
  bool to_device = false;
  uint64_t staging_offset = 0;
  char *staging = nullptr;
  // If it is in a graph:
  uint32_t segment = TINH_NO_SEGMENT, node = 0;
  void *on_device = nullptr;
  const void *in_graph = nullptr; ///< What the node has on the host.
  // In the present run:
  char *caller = nullptr;
  bool on_gpu = false; ///< The caller's memory is.
  bool direct = false; ///< The GPU uses the caller's memory itself.
  bool busy = false;   ///< A loose one's staging memory is in use.
};

class CallerCopies {
public:
  /// Those of a function. The module must outlive this.
  CallerCopies(const LoadedModule &loaded, const FunctionPlan &plan);

  uint64_t staging_size() const { return size_of_staging; }
  void set_staging(char *staging);
  /// Has the nodes of a segment, whose `buffers` these are, use staging memory.
  void add_to(uint32_t segment, std::vector<std::vector<void *>> &buffers);

  /// For the run that begins: looks at the memory of its arguments, and has
  /// graphs use it where they can.
  void begin(void *const *arguments, bool on_state,
             std::vector<std::optional<SegmentGraph>> &graphs);
  /// Before a segment is launched: copies to staging what it reads there.
  void stage(uint32_t segment) const;
  /// Once it is launched, due at a step: what it leaves in staging will arrive.
  void expect(uint32_t segment, uint32_t due);
  /// The loose copy that a step is, or null.
  CallerCopy *loose_copy(uint32_t step);
  /// Copies to staging what a loose copy takes to the GPU.
  void stage(const CallerCopy &copy, const void *from) const {
    copy_staged(copy, copy.staging, from);
  }
  /// What a loose copy takes from the GPU will arrive at `to`.
  void expect(CallerCopy &copy, void *to) {
    arrivals.push_back({0, true, &copy, static_cast<char *>(to)});
  }

  /// The GPU is done with segments that are due at steps up to `position`,
  void arrive(uint32_t position);
  /// with all loose steps,
  void arrive_loose();
  /// with all of the run.
  void arrive_all();
  /// Whether nothing goes through staging in this run.
  bool all_direct() const;
  /// Nothing arrives any more.
  void forget() noexcept { arrivals.clear(); }

private:
  struct Arrival {
    uint32_t due; ///< Its segment; 0 for a loose copy.
    bool is_loose;
    const CallerCopy *copy;
    char *to;
  };
  void find(const FunctionPlan &plan, uint32_t step,
            const std::vector<int64_t> &iterations, uint32_t segment,
            uint32_t node);
  void look_at(CallerCopy &copy, bool on_state) const;
  void copy_staged(const CallerCopy &copy, void *to, const void *from) const;
  template <typename IsThere> void arrive_if(IsThere &&is_there);

  const LoadedModule *loaded;
  const tinh_function_desc_t *function;
  std::vector<CallerCopy> copies; ///< By step, then by node.
  uint64_t size_of_staging = 0;
  std::vector<Arrival> arrivals; ///< Of the present run.
};

} // namespace tinh::runtime::cuda

#endif // TINH_RUNTIME_CUDA_CALLER_COPIES_H
