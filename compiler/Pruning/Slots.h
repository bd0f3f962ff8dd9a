//===- Slots.h - Indices of dimensions that go together ---------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A slot is an index of a dimension of a tensor: channel 3 of what a
// convolution gives. An op couples slots of its operands and results that have
// to be cut together, and keeps those that it cannot do without. What hangs
// together is a class.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_PRUNING_SLOTS_H
#define TINH_COMPILER_PRUNING_SLOTS_H

#include "dialects/graph/Graph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <string>
#include <vector>

namespace tinh::pruning {

/// A dimension of a tensor of the model.
struct Dimension {
  mlir::Value value;
  int64_t axis;

  int64_t extent() const {
    return mlir::cast<mlir::RankedTensorType>(value.getType()).getDimSize(axis);
  }
};

class Slots {
public:
  /// Those of all values of `main`. Dimensions of one element are kept.
  explicit Slots(mlir::func::FuncOp main);

  /// Makes two slots go together.
  void couple(Dimension a, int64_t i, Dimension b, int64_t j);
  /// Makes all slots of two dimensions of one extent go together; a dimension
  /// of one element is repeated along the other.
  void couple(Dimension a, Dimension b);
  /// Keeps all slots of a dimension, and all that go with them. What is said
  /// `ofChoice` follows from how a reshape is seen and not from the model.
  void keep(Dimension dimension, const std::string &why, bool ofChoice = false);

  /// All dimensions, in the order of the model. The slots of one have numbers
  /// one after the other.
  llvm::ArrayRef<Dimension> dimensions() const { return all; }
  size_t numberOf(Dimension dimension) const;
  size_t firstSlot(size_t dimension) const { return offsets[dimension]; }
  /// How many slots there are.
  size_t size() const { return parents.size(); }

  /// What stands for the class of a slot.
  size_t classOf(size_t slot) const;
  /// Why a class is kept; null if it is not.
  const std::string *whyKept(size_t slot, bool withChoices = true) const;
  /// Whether all slots of a dimension are kept.
  bool areKept(Dimension dimension, bool withChoices = false) const;

private:
  struct Reasons {
    int model = -1, choice = -1; ///< Numbers of texts.
  };
  void addValue(mlir::Value value);
  size_t slotOf(Dimension dimension, int64_t index) const;
  void merge(size_t a, size_t b);

  std::vector<Dimension> all;
  std::vector<size_t> offsets;
  llvm::DenseMap<mlir::Value, size_t> first; ///< The number of dimension 0.
  mutable std::vector<size_t> parents;
  std::vector<Reasons> reasons;
  std::vector<std::string> texts;
};

} // namespace tinh::pruning

#endif // TINH_COMPILER_PRUNING_SLOTS_H
