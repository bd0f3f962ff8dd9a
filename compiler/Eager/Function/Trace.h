//===- Trace.h - A function as it is being recorded -------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tensors have memory, and views of it, that programs change; graphs have
// values that never change. A trace keeps, for each piece of memory, the value
// that it holds at this point of the program. A view is computed from that
// value when it is read; to write a view is to put a new value in the memory's
// place, the old one with the view's elements replaced.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_EAGER_FUNCTION_TRACE_H
#define TINH_EAGER_FUNCTION_TRACE_H

#include "compiler/Eager/Backend.h"
#include "compiler/Eager/Tensor/Support.h"
#include "compiler/Graph/GraphOps.h"
#include "compiler/Support/ElementTypes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <vector>

namespace tinh::eager {

class Trace;

/// What a handle refers to; an error if it refers to nothing.
inline TensorImpl &implOf(const Tensor &tensor) {
  return metadataOf(tensor, {"function", {}});
}
/// A new tensor without memory, contiguous.
Ref<TensorImpl> newTensor(tinh_dtype_t dtype, const Dims &sizes);

mlir::RankedTensorType tensorType(mlir::MLIRContext *context,
                                  const TensorImpl &tensor);

/// What a storage is while tracing: a value in place of bytes.
struct TracedMemory : RefCounted<TracedMemory> {
  TracedMemory(Trace *trace, mlir::RankedTensorType type)
      : trace(trace), type(type) {}
  static void destroy(TracedMemory *memory) { delete memory; }

  Trace *trace; // Null when the trace has ended.
  mlir::RankedTensorType type;
  mlir::Value value; // Null until something is written.
  /// Whether gradients are added up in it, and what it was given since then.
  bool isLeaf = false;
  llvm::SmallVector<mlir::Value, 1> leafValues;
};

/// What a tensor shows of its memory: all, or a view of another tensor.
struct TracedTensor final : TraceData {
  const void *identity() const override { return memory.get(); }

  Ref<TracedMemory> memory;
  Ref<TraceData> source; // Null: all.
  View how;
  Dims sizes;              // Its own.
  bool isConstant = false; // In gradients.
  /// What it showed when it was last read outside of regions, and of which
  /// value: gradients know it by that.
  mutable mlir::Value shown, shownOf;
};

/// A random generator that a graph draws from, so many blocks a run.
struct UsedGenerator {
  std::shared_ptr<Generator::State> state;
  uint64_t blocks = 0;
};
/// What a run is given for it, its seed and its counter; the next run goes on
/// from there.
Tensor advance(const UsedGenerator &generator, std::source_location at);

class Trace {
public:
  explicit Trace(mlir::MLIRContext *context);
  ~Trace();
  Trace(const Trace &) = delete;

  /// A tensor that stands for an argument of the function, like `tensor`.
  Ref<TensorImpl> addInput(const TensorImpl &tensor);

  /// The tensor's value at this point. A tensor from outside of the function
  /// becomes a further argument.
  mlir::Value read(const TensorImpl &tensor);
  /// From here on the tensor holds `value`, and so do all that share its
  /// memory.
  void write(const TensorImpl &tensor, mlir::Value value);

  /// Makes `tensor` one with memory of its own, or a view.
  void allocate(TensorImpl &tensor);
  void addView(const TensorImpl &source, const View &how, TensorImpl &view);
  /// Makes `constant` the same as `source`, but a constant in gradients.
  void addConstant(const TensorImpl &source, TensorImpl &constant);
  /// Where a tensor's elements are; of one from outside, its argument's memory.
  const Ref<TracedMemory> &memoryOf(const TensorImpl &tensor) {
    return tracedOf(tensor).memory;
  }
  /// Whether the tensor is all of its memory, and no view.
  bool isWhole(const TensorImpl &tensor) { return !tracedOf(tensor).source; }

