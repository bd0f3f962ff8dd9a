//===- Reshapes.cpp - Which dimensions reshapes are cut along - -*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Pruning/Reshapes.h"

#include "compiler/Pruning/Coupling.h"
#include "compiler/Transforms/Constants/Constants.h"

using namespace mlir;

namespace tinh::pruning {

using transforms::tensorType;

Reshapes::Reshapes(func::FuncOp main) {
  for (auto op : main.getOps<graph::ReshapeOp>())
    findBlocks(op);
}

/// Takes dimensions from the side that has fewer elements, until there are as
/// many on both.
void Reshapes::findBlocks(graph::ReshapeOp op) {
  ArrayRef<int64_t> from = tensorType(op.getX()).getShape(),
                    to = tensorType(op.getY()).getShape();
  std::vector<Block> &found = blocks[op];
  size_t i = 0, j = 0;
  while (!llvm::is_contained(from, 0) && (i < from.size() || j < to.size())) {
    Block block{op, {}, {}};
    int64_t left = 1, right = 1;
    do {
      bool takesLeft = i < from.size() && (left <= right || j == to.size());
      Dimension dimension =
          takesLeft ? Dimension{op.getX(), static_cast<int64_t>(i++)}
                    : Dimension{op.getY(), static_cast<int64_t>(j++)};
      (takesLeft ? left : right) *= dimension.extent();
      if (dimension.extent() != 1)
        (takesLeft ? block.from : block.to).push_back(dimension);
    } while (left != right);
    if (!block.from.empty())
      found.push_back(std::move(block));
  }
}

std::optional<Dimension> Reshapes::Block::chosen() const {
  return hasWhole() && parts().size() > 1 && choice < parts().size()
             ? std::optional(parts()[choice])
             : std::nullopt;
}

void Reshapes::couple(graph::ReshapeOp op, Slots &slots) const {
  for (const Block &block : blocks.find(op)->second)
    if (block.hasWhole())
      coupleBlock(block, slots);
    else
      for (ArrayRef<Dimension> side :
           {ArrayRef(block.from), ArrayRef(block.to)})
        for (Dimension dimension : side)
          slots.keep(dimension, "kept by " + nameOf(op));
}

void Reshapes::coupleBlock(const Block &block, Slots &slots) const {
  Dimension whole = block.whole();
  if (block.parts().size() == 1)
    return slots.couple(whole, block.parts()[0]);
  if (!isDecided)
    return;
  if (!block.chosen())
    slots.keep(whole, "all dimensions of " + nameOf(block.op) + " stay");
  int64_t inner = whole.extent();
  for (auto [number, part] : llvm::enumerate(block.parts())) {
    inner /= part.extent();
    if (number != block.choice)
      slots.keep(part, nameOf(block.op) + " is cut along another dimension",
                 /*ofChoice=*/true);
    else
      for (int64_t i = 0; i < whole.extent(); ++i)
        slots.couple(whole, i, part, i / inner % part.extent());
  }
}

//===----------------------------------------------------------------------===//
// Choices
//===----------------------------------------------------------------------===//

/// Takes the next dimension where one cannot be cut; whether there is any such.
bool Reshapes::giveUp(const Slots &slots) {
  bool changed = false;
  for (auto &[op, ofOp] : blocks)
    for (Block &block : ofOp)
      if (auto chosen = block.chosen(); chosen && slots.areKept(*chosen)) {
        ++block.choice;
        changed = true;
      }
  return changed;
}

/// Channels that are shuffled are taken apart and together again: of two
/// reshapes each may be cut along what the other one is not. Then another
/// choice is better where it lets something be cut.
Slots Reshapes::settle(Slots slots, llvm::function_ref<Slots()> couple) {
  constexpr bool kWithChoices = true;
  for (auto &[op, ofOp] : blocks)
    for (Block &block : ofOp) {
      auto chosen = block.chosen();
      if (!chosen || !slots.areKept(*chosen, kWithChoices))
        continue;
      size_t before = block.choice++;
      for (; block.chosen(); ++block.choice)
        if (Slots other = couple();
            !other.areKept(*block.chosen(), kWithChoices)) {
          slots = std::move(other);
          break;
        }
      if (!block.chosen())
        block.choice = before;
    }
  return slots;
}

/// What is kept whatever is chosen is found first, so that no choice is given
/// up because of a wrong one elsewhere.
Slots Reshapes::choose(llvm::function_ref<Slots()> couple) {
  while (giveUp(couple()))
    ;
  isDecided = true;
  Slots slots = couple();
  while (giveUp(slots))
    slots = couple();
  return settle(std::move(slots), couple);
}

} // namespace tinh::pruning
