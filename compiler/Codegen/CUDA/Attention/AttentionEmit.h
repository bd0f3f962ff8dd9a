//===- AttentionEmit.h - Code of attention ----------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What blocks do alike, whatever computes the products: where they are, and the
// softmax as its keys come.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CUDA_ATTENTION_ATTENTIONEMIT_H
#define TINH_CODEGEN_CUDA_ATTENTION_ATTENTIONEMIT_H

#include "compiler/Codegen/CUDA/Attention/Attention.h"
#include "compiler/Codegen/CUDA/Contraction/ContractionEmit.h"

namespace tinh::cuda {

/// What a plan says of one code of attention.
struct AttentionCode {
  int64_t rows, rowTiles; ///< Queries of a block, and blocks of a head.
  int64_t keys;           ///< That it goes through at a time.
  int64_t columns;        ///< Of values in shared memory.
  int64_t threadRows;     ///< That a thread has where FFMA multiplies.
  /// Of a step: elements of queries and keys, and keys of values.
  int64_t depth, step;
  /// Elements of queries, keys and values that are loaded at a time, scores
  /// that are masked, and results that are stored together.
  std::array<int64_t, 3> loads;
  int64_t masks, stores;
  bool keepsQueries = false; ///< In registers, where tensor cores multiply.

  int64_t threads() const { return rows / threadRows * kSharers; }
  /// That of the product of queries and keys, and of weights and values.
  TileCode ofScores() const;
  TileCode ofValues() const;
};
AttentionCode scalarCode(const Attention &a, AttentionPlanAttr plan);
AttentionCode tensorCode(const Attention &a, AttentionPlanAttr plan);

/// A block of attention while its code is being emitted.
struct AttentionBlock {
  AttentionBlock(EmittedKernel &kernel, const Attention &a,
                 const AttentionCode &code, mlir::OpBuilder &b);

  /// The indices of the loops of the scores and the values' columns at a query:
  /// those of keys and columns are left out.
  Indices loopsAt(Pull &pull, mlir::Value query) const;

  EmittedKernel &kernel;
  const Attention &a;
  const AttentionCode &code;
  mlir::OpBuilder &b;
  mlir::Location loc;
  mutable Pull scalar;
  mlir::Value firstQuery;
  mlir::Value keysEnd; ///< Keys from here on are hidden from all its queries.

private:
  mlir::Value findKeysEnd();

  Indices batch;
};

/// The scores of a thread: of each of its rows as many vectors, side by side in
/// one row or more.
struct ScoresOfThread {
  Values rows;                       ///< Their queries.
  Values columns;                    ///< The first key of each vector.
  llvm::SmallVector<Values> vectors; ///< Of each row.
};

/// The softmax of rows whose keys come tile by tile. What it knows of rows is a
/// list of values: the largest scores, then the thread's part of the sums of
/// exponentials.
class OnlineSoftmax {
public:
  /// So many threads, which are neighbours, share each of so many rows.
  OnlineSoftmax(const AttentionBlock &block, int64_t sharers, int64_t rows)
      : block(block), b(block.b), loc(block.loc), sharers(sharers), rows(rows) {
  }

  Values start();
  /// Makes exponentials of `scores`, the sums of products, and adds them to
  /// `state`; gives what all that was added up of each row before is to be
  /// multiplied with.
  mlir::FailureOr<Values> add(ScoresOfThread &scores, Values &state);
  /// The factors for what was added up of each row, of whose exponentials all
  /// threads together have the sum.
  Values finish(llvm::ArrayRef<mlir::Value> state);

private:
  mlir::LogicalResult mask(ScoresOfThread &scores);
  mlir::FailureOr<mlir::Value> maskVector(mlir::Value scores, mlir::Value row,
                                          mlir::Value column, int64_t lanes);
  mlir::FailureOr<mlir::Value> maskVector(mlir::Value scores, mlir::Value row,
                                          mlir::Value column);
  mlir::Value exponential(mlir::Value x);
  mlir::Value constant(double value);
  mlir::Value acrossThreads(
      mlir::Value value,
      llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)> combine);
  mlir::Value addRow(Values &vectors, mlir::Value &largest, mlir::Value &sum);

  const AttentionBlock &block;
  mlir::OpBuilder &b;
  mlir::Location loc;
  int64_t sharers, rows;
};

/// The indices in the result of what follows from the sums of a query, from
/// this column on.
mlir::FailureOr<Indices> indicesInResult(const AttentionBlock &block,
                                         Pull &pull, mlir::Value query,
                                         mlir::Value column);

/// The code of FFMA, and the shared memory that it takes.
int64_t scalarAttentionShared(const AttentionCode &code);
/// Whether a first step of scores takes the place of no weights that others
/// still read: those of the last step of values lie behind it.
bool leavesWeights(const AttentionCode &code);
mlir::LogicalResult emitScalarAttention(EmittedKernel &kernel,
                                        const Attention &a,
                                        const AttentionCode &code,
                                        mlir::OpBuilder builder);

/// The same of tensor cores of sm_80 and later.
int64_t tensorAttentionShared(const Attention &a, const AttentionCode &code);
/// Whether what a warp takes of its queries fits into registers.
bool fitsQueries(const Attention &a);
mlir::LogicalResult emitTensorAttention(EmittedKernel &kernel,
                                        const Attention &a,
                                        const AttentionCode &code,
                                        mlir::OpBuilder builder);

} // namespace tinh::cuda

#endif // TINH_CODEGEN_CUDA_ATTENTION_ATTENTIONEMIT_H
