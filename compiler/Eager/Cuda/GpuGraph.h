//===- GpuGraph.h - A graph, compiled for a GPU -----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All arguments and results are variables on the GPU, whose memory is given
// with each run: nothing is copied to or from the CPU.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_EAGER_CUDA_GPUGRAPH_H
#define TINH_EAGER_CUDA_GPUGRAPH_H

#include "compiler/Eager/Cuda/Gpu.h"
#include "compiler/Eager/Function/GraphContext.h"

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

namespace tinh::eager {

class GpuGraph {
public:
  /// `module`, at phase graph, has a function @main. It is compiled when it
  /// first runs.
  GpuGraph(Gpu &gpu, std::shared_ptr<GraphContext> context,
           mlir::OwningOpRef<mlir::ModuleOp> module, std::string name);
  ~GpuGraph();

  Gpu &gpu() const { return device; }
  bool isCompiled() const;
  /// Compiles it, unless that has been done. Throws a tinh::Error.
  void compile();
  /// Gives the GPU's stream one run. Arguments, then results, in its memory,
  /// aligned to 64 bytes; none overlaps a result. Any thread may call it.
  void run(std::span<void *const> tensors, tinh_check_numerics_t check);

private:
  const Context &contextFor(tinh_check_numerics_t check);

  Gpu &device;
  const std::string name;
  mutable std::mutex mutex;              // Of what follows.
  std::shared_ptr<GraphContext> context; // Null once it is compiled.
  mlir::OwningOpRef<mlir::ModuleOp> graph;
  std::optional<Error> failure; // Why it cannot be compiled.
  std::vector<uint64_t> sizes;  // In bytes.
  std::optional<Module> module;
  std::map<tinh_check_numerics_t, Context> contexts;
};

} // namespace tinh::eager

#endif // TINH_EAGER_CUDA_GPUGRAPH_H
