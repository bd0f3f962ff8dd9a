//===- Rows.h - The strategy for what no other one computes -----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The strategy `rows`: every kernel. Leading dimensions are cut into chunks;
// within one, reductions that are read more than once go to scratch memory, and
// results are pulled with lanes along their last dimension. Where that memory
// would be more than a cache has, as for the scores of attention, stages are
// computed for a block of rows at a time.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CPU_ROWS_ROWS_H
#define TINH_CODEGEN_CPU_ROWS_ROWS_H

#include "compiler/Codegen/CPU/Contraction/Contraction.h"
#include "compiler/Codegen/Kernel/Stages.h"

namespace tinh::cpu {

struct Rows {
  mlir::func::FuncOp kernel;
  llvm::SmallVector<WrittenValue> written;
  /// Generics that go to scratch memory, in order.
  llvm::SmallVector<mlir::linalg::GenericOp> stages;
  /// How many elements each result is reduced from, without stages.
  int64_t reduced = 1;

  mlir::RankedTensorType resultType(size_t i) const {
    return written[i].type();
  }
};

/// How a stage is computed.
struct RowStage {
  enum Form {
    Elements,   // One vector of elements after the other.
    AlongLanes, // Each element alone, with lanes along what is reduced.
    Scan,       // As running sums.
    Product     // In register tiles.
  };
  mlir::linalg::GenericOp op;
  /// Whose results are kept: `op`, or what follows a product in registers.
  mlir::linalg::GenericOp kept;
  Form form;
  std::optional<Contraction> product;
  ContractionPlan plan;
};

/// How rows are cut: what a plan says, and what follows from it.
struct RowsPlan : Division {
  int64_t outer =
      0; // Leading dimensions that all of the kernel's tensors share.
  /// As many of the last dimensions of all results are one for the lanes: the
  /// index of the last one runs over all of them.
  int64_t merged = 1;
  /// The dimension of the one result that lanes lie along, if that is not the
  /// last of each result; else -1.
  int64_t along = -1;
  int64_t lanes = 1; // Of a vector of elements of four bytes.
  /// Of a unit: elements of a row, or, in a kernel with stages, indices of the
  /// dimension behind `outer`.
  int64_t blockSize = 0;
  int64_t unitsPerChunk = 1;
  /// Of the stages that are such.
  llvm::SmallVector<ContractionPlanAttr> products;

  int64_t rows = 1, blocks = 1;
  /// Whether stages go through a row in blocks; a chunk's are of one row.
  bool cutsStages = false;
  llvm::SmallVector<RowStage, 0> stages;

  int64_t units() const { return rows * blocks; }
  /// Whether lanes go through a part of a row.
  bool cutsLanes() const { return blocks > 1 && !cutsStages; }
  /// The chunks of a row whose stages are cut.
  int64_t chunksPerRow() const {
    return llvm::divideCeil(blocks, unitsPerChunk);
  }

  llvm::SmallVector<int64_t> mergedShape(llvm::ArrayRef<int64_t> shape) const;
  /// What a unit keeps of a stage's result.
  mlir::RankedTensorType keptType(mlir::Value result) const;
  /// Lanes for a dimension of `extent`, where results are reduced from
  /// `reduced` elements each.
  int64_t lanesFor(int64_t extent, int64_t reduced) const;
};
/// How rows are cut for any CPU: all but their vectors and products.
RowsPlan cutRows(const Rows &rows);
/// What blocks cut: the elements of a row of the first result, or where there
/// are stages, its dimension behind `outer`.
int64_t rowLength(const Rows &rows, const RowsPlan &plan);
/// Fills in what follows for any CPU from the decisions so far.
void follow(const Rows &rows, RowsPlan &plan);

/// Whether stages can be computed for some indices of the dimension behind
/// `outer` at a time: it is shared as well, and in products the rows of tiles.
/// So right factors, which have no rows, depend on no stage.
bool canCutStages(const Rows &rows, const RowsPlan &plan);
/// Says how products within the rows are computed, and cuts their stages.
void planStages(const Rows &rows, RowsPlan &plan, const Target &target);
/// Says how each stage is computed, and where its results and what it needs lie
/// in scratch memory.
mlir::LogicalResult followStages(const Rows &rows, RowsPlan &plan,
                                 EmitError emitError);

/// How many of the last dimensions of these results of a kernel without stages
/// are better one.
int64_t mergedDimensions(llvm::ArrayRef<WrittenValue> written);

/// Whether all of the kernel can be computed in vectors of `plan.lanes`.
bool hasVectors(const Rows &rows, const RowsPlan &plan);
/// Whether a reduction can be, with lanes along what it reduces.
bool reducesAlongLanes(const Rows &rows, const RowsPlan &plan,
                       mlir::linalg::GenericOp stage);

struct RowsStrategy : Functions<Rows, RowsPlanAttr, RowsPlan> {
  static MatchFunction match;
  static PlansFunction plans;
  static ExpandFunction expand;
  static CostFunction cost;
  static EmitFunction emit;
  /// Into a stage that all results need and what follows, or parts of a long
  /// reduction and their sum (CPU/Split.cpp).
  static SplitFunction split;
};

} // namespace tinh::cpu

#endif // TINH_CODEGEN_CPU_ROWS_ROWS_H
