//===- TraceAutograd.h - Gradients in functions that are traced -*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// There is no tape: the graph so far says what was computed from what, and
// gradients are further ops of it. What the tape knows by not recording is
// graph.stop_gradient.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_EAGER_FUNCTION_TRACEAUTOGRAD_H
#define TINH_EAGER_FUNCTION_TRACEAUTOGRAD_H

#include "compiler/Eager/Autograd/Autograd.h"
#include "compiler/Eager/Function/Trace.h"

#include "llvm/ADT/DenseMap.h"

#include <deque>

namespace tinh::eager {

class TraceAutograd final : public Autograd {
public:
  /// With `keepsGradients`, those of arguments are arguments themselves, which
  /// live from call to call; else they are a part of the graph.
  TraceAutograd(Trace &trace, bool keepsGradients)
      : trace(trace), keepsGradients(keepsGradients) {}

  void requireGrad(const Tensor &x, bool required, const Call &call) override;
  bool isGradRequired(const Tensor &x, const Call &call) override;
  bool isLeaf(const Tensor &x, const Call &call) override;
  Tensor gradOf(const Tensor &x, const Call &call) override;
  void setGrad(const Tensor &x, const Tensor &gradient,
               const Call &call) override;
  Tensor detach(const Tensor &x, const Call &call) override;
  std::vector<Tensor> run(std::span<const Tensor> outputs,
                          std::span<const Tensor> outputGradients,
                          std::span<const Tensor> inputs,
                          const BackwardOptions &options,
                          const Call &call) override;
  void registerHook(const Tensor &x, std::function<Tensor(const Tensor &)> hook,
                    const Call &call) override;
  std::vector<Tensor> customGradient(const Forward &forward,
                                     const Gradient &gradient,
                                     std::span<const Tensor> inputs,
                                     const Call &call) override;

  /// What `call` computed, or a constant of that value while a NoGrad lives.
  mlir::Value result(mlir::Value value, const Call &call);
  /// Throws if `out` is a leaf, or a view of one, and operations are recorded.
  void requireNoLeaf(const TensorImpl &out, const Call &call);
  /// Whether backward() went to all leaves: another set of these is another
  /// graph.
  bool followsLeaves() const { return hasFollowedLeaves; }
  /// Whether argument `index` is a gradient that the function leaves cleared.
  bool isCleared(size_t index) const;

private:
  /// A memory that gradients are added up in.
  struct Leaf {
    Ref<TracedMemory> memory;
    Ref<TensorImpl> gradient;
    /// Whether there is no gradient, though zeros take its place. Not known in
    /// the bodies of loops, where it is false.
    bool isCleared = false;
  };
  Leaf *find(const Tensor &x, const Call &call);
  Leaf &leafOf(const Ref<TracedMemory> &memory);
  void clear(Leaf &leaf, const Call &call);
  void accumulate(Leaf &leaf, mlir::Value gradient, const Call &call);
  /// The memories of all leaves.
  std::vector<Ref<TracedMemory>> leafMemories() const;
  /// The values that a leaf has had, for ops that are added now.
  llvm::SmallVector<mlir::Value> valuesOf(const TracedMemory &leaf) const;

  llvm::SmallVector<mlir::Value>
  differentiate(llvm::ArrayRef<mlir::Value> outputs,
                llvm::ArrayRef<mlir::Value> seeds,
                llvm::ArrayRef<mlir::Value> inputs, const Call &call);
  mlir::Value callHooks(mlir::Value value, mlir::Value gradient);
  void backward(llvm::ArrayRef<mlir::Value> outputs,
                llvm::ArrayRef<mlir::Value> seeds,
                const BackwardOptions &options, const Call &call);
  Tensor hold(const TensorImpl &like, mlir::Value value) {
    return TensorAccess::share(*trace.hold(like, value));
  }
  mlir::Value zeros(mlir::Type type, const Call &call);
  std::unique_ptr<mlir::Block> recordRegion(
      std::span<const Tensor> arguments, const Call &call,
      llvm::function_ref<std::vector<Tensor>(std::span<const Tensor>)> body,
      std::vector<Tensor> &results);

  Trace &trace;
  bool keepsGradients;
  bool hasFollowedLeaves = false;
  std::deque<Leaf> leaves;
  struct HookedValue {
    Ref<TensorImpl> like;
    std::vector<std::function<Tensor(const Tensor &)>> hooks;
  };
  llvm::DenseMap<mlir::Value, HookedValue> hooked;
};

} // namespace tinh::eager

#endif // TINH_EAGER_FUNCTION_TRACEAUTOGRAD_H
