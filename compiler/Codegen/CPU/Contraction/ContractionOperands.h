//===- ContractionOperands.h - What products read ---------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CPU_CONTRACTION_CONTRACTIONOPERANDS_H
#define TINH_CODEGEN_CPU_CONTRACTION_CONTRACTIONOPERANDS_H

#include "compiler/Codegen/CPU/Contraction/Contraction.h"
#include "compiler/Codegen/CPU/Contraction/Tile.h"

namespace tinh::cpu {

/// Brings both factors of a block to where its tiles read them, as the plan
/// says, and knows where that is.
class ContractionOperands : protected TileEmitter {
protected:
  ContractionOperands(EmittedKernel &kernel, const Contraction &c,
                      const ContractionPlan &plan, const Target &target,
                      mlir::OpBuilder &b,
                      const llvm::DenseMap<mlir::Value, Buffer> &buffers)
      : TileEmitter(kernel, b, c.element(), c.lanes(target), buffers), c(c),
        plan(plan), target(target), vectors(plan.panelWidth / lanes) {}

  /// Tiles, lines and panels, each from one on to before another.
  struct Block {
    Value tile, tileEnd, line, lineEnd, panel, panelEnd;
  };

  /// The loop over lines of tiles, if there is more than one of these.
  std::optional<unsigned> lineLoop() const {
    return c.left.loops.size() > 1
               ? std::optional(c.left.loops[c.left.loops.size() - 2])
               : std::nullopt;
  }

  llvm::LogicalResult findInput(const Indices &dims, const Block &block);
  /// For `count` iterations of the outermost loop over k, from the one in
  /// `dims` on.
  llvm::LogicalResult findWeights(const Indices &dims, const Block &block,
                                  int64_t count);
  /// Whether tiles read copies, as f32, of panels of integers or narrow floats.
  bool unpacksPanels() const {
    return c.isUnpacked() && plan.right == RightAccess::Copied;
  }
  llvm::LogicalResult unpackPanel(const Indices &dims, Value panel,
                                  int64_t count);
  /// Where the input's rows begin at these indices, and a panel of the weights.
  mlir::FailureOr<Value> inputAt(const Indices &dims);
  Value panelAt(Value panel);
  /// Where the panel's line in the order of groups begins.
  Value orderAt(Value panel) {
    return scalar.mul(sub(panel, firstPanel), c.orderLength());
  }
  /// The lanes from `column` on that are columns; none if all always are.
  Value columnMask(Value column);
  /// How far one step of loop `dim` moves in the input's memory.
  int64_t inputStride(unsigned dim) const;

  Contraction c;
  const ContractionPlan &plan;
  const Target &target;
  int64_t vectors; // Of the panel that is being computed.
  Buffer input;
  Buffer weights; // How far loops over k move in it.

private:
  void clearLastGroups(const Slab &slab, Value from);
  void extendSlab();
  void findPanels(const Indices &dims);
  void widenPanel(Value at, int64_t size, Value memory);
  llvm::LogicalResult packRight(Indices dims, const Block &block,
                                int64_t count);
  llvm::LogicalResult packRow(Indices dims, const Buffer &packing, Value panel,
                              Value row);
  /// For each loop over k, how far it moves in panels of `count` iterations of
  /// the outermost.
  llvm::SmallVector<int64_t> panelStrides() const;

  int64_t panelStride;         // How far panels move in the weights,
  Value weightsAt, firstPanel; // of which this one begins here.
};

} // namespace tinh::cpu

#endif // TINH_CODEGEN_CPU_CONTRACTION_CONTRACTIONOPERANDS_H
