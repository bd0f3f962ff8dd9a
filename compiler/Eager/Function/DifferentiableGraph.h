//===- DifferentiableGraph.h - Compiled graphs on the tape ------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A call with arguments that require gradients is one node of the tape. It runs
// another version of the graph, which also gives what gradients need of it
// (residuals); the gradients are a graph of their own, which reads these:
//
//   forward:  arguments → results, residuals
//   backward: needed arguments, needed results, residuals, gradients of the
//             results → gradients of the arguments
//
// Gradients of gradients are those of a third version, of forward and backward
// together, which computes the residuals again. All are compiled when they are
// first needed, for the device where the arguments lie.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_EAGER_FUNCTION_DIFFERENTIABLEGRAPH_H
#define TINH_EAGER_FUNCTION_DIFFERENTIABLEGRAPH_H

#include "compiler/Eager/Autograd/Tape.h"
#include "compiler/Eager/Function/CompiledGraph.h"
#include "tinh/tensor.h"

#include <map>
#include <mutex>

namespace tinh::eager {

/// Thread-safe.
class DifferentiableGraph
    : public std::enable_shared_from_this<DifferentiableGraph> {
public:
  struct Options {
    std::string name;
    uint32_t threads;
    /// Of the module's results, those of a call; the others are what it changes
    /// arguments to.
    size_t numResults;
    std::vector<size_t> changed;
    /// Whether a call is never recorded: it has followed its own tape.
    bool isConstant = false;
  };

  DifferentiableGraph(std::shared_ptr<GraphContext> context,
                      mlir::OwningOpRef<mlir::ModuleOp> module,
                      Options options);
  ~DifferentiableGraph();

  /// Compiles what a call with these arguments needs, if it is not there.
  void prepare(std::span<const Tensor> arguments);
  /// Throws if an argument that is changed shares its memory with another one.
  std::vector<Tensor> call(std::span<const Tensor> arguments, const Call &call);

private:
  struct Type {
    tinh_dtype_t dtype;
    Dims sizes;
  };
  struct Program;

  /// Which program a call needs: which arguments are recorded, and the place
  /// where they lie.
  struct Key {
    std::vector<bool> recorded;
    uint8_t place;
    auto operator<=>(const Key &) const = default;
  };
  Key keyOf(std::span<const Tensor> arguments) const;
  std::vector<bool> recorded(std::span<const Tensor> arguments) const;
  Program &programFor(std::span<const Tensor> arguments);
  std::unique_ptr<Program> derive(const Key &key);
  void compile(Program &program, mlir::OwningOpRef<mlir::ModuleOp> forward,
               uint8_t place);
  std::shared_ptr<DifferentiableGraph>
  another(mlir::OwningOpRef<mlir::ModuleOp> module, size_t numResults);
  std::vector<Tensor> run(const Program &program,
                          std::span<const Tensor> arguments, const Call &call);
  /// All arguments, as gradients of gradients begin with them.
  using Whole = std::vector<std::pair<Saved, Edge>>;
  void record(const Program &program, std::span<const Tensor> arguments,
              std::span<const Tensor> results, Whole all, const Call &call);
  void checkAliases(std::span<const TensorImpl *const> arguments) const;

  std::shared_ptr<GraphContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  const Options options;
  std::mutex mutex; // Guards what follows; a program stays as it is.
  std::map<Key, std::unique_ptr<Program>> programs;
};

} // namespace tinh::eager

#endif // TINH_EAGER_FUNCTION_DIFFERENTIABLEGRAPH_H
