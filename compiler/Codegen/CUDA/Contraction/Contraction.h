//===- Contraction.h - Products in tiles of blocks --------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A sum of products is seen as a batch of products of matrices, whatever its
// loops are: those that index one factor only are rows or columns, those of
// the reduction the depth, and those that index both factors the batch. So a
// convolution is a product whose rows, columns and depth have several loops
// each.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CUDA_CONTRACTION_CONTRACTION_H
#define TINH_CODEGEN_CUDA_CONTRACTION_CONTRACTION_H

#include "compiler/Codegen/CUDA/EmittedKernel.h"
#include "compiler/Codegen/Kernel/Forms/Product.h"

namespace tinh::cuda {

/// The intrinsic that tells the chip that code is compiled for.
inline constexpr llvm::StringLiteral kReflect = "llvm.nvvm.reflect";

/// A product without loops of one step. Those of the depth are in the order in
/// which a factor has them in memory.
struct Product : codegen::Product {
  /// Whether both factors have a type that tensor cores multiply without
  /// rounding, or may be rounded.
  bool takesTensorCores(const Target &target) const;
  /// Whether so many columns lie side by side in the result, from each multiple
  /// on.
  bool hasColumnVectors(int64_t lanes) const;
  /// The digits of `linear` as the indices of `loops` in `dims`: of `lanes`
  /// steps of the last one, if that is more than one.
  void setDigits(Pull &pull, const Loops &loops, mlir::Value linear,
                 int64_t lanes, Indices &dims) const;
  /// The same for the depth `at` of the step of `stepDepth` that begins at
  /// `first`, whose digits are the same for all threads.
  void setDepth(Pull &pull, mlir::Value first, mlir::Value at,
                int64_t stepDepth, int64_t lanes, Indices &dims) const;
};
/// Bytes of `factor` that an asynchronous copy can bring to shared memory at a
/// time; 0 if none can.
int64_t copyBytes(const Factor &factor);

/// The product of `op`, a sum of products. Its second factor has the rows if
/// `columnsFirst`.
Match<Product> describeProduct(mlir::linalg::GenericOp op, bool columnsFirst);

/// Whether tiles pay for a product, and for that in `kernel`, if there is one.
bool isWorthTiles(const Product &p);
bool isWorthTiles(mlir::func::FuncOp kernel);

/// Lets a dispatch of its own compute what a large product of `kernel` reads of
/// other reductions, or the product itself; null if it changed nothing.
graph::DispatchOp splitChain(mlir::OpBuilder &b, mlir::SymbolTable &symbols,
                             mlir::func::FuncOp kernel,
                             graph::DispatchOp dispatch);

/// Lets a kernel of its own compute parts of the product in `kernel`, if it has
/// too few blocks; null if it has enough.
graph::DispatchOp splitProduct(mlir::OpBuilder &b, mlir::SymbolTable &symbols,
                               mlir::func::FuncOp kernel,
                               graph::DispatchOp dispatch,
                               const Target &target);
/// Copies the factors for which that pays.
void packFactors(mlir::OpBuilder &b, mlir::SymbolTable &symbols,
                 mlir::func::FuncOp kernel, graph::DispatchOp dispatch,
                 const Target &target);

/// Tiles of a product that a plan's blocks have.
struct Tiles {
  int64_t rows, columns, batch;
  int64_t blocks() const { return rows * columns * batch; }
};
Tiles tilesOf(const Product &p, ContractionPlanAttr plan);
/// The cheapest plan, whether or not tiles pay.
ContractionPlanAttr planTiles(const Product &p, const Target &target);

/// The strategy `contraction`: matrix products and dense convolutions. A block
/// computes a tile of the result from tiles of both factors in shared memory.
struct ContractionStrategy {
  using Plan = ContractionPlanAttr;
  /// The kernel's one product; none if what follows it cannot be computed from
  /// its sums one by one.
  static Match<Product> match(mlir::func::FuncOp kernel);
  static llvm::SmallVector<Plan> plans(const Product &p, const Target &target);
  static double cost(const Product &p, Plan plan, const Target &target);
  static llvm::FailureOr<Divided<Plan>>
  expand(const Product &p, Plan plan, const Target &target, EmitError error);
  static llvm::LogicalResult emit(EmittedKernel &kernel, const Product &p,
                                  Plan plan, const Target &target);
};

} // namespace tinh::cuda

#endif // TINH_CODEGEN_CUDA_CONTRACTION_CONTRACTION_H
