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
#include "compiler/Codegen/CPU/Contraction/ContractionOperands.h"
#include "compiler/Codegen/CPU/Contraction/OrderedPanel.h"

namespace tinh::cpu {

/// What becomes of a vector of sums, at these indices of the product's result.
using Finish = std::function<llvm::LogicalResult(Pull &pull, mlir::Value sums,
                                                 Indices at)>;

/// Emits chunks of a product as its plan cuts them, or a product within a
/// kernel of rows: first its copy of the right factor, and then rows as often
/// as there are.
class ContractionEmitter : ContractionOperands {
public:
  ContractionEmitter(EmittedKernel &kernel, const Contraction &c,
                     const ContractionPlan &plan, const Target &target,
                     mlir::OpBuilder &b,
                     const llvm::DenseMap<mlir::Value, Buffer> &buffers,
                     Finish finish)
      : ContractionOperands(kernel, c, plan, target, b, buffers),
        finish(std::move(finish)) {}

  llvm::LogicalResult emitChunk(mlir::Value chunk);
  /// Copies the right factor at these batch indices.
  llvm::LogicalResult emitRight(const Indices &batch);
  /// Computes the rows of these tiles, times that.
  llvm::LogicalResult emitRows(Value tile, Value tileEnd);

private:
  /// A part of the sums: so many iterations of the outermost loop over k, from
  /// the one in `dims` on, and whether those are the last.
  struct Depth {
    int64_t count;
    bool isLast;
  };

  /// What each step of a tile brings to the second-level cache: so many lines
  /// that lie so many elements behind the weights that it reads.
  struct Prefetch {
    int64_t lines = 0;
    Value offset;
  };
  int64_t inLine();
  Prefetch prefetchOf(const Indices &dims, int64_t stepElements);
  void prefetch(const Prefetch &next, Value weightsAt);

  Block rowsOfTiles(Value tile, Value tileEnd);

  // Sums (ContractionEmit.cpp).
  llvm::LogicalResult emitBlock(Indices dims, const Block &block);
  llvm::LogicalResult forPanels(const Block &block, Body body);
  llvm::LogicalResult emitDepth(Indices dims, const Block &block,
                                const Depth &depth);
  llvm::LogicalResult emitTile(const Indices &dims, const Block &block,
                               Value panel, int64_t rows, const Depth &depth);
  Value sumsAt(const Indices &dims, const Block &block, Value panel);
  mlir::FailureOr<Values> emitProduct(const Indices &dims, Value panel,
                                      int64_t rows, int64_t count,
                                      mlir::ValueRange sums);
  mlir::FailureOr<Values> addProducts(const Indices &dims, size_t level,
                                      Value inputAt, Value weightsAt,
                                      int64_t count, int64_t rows,
                                      mlir::ValueRange sums);
  Value loadColumns(Value rowAt, int64_t v);
  void multiply(Value inputAt, Value weightsAt, int64_t rows, Values &sums);

  // Tiles of AMX (ContractionEmitAmx.cpp).
  llvm::LogicalResult
  emitLines(Indices &dims, const Block &block,
            llvm::function_ref<llvm::LogicalResult(int64_t lines)> emitTiles);
  llvm::LogicalResult emitAmxTile(Indices dims, Value panel, int64_t lines,
                                  int64_t firstNew, int64_t end);
  mlir::FailureOr<Values> addTileProducts(AmxEmitter &tiles,
                                          const TileDepth &depth, size_t level,
                                          Value inputAt, Value weightsAt,
                                          mlir::ValueRange sums);

  llvm::LogicalResult emitEpilogue(const Indices &dims, Value panel,
                                   int64_t rows, mlir::ValueRange sums);

  Finish finish;
  /// The first indices of a product within rows, whose right factor is copied.
  std::optional<Indices> batchStart;
  std::optional<OrderedPanel> ordered; // If groups have an order.
  Values masks; // Of the columns, where they are loaded masked.
};

} // namespace tinh::cpu

#endif // TINH_CODEGEN_CPU_CONTRACTION_CONTRACTIONEMIT_H
