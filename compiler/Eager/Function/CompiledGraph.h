//===- CompiledGraph.h - A graph, compiled and loaded -----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_EAGER_FUNCTION_COMPILEDGRAPH_H
#define TINH_EAGER_FUNCTION_COMPILEDGRAPH_H

#include "compiler/Eager/Engine/Engine.h"
#include "compiler/Eager/Function/GraphContext.h"
#include "compiler/Eager/Tensor/TensorImpl.h"
#include "compiler/Pipelines/Compile.h"
#include "tinh/runtime.hpp"
#include "tinh/tensor_types.h"

#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace tinh::eager {

/// Thread-safe once it is made.
class CompiledGraph : public std::enable_shared_from_this<CompiledGraph> {
public:
  /// Compiles `module`, at phase graph, whose result i, from `numResults` on,
  /// is what argument changed[i - numResults] holds afterwards. Throws a
  /// tinh::Error.
  static std::shared_ptr<CompiledGraph>
  create(mlir::ModuleOp module, GraphContext &context, const std::string &name,
         size_t numResults, std::vector<size_t> changed, uint32_t threads);

  /// Queues a run on the engine, which changes arguments in their own memory.
  /// Arguments are contiguous, `results` new, of
  /// the dtypes and shapes that the graph has.
  void launch(std::span<const TensorImpl *const> arguments,
              std::span<const TensorImpl *const> results, const Call &call);

private:
  struct Run;

  CompiledGraph(Module module, const ContextOptions &options,
                std::vector<size_t> changed)
      : module(std::move(module)), options(options),
        context(this->module, options), changed(std::move(changed)) {}

  const Context &contextFor(tinh_check_numerics_t check);

  Module module;
  ContextOptions options;
  Context context;
  std::mutex mutex;
  /// Those that look at numbers, made when they are first wanted.
  std::map<tinh_check_numerics_t, Context> checking;
  std::vector<size_t> changed;
};

/// Writes `module`, at phase graph, as an artifact, for a GPU with `cuda`.
/// Throws a tinh::Error. Gives how many threads can have work in it at a time.
uint32_t compileToFile(mlir::ModuleOp module, GraphContext &context,
                       const std::string &name, const std::string &path,
                       const std::optional<CudaOptions> &cuda = std::nullopt);

} // namespace tinh::eager

#endif // TINH_EAGER_FUNCTION_COMPILEDGRAPH_H