  /// Adds the ops that `build` makes for `call`, at whose place in the user's
  /// code they are. What cannot be built is a tinh::Error.
  mlir::Value add(const Call &call,
                  llvm::function_ref<mlir::Value(GraphOps &)> build);

  mlir::ModuleOp getModule() { return *module; }
  mlir::MLIRContext *context() { return graphBuilder.context(); }
  mlir::OpBuilder &raw() { return graphBuilder.raw(); }
  mlir::Value constant(mlir::TypedAttr value) {
    return graphBuilder.constant(value);
  }

  /// An argument of the function: an input that was declared, a captured
  /// tensor, the gradient that is added up in another argument, or the seed and
  /// the counter of a random generator.
  struct Argument {
    Ref<TensorImpl> captured;
    std::optional<size_t> gradientOf; // By number.
    UsedGenerator generator;
    uint64_t firstCounter = 0; // The generator's when it was first used.
    Ref<TracedMemory> memory;
    mlir::Value initial; // The function's argument.

    bool isInput() const {
      return !captured && !gradientOf && !generator.state;
    }
    bool isChanged() const { return memory->value != initial; }
  };
  const std::vector<Argument> &arguments() const { return functionArguments; }

  /// A tensor that stands for the gradient of what argument `index` is given.
  Ref<TensorImpl> addGradientOf(size_t index);

  /// The argument, [2] of u64, for a generator that draws `blocks` blocks from
  /// `counter` on.
  const Argument &generator(const std::shared_ptr<Generator::State> &state,
                            uint64_t counter, uint64_t blocks);

  /// What `body` does is recorded in `block`, apart from the rest: it ends with
  /// memory as it was. Gives what the body has changed.
  struct Change {
    Ref<TracedMemory> memory;
    mlir::Value value;
  };
  std::vector<Change> record(mlir::Block &block,
                             llvm::function_ref<void()> body);
  /// Whether a branch or the body of a loop is recorded.
  bool isNested() const { return openBlocks.size() > 0; }
  /// Whether ops that are added now can read `value`.
  bool isVisible(mlir::Value value) const;
  /// The value of a memory at this point.
  mlir::Value readMemory(TracedMemory &memory);
  /// A new tensor like `like` that holds `value`.
  Ref<TensorImpl> hold(const TensorImpl &like, mlir::Value value);

  /// While it lives, the body of a loop is traced.
  class LoopScope {
  public:
    explicit LoopScope(Trace &trace) : trace(trace) { ++trace.loopDepth; }
    ~LoopScope() { --trace.loopDepth; }
    LoopScope(const LoopScope &) = delete;

  private:
    Trace &trace;
  };
  bool isInLoop() const { return loopDepth > 0; }

  /// Ends the function: it returns `results`, then the changed arguments.
  mlir::OwningOpRef<mlir::ModuleOp> finish(std::span<const TensorImpl *const>);

private:
  const TracedTensor &tracedOf(const TensorImpl &tensor);
  const TracedTensor &capture(const TensorImpl &tensor);
  Ref<TracedMemory> newMemory(mlir::RankedTensorType type, mlir::Value value);
  Argument &addArgument(mlir::RankedTensorType type);
  mlir::Value readTraced(const TracedTensor &tensor);
  void writeTraced(const TracedTensor &tensor, mlir::Value value);
  std::vector<Change> leave(llvm::ArrayRef<Change> before, size_t numMemories,
                            size_t numArguments);
  void checkAliases() const;

  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp main;
  GraphBuilder graphBuilder;
  std::vector<Argument> functionArguments;
  std::vector<Ref<TraceData>> captures; // By function argument; null: input.
  std::vector<Ref<TracedMemory>> allMemories;
  llvm::SmallVector<mlir::Block *>
      openBlocks; // That are recorded, from outside.
  int loopDepth = 0;
};

} // namespace tinh::eager

#endif // TINH_EAGER_FUNCTION_TRACE_H
