//===- library_calls.h - The steps that libraries compute -------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which steps of an arena's functions libraries compute, and the workspaces
// that they have for that. Calls that may run at the same time have different
// ones: a call has that of another one that it follows or, if there are too
// many, comes to follow another one.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_RUNTIME_CUDA_LIBRARY_CALLS_H
#define TINH_RUNTIME_CUDA_LIBRARY_CALLS_H

#include "cuda/libraries/library.h"
#include "cuda/run/function_plan.h"
#include "cuda/run/loaded_module.h"

#include <span>

namespace tinh::runtime::cuda {

constexpr uint32_t kNoNode = UINT32_MAX;

struct LibraryCall {
  const LibraryPlan *plan;
  Alignments alignments;
  uint32_t kernel;
  uint32_t workspace = 0;
  /// The node of its segment that has the workspace before it does.
  uint32_t after = kNoNode;
};

class LibraryCalls {
public:
  explicit LibraryCalls(const LoadedModule &loaded) : loaded(loaded) {}

  /// Finds those of the next function; `table` has its buffers' addresses.
  void add(const FunctionPlan &plan, void *const *table);
  /// When all functions have been added.
  void allocate_workspaces();

  /// That of a node of a segment or, without a segment, of a loose step; null
  /// if it is computed by its own kernel.
  const LibraryCall *find(uint32_t function, uint32_t segment,
                          uint32_t number) const;
  /// Gives the call to a stream; false if the buffers do not lie as it needs
  /// them. Throws the library's status.
  bool execute(const LibraryCall &call, std::span<void *const> buffers,
               CUstream stream) const;
  /// The call as a graph; if the library fails, nothing, and its kernel is used
  /// from now on.
  Graph capture(const LibraryCall &call, std::span<void *const> buffers) const;

private:
  /// By segment and node, or TINH_NO_SEGMENT and step.
  using Calls = std::map<std::pair<uint32_t, uint32_t>, LibraryCall>;
  void share_workspaces(const FunctionPlan &plan, Calls &calls);

  static constexpr uint32_t kStreams = 2, kEach = 4; ///< Workspaces of one.
  const LoadedModule &loaded;
  std::vector<Calls> functions;
  uint64_t sizes[kStreams * kEach] = {};
  DeviceMemory workspaces[kStreams * kEach];
};

} // namespace tinh::runtime::cuda

#endif // TINH_RUNTIME_CUDA_LIBRARY_CALLS_H
