//===- Groups.h - What can be cut from a model ------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A unit is a class of slots that may be cut: a channel of all convolutions
// that are added to one another, with all that reads it, or a head. Units of
// the same dimensions are a group; each leaves some of its units.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_PRUNING_GROUPS_H
#define TINH_COMPILER_PRUNING_GROUPS_H

#include "compiler/Pruning/Slots.h"

namespace tinh::pruning {

/// A product or convolution whose weights are constant.
struct Layer {
  mlir::Operation *op;
  Dimension inputs, outputs; ///< Of its weights: what they sum over, and give.
  std::string name;
};

/// `value`, or what it is made of by reordering, if that is a constant.
graph::ConstantOp constantBehind(mlir::Value value);

/// The function that is pruned; null after a diagnostic if there is none.
mlir::func::FuncOp findMain(mlir::ModuleOp module);

std::vector<Layer> findLayers(mlir::func::FuncOp main);

struct Unit {
  std::vector<size_t> slots;
};

struct Group {
  std::vector<size_t> dimensions; ///< By number.
  std::vector<Unit> units;
  /// How many slots of each dimension of layers go with a unit: a common
  /// divisor.
  int64_t width = 1;
};

/// The groups of units that layers have part in. The outputs of layers that
/// `isKept` are of none.
std::vector<Group> findGroups(const Slots &slots, llvm::ArrayRef<Layer> layers,
                              llvm::function_ref<bool(const Layer &)> isKept);

/// Which slots of a model are cut, and how many of each dimension are left.
class Cut {
public:
  explicit Cut(const Slots &slots);
  void add(const Unit &unit);

  int64_t extent(Dimension dimension) const;
  /// The extents of a tensor.
  llvm::SmallVector<int64_t> shape(mlir::Value value) const;
  /// The indices of a dimension that are left.
  std::vector<int64_t> left(Dimension dimension) const;
  /// How many of the first `count` indices are left.
  int64_t leftOf(Dimension dimension, int64_t count) const;
  bool isCut(mlir::Value value) const;

private:
  const Slots &slots;
  std::vector<bool> gone;       ///< By slot.
  std::vector<int64_t> extents; ///< By dimension.
  std::vector<size_t> dimensionOf;
};

} // namespace tinh::pruning

#endif // TINH_COMPILER_PRUNING_GROUPS_H
