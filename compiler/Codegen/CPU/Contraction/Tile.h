//===- Tile.h - Copying to slabs, multiplying in registers ------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CPU_CONTRACTION_TILE_H
#define TINH_CODEGEN_CPU_CONTRACTION_TILE_H

#include "compiler/Codegen/CPU/EmittedKernel.h"
#include "compiler/Codegen/CPU/Target.h"
#include "compiler/Codegen/Kernel/Forms/Product.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace tinh::cpu {

/// One step of a product along k, in a register tile: for each row, the element
/// of `input` at `rowAt`, times each of the vectors `columns`, is added to the
/// row's `sums`.
void multiplyTile(mlir::OpBuilder &b, mlir::Location loc, mlir::Value input,
                  llvm::ArrayRef<mlir::Value> rowAt,
                  llvm::ArrayRef<mlir::Value> columns,
                  llvm::MutableArrayRef<mlir::Value> sums);

/// The same for bytes: each row has four unsigned ones, each lane of the
/// columns four signed ones. Without an instruction for these, two products of
/// bytes have to fit into 16 bits, and so does their sum.
void multiplyByteTile(mlir::OpBuilder &b, mlir::Location loc, mlir::Value input,
                      llvm::ArrayRef<mlir::Value> rowAt,
                      llvm::ArrayRef<mlir::Value> columns, const Target &target,
                      llvm::MutableArrayRef<mlir::Value> sums,
                      size_t pairing = 0);

/// The same for bytes that have been extended to 16 bits, those at even and
/// those at odd positions: of the rows they lie so far behind `rowAt`.
void multiplyExtendedTile(mlir::OpBuilder &b, mlir::Location loc,
                          mlir::Value input, llvm::ArrayRef<mlir::Value> rowAt,
                          std::array<int64_t, 2> offsets,
                          llvm::ArrayRef<std::array<mlir::Value, 2>> columns,
                          const Target &target,
                          llvm::MutableArrayRef<mlir::Value> sums);

/// The bytes at even and those at odd positions of a vector, as numbers of 16
/// bits.
std::array<mlir::Value, 2> extendBytes(mlir::OpBuilder &b, mlir::Location loc,
                                       mlir::Value bytes, bool isUnsigned);

/// A vector of bytes with each group of four in another pairing
/// (kBytePairings).
mlir::Value pairBytes(mlir::OpBuilder &b, mlir::Location loc, mlir::Value bytes,
                      size_t pairing);

/// The same for bf16: each row has a pair, each lane of the columns, too.
void multiplyPairTile(mlir::OpBuilder &b, mlir::Location loc, mlir::Value input,
                      llvm::ArrayRef<mlir::Value> rowAt,
                      llvm::ArrayRef<mlir::Value> columns,
                      llvm::MutableArrayRef<mlir::Value> sums);

/// Whether register tiles of so many columns, and what a kernel may store them
/// to, are whole vectors.
llvm::LogicalResult checkColumns(const Product &product, int64_t columns,
                                 const Target &target, EmitError emitError);

/// What emitters of products in register tiles have in common: vectors of sums,
/// which can wait in scratch memory, and slabs there.
class TileEmitter {
protected:
  using Value = mlir::Value;
  using Values = llvm::SmallVector<Value>;
  using Body = llvm::function_ref<llvm::LogicalResult(Value)>;

  /// A factor's part in scratch memory, without padding and in the type that
  /// is multiplied.
  struct Slab {
    Buffer buffer;
    llvm::ArrayRef<int64_t> shape;
  };

  /// `buffers` says where tensors lie that factors and results are pulled from.
  TileEmitter(EmittedKernel &kernel, mlir::OpBuilder &b, mlir::Type element,
              int64_t lanes, const llvm::DenseMap<Value, Buffer> &buffers)
      : kernel(kernel), b(b), loc(kernel.source.getLoc()), scalar(b, loc, 1),
        element(element), lanes(lanes), buffers(buffers) {}

  llvm::LogicalResult loop(Value from, Value to, int64_t step, Body body) {
    return buildLoop(b, loc, from, to, step, body);
  }
  llvm::LogicalResult loop(int64_t extent, int64_t step, Body body) {
    return loop(scalar.index(0), scalar.index(extent), step, body);
  }
  Value minimum(Value x, Value y) { return scalar.minimum(x, y); }
  Value sub(Value x, Value y) { return scalar.sub(x, y); }
  /// The elements of `count` that fill whole vectors of so many.
  Value wholeVectors(Value count, int64_t width);
  mlir::VectorType vectorType() {
    return mlir::VectorType::get({lanes}, element);
  }
  Value zeroVector();
  /// Scratch memory of so many elements from `offset` bytes on.
  Value scratch(int64_t offset, int64_t count) {
    return kernel.scratchBuffer(b, offset, count, element).memref;
  }
  /// A vector of it.
  Value load(Value memory, Value at);
  void store(Value vector, Value memory, Value at);
  /// Takes scratch memory for `size` sums from `offset` on, all zero.
  void clearSums(int64_t offset, int64_t size);

  /// The elements of a factor, as numbers of `type`.
  mlir::FailureOr<LaneValue> pullAs(mlir::Type type, Pull &pull, Value factor,
                                    const Indices &at);
  /// Copies what there is of `factor` from `from` on to the slab; of its last
  /// dimension `count` elements if that is given.
  llvm::LogicalResult stage(Value factor, Slab &slab, const Indices &from,
                            Value count = {});
  /// Copies `count` elements from `start` on, along the last dimension.
  llvm::LogicalResult stageLine(Value factor, const Buffer &slab,
                                const Indices &start, Value count);
  /// How far one step of a loop moves in a factor's slab.
  static int64_t step(const Factor &factor, const Buffer &slab, unsigned loop);
  /// Computes the kernel's results from `sum`, one or a vector, of the product
  /// at these loop indices; of a vector those that the mask lets.
  llvm::LogicalResult finish(const Product &p, const Indices &dims, Value sum,
                             Value mask = {});

  EmittedKernel &kernel;
  mlir::OpBuilder &b;
  mlir::Location loc;
  Pull scalar;
  mlir::Type element;
  int64_t lanes;
  const llvm::DenseMap<Value, Buffer> &buffers;
  Value sums; // Memory for those that wait.

private:
  int64_t lanesOfStage(Value factor, mlir::Type type, int64_t count);
};

} // namespace tinh::cpu

#endif // TINH_CODEGEN_CPU_CONTRACTION_TILE_H
