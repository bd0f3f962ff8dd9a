//===- Reshapes.h - Which dimensions reshapes are cut along --- -*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A reshape takes a dimension apart, or some together: blocks of dimensions
// with as many elements on either side. Of several only one can be cut. Heads
// go as a whole, and so the first dimension is chosen, but if that one cannot
// be cut, such as the height of an image or the three of queries, keys and
// values, the next one is.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_PRUNING_RESHAPES_H
#define TINH_COMPILER_PRUNING_RESHAPES_H

#include "compiler/Pruning/Slots.h"

#include "llvm/ADT/MapVector.h"

namespace tinh::pruning {

class Reshapes {
public:
  explicit Reshapes(mlir::func::FuncOp main);

  /// Couples what `op` takes apart or together, as is chosen.
  void couple(graph::ReshapeOp op, Slots &slots) const;

  /// Chooses dimensions that can be cut; `couple` gives the slots of the model
  /// for the choices that were made so far. Gives those for the last ones.
  Slots choose(llvm::function_ref<Slots()> couple);

private:
  struct Block {
    graph::ReshapeOp op;
    llvm::SmallVector<Dimension> from, to; ///< Of more than one element.
    size_t choice = 0;                     ///< Of the parts.

    /// One dimension has the elements of others; not so if there are several on
    /// either side.
    bool hasWhole() const { return from.size() == 1 || to.size() == 1; }
    Dimension whole() const { return from.size() == 1 ? from[0] : to[0]; }
    llvm::ArrayRef<Dimension> parts() const {
      return from.size() == 1 ? to : from;
    }
    /// The part that is cut, if that was chosen of several.
    std::optional<Dimension> chosen() const;
  };
  void findBlocks(graph::ReshapeOp op);
  void coupleBlock(const Block &block, Slots &slots) const;
  bool giveUp(const Slots &slots);
  Slots settle(Slots slots, llvm::function_ref<Slots()> couple);

  llvm::MapVector<mlir::Operation *, std::vector<Block>> blocks;
  /// Blocks that leave a choice couple nothing until then.
  bool isDecided = false;
};

} // namespace tinh::pruning

#endif // TINH_COMPILER_PRUNING_RESHAPES_H
