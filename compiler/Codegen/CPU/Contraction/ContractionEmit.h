//===- ContractionEmit.h - Code of one product ------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CPU_CONTRACTION_CONTRACTIONEMIT_H
#define TINH_CODEGEN_CPU_CONTRACTION_CONTRACTIONEMIT_H

#include "compiler/Codegen/CPU/Contraction/AmxTile.h"
#include "compiler/Codegen/CPU/Contraction/Contraction.h"
#include "compiler/Codegen/CPU/Contraction/Tile.h"

namespace tinh::cpu {

/// What becomes of a vector of sums, at these indices of the product's result.
using Finish = llvm::function_ref<llvm::LogicalResult(
    Pull &pull, mlir::Value sums, Indices at)>;

/// Emits chunks of a product as its plan cuts them.
class ContractionEmitter : TileEmitter {
public:
  ContractionEmitter(EmittedKernel &kernel, const Contraction &c,
                     const ContractionPlan &plan, const Target &target,
                     mlir::OpBuilder &b,
                     const llvm::DenseMap<mlir::Value, Buffer> &buffers,
                     Finish finish)
      : TileEmitter(kernel, b, c.element(), c.lanes(target), buffers), c(c),
        plan(plan), target(target), finish(finish),
        vectors(plan.panelWidth / lanes) {}

  llvm::LogicalResult emitChunk(mlir::Value chunk);
  /// The whole product, at the batch indices in `start`.
  llvm::LogicalResult emitWhole(const Indices &start);

private:
  /// Tiles, lines and panels, each from one on to before another.
  struct Block {
    Value tile, tileEnd, line, lineEnd, panel, panelEnd;
  };
  /// A part of the sums: so many iterations of the outermost loop over k, from
  /// the one in `dims` on, and whether those are the last.
  struct Depth {
    int64_t count;
    bool isLast;
  };

  /// The loop over lines of tiles, if there is more than one of these.
  std::optional<unsigned> lineLoop() const {
    return c.left.loops.size() > 1
               ? std::optional(c.left.loops[c.left.loops.size() - 2])
               : std::nullopt;
  }

  // Where the operands are read (ContractionOperands.cpp).
  llvm::LogicalResult findInput(const Indices &dims, const Block &block);
  llvm::LogicalResult findWeights(const Indices &dims, const Block &block,
                                  int64_t count);
  llvm::LogicalResult packRight(Indices dims, const Block &block,
                                int64_t count);
  llvm::LogicalResult packRow(Indices dims, const Buffer &packing, Value panel,
                              Value row);
  /// For each loop over k, how far it moves in panels of `count` iterations of
  /// the outermost.
  llvm::SmallVector<int64_t> panelStrides() const;
  /// The lanes from `column` on that are columns; none if all always are.
  Value columnMask(Value column);
  /// How far one step of loop `dim` moves in the input's memory.
  int64_t inputStride(unsigned dim) const;

  // Sums (ContractionEmit.cpp).
  llvm::LogicalResult emitBlock(Indices dims, const Block &block);
  llvm::LogicalResult forPanels(const Block &block, Body body);
  llvm::LogicalResult emitDepth(Indices dims, const Block &block,
                                const Depth &depth);
  llvm::LogicalResult emitTile(const Indices &dims, const Block &block,
                               Value panel, int64_t rows, const Depth &depth);
  Value sumsAt(const Indices &dims, const Block &block, Value panel);
  /// Where the input's rows begin at these indices, and a panel of the weights.
  mlir::FailureOr<Value> inputAt(const Indices &dims);
  Value panelAt(Value panel);
  mlir::FailureOr<Values> emitProduct(const Indices &dims, Value panel,
                                      int64_t rows, int64_t count,
                                      mlir::ValueRange sums);
  mlir::FailureOr<Values> addProducts(size_t level, Value inputAt,
                                      Value weightsAt, int64_t count,
                                      int64_t rows, mlir::ValueRange sums);
  Value loadColumns(Value rowAt, int64_t v);
  // Tiles of AMX (ContractionEmitAmx.cpp).
  llvm::LogicalResult emitAmxTile(Indices dims, Value panel, int64_t firstNew,
                                  int64_t rows);
  mlir::FailureOr<Values> addTileProducts(AmxEmitter &tiles, size_t level,
                                          Value inputAt, Value weightsAt,
                                          mlir::ValueRange sums);
  void multiply(Value inputAt, Value weightsAt, int64_t rows, Values &sums);

  // Weights that are dequantised (QuantizedWeightsEmit.cpp).
  mlir::FailureOr<Values> addBlocks(const Indices &dims, Value panel,
                                    Value inputAt, Value wordsAt, int64_t count,
                                    int64_t rows, mlir::ValueRange sums);
  mlir::FailureOr<Values> addBlock(const Indices &dims, Value panel,
                                   Value inputAt, Value wordsAt, int64_t count,
                                   int64_t rows, mlir::ValueRange sums);
  void multiplyWords(Value inputAt, Value wordsAt,
                     llvm::ArrayRef<Value> zeroPoints, int64_t rows,
                     Values &sums);
  bool readsOnce() const;
  void prefetch(Value wordsAt);
  mlir::FailureOr<Value> pullParameter(mlir::OpOperand *parameter, Indices dims,
                                       Value panel, int64_t v);

  llvm::LogicalResult emitEpilogue(const Indices &dims, Value panel,
                                   int64_t rows, mlir::ValueRange sums);

  Contraction c;
  const ContractionPlan &plan;
  const Target &target;
  Finish finish;
  int64_t vectors; // Of the panel that is being computed.
  Buffer input;
  Buffer weights;              // How far loops over k move in it,
  int64_t panelStride;         // and panels,
  Value weightsAt, firstPanel; // of which this one begins here.
  Values masks;                // Of the columns, where they are loaded masked.
};

} // namespace tinh::cpu

#endif // TINH_CODEGEN_CPU_CONTRACTION_CONTRACTIONEMIT_H
