//===- ModelOps.h - Graph ops as operations on tensors ----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_EAGER_MODEL_MODELOPS_H
#define TINH_EAGER_MODEL_MODELOPS_H

#include "compiler/Eager/Backend.h"
#include "compiler/Eager/Model/ElementwiseFusion.h"
#include "compiler/Eager/Tensor/Support.h"
#include "compiler/Graph/ExternalData.h"
#include "compiler/Support/ElementTypes.h"
#include "dialects/graph/Graph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

#include <deque>
#include <functional>
#include <string>
#include <vector>

namespace tinh::eager {

/// The tensors of a run, by the numbers of the values; undefined before they
/// are computed and after their last use.
using Frame = std::vector<Tensor>;

inline IntArray toArray(llvm::ArrayRef<int64_t> values) {
  return IntArray(std::span(values.data(), values.size()));
}

/// Why tensors cannot have a type; empty if they can.
std::string whyNoTensor(mlir::RankedTensorType type);

/// What an op does.
using Action = std::function<void(Frame &frame)>;

/// The ops of a block.
struct Sequence {
  std::vector<Action> actions;
  std::vector<size_t> arguments, results;

  void run(Frame &frame) const {
    for (const Action &action : actions)
      action(frame);
  }
};

/// Makes actions of ops. What they need of the ops is copied.
class ModelOps {
public:
  /// `fuses`: chains of element-wise ops become one kernel each. The actions
  /// are then for the engine alone: no tape records them.
  explicit ModelOps(MappedFiles &files, bool fuses = false)
      : files(files), fuses(fuses) {}

  /// The actions of a block, which free what is not used after it; its
  /// terminator names the results.
  Sequence sequence(mlir::Block &block);
  /// The values that do not depend on inputs, computed once, for every run's
  /// frame.
  const Frame &constants() const { return frame; }
  bool isConstant(mlir::Value value) const { return known.contains(value); }
  /// Gives up constants that other constants were computed from, and no more.
  void dropUnusedConstants();

private:
  /// An op while its action is made: operands and results by number.
  struct Op {
    mlir::Operation *op;
    std::vector<size_t> in, out;
    std::vector<std::pair<tinh_dtype_t, Dims>> types; // Of the results.
    Call call;
  };

  size_t number(mlir::Value value);
  Op describe(mlir::Operation *op);
  Action action(const Op &op);
  Action channelsLast(Op op);
  Action channelsFirst(const Op &op);
  Action elementwise(const Op &op);
  Action reduction(const Op &op);
  Action contraction(const Op &op);
  Action window(const Op &op);
  Action normalization(const Op &op);
  Action movement(const Op &op);
  Action controlFlow(const Op &op);
  Action ifAction(const Op &op);
  Action whileAction(const Op &op);
  Action scanAction(const Op &op);
  Action customAction(const Op &op);
  void addConstant(mlir::Operation *op);
  bool addIfConstant(mlir::Operation *op);
  std::vector<size_t> lastUses(mlir::Operation *op);
  Action fused(const Op &op, const ElementwiseFusion::Kernel &kernel);

  MappedFiles &files;
  bool fuses;
  llvm::DenseMap<mlir::Value, size_t> numbers;
  llvm::DenseSet<mlir::Value> known; // What is in `constants`.
  std::deque<std::string> names;     // Of nodes, for messages.
  Frame frame;
};

Dims dimsOf(llvm::ArrayRef<int64_t> values);

} // namespace tinh::eager

#endif // TINH_EAGER_MODEL_MODELOPS_H
