//===- ContractionEmit.h - Code of one product ------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CPU_CONTRACTION_CONTRACTIONEMIT_H
#define TINH_CODEGEN_CPU_CONTRACTION_CONTRACTIONEMIT_H

#include "compiler/Codegen/CPU/Contraction/Contraction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace tinh::cpu {

/// What becomes of a vector of sums, at these indices of the product's result.
using Finish = llvm::function_ref<llvm::LogicalResult(
    Pull &pull, mlir::Value sums, Indices at)>;

/// Emits chunks of a product as its plan cuts them.
class ContractionEmitter {
public:
  ContractionEmitter(EmittedKernel &kernel, const Contraction &c,
                     const ContractionPlan &plan, const Target &target,
                     mlir::OpBuilder &b,
                     const llvm::DenseMap<mlir::Value, Buffer> &buffers,
                     Finish finish)
      : kernel(kernel), c(c), plan(plan), b(b), loc(kernel.source.getLoc()),
        scalar(b, loc, 1), buffers(buffers), finish(finish),
        lanes(c.lanes(target)), vectors(plan.panelWidth / c.lanes(target)) {}

  llvm::LogicalResult emitChunk(mlir::Value chunk);
  /// The whole product, at the batch indices in `start`.
  llvm::LogicalResult emitWhole(const Indices &start);

private:
  using Value = mlir::Value;
  using Values = llvm::SmallVector<Value>;
  using Body = llvm::function_ref<llvm::LogicalResult(Value)>;

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

  llvm::LogicalResult loop(Value from, Value to, int64_t step, Body body) {
    return buildLoop(b, loc, from, to, step, body);
  }
  Value minimum(Value x, Value y) {
    return b.createOrFold<mlir::arith::MinUIOp>(loc, x, y);
  }
  Value sub(Value x, Value y) {
    return b.createOrFold<mlir::arith::SubIOp>(loc, x, y);
  }
  mlir::VectorType vectorType() {
    return mlir::VectorType::get({lanes}, c.element());
  }
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
  llvm::LogicalResult stage(const Indices &start);
  llvm::LogicalResult stageLine(const Indices &start, Value extent);
  llvm::LogicalResult packWeights(Indices dims, const Block &block,
                                  int64_t count);
  llvm::LogicalResult packRow(Indices dims, const Buffer &packing, Value panel,
                              Value row);
  /// For each loop over k, how far it moves in panels of `count` iterations of
  /// the outermost.
  llvm::SmallVector<int64_t> panelStrides() const;
  /// The elements of an operand of the product, as the sums have them.
  mlir::FailureOr<LaneValue> pullFloat(Pull &pull, Value operand,
                                       const Indices &at);
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
  void clearSums();
  Value sumsAt(const Indices &dims, const Block &block, Value panel);
  mlir::FailureOr<Values> emitProduct(const Indices &dims, Value panel,
                                      int64_t rows, int64_t count,
                                      mlir::ValueRange sums);
  mlir::FailureOr<Values> addProducts(size_t level, Value inputAt,
                                      Value weightsAt, int64_t count,
                                      int64_t rows, mlir::ValueRange sums);
  Value loadColumns(Value rowAt, int64_t v);
  void multiply(Value inputAt, Value weightsAt, int64_t rows, Values &sums);
  llvm::LogicalResult emitEpilogue(const Indices &dims, Value panel,
                                   int64_t rows, mlir::ValueRange sums);

  EmittedKernel &kernel;
  Contraction c;
  const ContractionPlan &plan;
  mlir::OpBuilder &b;
  mlir::Location loc;
  Pull scalar;
  const llvm::DenseMap<Value, Buffer> &buffers;
  Finish finish;
  int64_t lanes, vectors; // Of the panel that is being computed.
  Buffer input;
  Buffer weights;              // How far loops over k move in it,
  int64_t panelStride;         // and panels,
  Value weightsAt, firstPanel; // of which this one begins here.
  Values masks;                // Of the columns, where they are loaded masked.
  Value sums;                  // Memory for those of a block.
};

} // namespace tinh::cpu

#endif // TINH_CODEGEN_CPU_CONTRACTION_CONTRACTIONEMIT_H
