//===- FunctionImpl.h - A C++ function and its graphs -----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_EAGER_FUNCTION_FUNCTIONIMPL_H
#define TINH_EAGER_FUNCTION_FUNCTIONIMPL_H

#include "compiler/Eager/Function/DifferentiableGraph.h"
#include "compiler/Eager/Function/Trace.h"
#include "tinh/function.h"

#include <deque>
#include <mutex>

namespace tinh::eager {

/// What a function did for one signature of its arguments.
struct TracedGraph {
  GraphContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// For each argument of the graph, the captured tensor; null for inputs and
  /// generators.
  std::vector<Ref<TensorImpl>> captured;
  /// Which of these were leaves of the tape.
  std::vector<bool> capturedLeaves;
  /// For each argument, that of the leaf whose gradient it is.
  std::vector<std::optional<size_t>> gradientOf;
  /// Of these, the arguments of leaves that have no gradient after a call.
  std::vector<size_t> cleared;
  /// Whether gradients are added up in all leaves among the arguments.
  bool followsLeaves = false;
  /// For each argument, the random generator.
  std::vector<UsedGenerator> generators;
  /// The arguments that the function changes, in the order of the graph's last
  /// results.
  std::vector<size_t> changed;
  /// Of the function's own results.
  std::vector<std::pair<tinh_dtype_t, Dims>> results;
};

/// Runs `body` on tensors that stand for `inputs`.
/// Errors name `call`.
std::unique_ptr<TracedGraph> traceFunction(const Function::Body &body,
                                           std::span<const Tensor> inputs,
                                           const Call &call);

/// Writes `graph` by the ending of `path`; see TracedFunction::save.
void saveGraph(TracedGraph &graph, const FunctionOptions &options,
               const std::string &path);

} // namespace tinh::eager

namespace tinh {

class Function::Impl {
public:
  Impl(FunctionOptions options, std::source_location at)
      : options(std::move(options)), at(at) {}

  std::vector<Tensor> call(const Body &body, std::span<const Tensor> inputs,
                           const std::string &key);
  FunctionStatistics statistics();

  const FunctionOptions options;
  const std::source_location at;

private:
  /// The compiled function for one signature.
  struct Specialisation {
    std::string key;
    tinh_dtype_t autocast = TINH_DTYPE_F32; // In which it was traced.
    std::vector<std::pair<tinh_dtype_t, eager::Dims>> inputs;
    std::vector<bool> leaves; // Which inputs are leaves of the tape.
    std::shared_ptr<eager::TracedGraph> graph;
    std::shared_ptr<eager::DifferentiableGraph> compiled;

    bool fits(std::span<const Tensor> given, const std::string &key) const;
    bool hasSameLeaves(std::span<const Tensor> given) const;
    /// How the signature given differs: "argument 0: shape [3, 4] instead of
    /// [5, 4]".
    std::string difference(std::span<const Tensor> given,
                           const std::string &key) const;
  };

  Specialisation &find(const Body &body, std::span<const Tensor> inputs,
                       const std::string &key);
  void requireLeaves(const eager::TracedGraph &graph,
                     std::span<const Tensor> inputs) const;
  /// What the graph of a call with these inputs is given.
  std::vector<Tensor> argumentsOf(const eager::TracedGraph &graph,
                                  std::span<const Tensor> inputs);
  void noteRetrace(std::span<const Tensor> inputs, const std::string &key);

  std::mutex mutex; // Guards what follows; a specialisation stays as it is.
  std::deque<Specialisation> specialisations;
  FunctionStatistics counts;
};

} // namespace tinh

#endif // TINH_EAGER_FUNCTION_FUNCTIONIMPL_H
