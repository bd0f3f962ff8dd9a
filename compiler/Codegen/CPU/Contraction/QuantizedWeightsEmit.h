//===- QuantizedWeightsEmit.h - Dequantising in registers -------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CPU_CONTRACTION_QUANTIZEDWEIGHTSEMIT_H
#define TINH_CODEGEN_CPU_CONTRACTION_QUANTIZEDWEIGHTSEMIT_H

#include "compiler/Codegen/CPU/Contraction/Contraction.h"
#include "compiler/Codegen/CPU/Contraction/Tile.h"

namespace tinh::cpu {

/// Emits what makes floats of a panel of words: for each tile, or once.
class QuantizedWeightsEmitter : TileEmitter {
public:
  /// `words` says where panels lie, `vectors` how many the panel has.
  QuantizedWeightsEmitter(const TileEmitter &tile, const Contraction &c,
                          const ContractionPlan &plan, const Target &target,
                          const Buffer &words, mlir::Value panel,
                          int64_t vectors)
      : TileEmitter(tile), c(c), plan(plan), target(target), words(words),
        panel(panel), vectors(vectors) {}

  /// Adds to the sums of a tile what `count` iterations of the outermost loop
  /// over k give, from the one in `dims` on, whose words lie from `wordsAt` on
  /// and whose rows from `inputAt` on.
  mlir::FailureOr<Values> addBlocks(const Indices &dims, const Buffer &input,
                                    Value inputAt, Value wordsAt, int64_t count,
                                    int64_t rows, mlir::ValueRange sums);
  /// Stores the columns of these steps of k, one after the other, to `columns`.
  llvm::LogicalResult unpack(const Indices &dims, Value wordsAt, int64_t count,
                             Value columns);

private:
  /// The parameters of a block's columns; no zero points if these are constant.
  struct Parameters {
    Values scales, zeroPoints;
  };
  mlir::FailureOr<Parameters> pullParameters(const Indices &dims);
  mlir::FailureOr<Value> pullParameter(mlir::OpOperand *parameter, Indices dims,
                                       int64_t v);
  Values loadWords(Value wordsAt);
  Values columnsOf(llvm::ArrayRef<Value> words, int64_t i,
                   const Parameters &parameters);
  mlir::FailureOr<Values> addBlock(const Indices &dims, const Buffer &input,
                                   Value inputAt, Value wordsAt, int64_t count,
                                   int64_t rows, mlir::ValueRange sums);
  void multiplyWords(const Buffer &input, Value inputAt, Value wordsAt,
                     const Parameters &parameters, int64_t rows, Values &sums);
  llvm::LogicalResult unpackBlock(const Indices &dims, Value wordsAt,
                                  int64_t count, Value columns, Value row);
  bool prefetches() const;
  void prefetch(Value wordsAt);

  const Contraction &c;
  const ContractionPlan &plan;
  const Target &target;
  const Buffer &words;
  Value panel;
  int64_t vectors;
};

} // namespace tinh::cpu

#endif // TINH_CODEGEN_CPU_CONTRACTION_QUANTIZEDWEIGHTSEMIT_H
