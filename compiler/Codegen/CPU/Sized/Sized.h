//===- Sized.h - Kernels whose sizes are arguments --------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Strategies for kernels that are compiled once for all sizes. Their function
// over linalg is one of a piece of the work, on tensors of `?` extents; sizes
// and strides are the first operand of the kernel, and its chunks are rows.
// Which plan is best depends on strides, so callers choose it.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CPU_SIZED_SIZED_H
#define TINH_CODEGEN_CPU_SIZED_SIZED_H

#include "compiler/Codegen/CPU/EmittedKernel.h"
#include "compiler/Codegen/CPU/Sized/RowFunction.h"

namespace tinh::cpu {

/// Such a kernel while code for it is being emitted.
struct SizedKernel : EmittedKernel {
  SizedKernel(mlir::func::FuncOp source, mlir::TypeRange types,
              mlir::ModuleOp module)
      : EmittedKernel(source, types, module), sizes(function.getArgument(0)) {}

  mlir::Value sizes;

  /// Memory of operand `i`: inputs, then results.
  mlir::Value memory(unsigned i) { return function.getArgument(i + 1); }
  /// Entry `i` of the sizes, an index.
  mlir::Value size(mlir::OpBuilder &b, int64_t i);
  /// Memory of `count` elements on the stack.
  mlir::Value stack(int64_t count, mlir::Type element);
};

/// A type for memory of any size.
mlir::MemRefType anySize(mlir::Type element);

/// Whether all operands of the kernel have `rank` dimensions, of any extents,
/// or, if these are rows, are single elements. A model's kernels, whose sizes
/// are known, never are.
bool hasAnySize(mlir::func::FuncOp kernel, int64_t rank);

/// Whether `plan` is one of this file's strategies.
bool isForAnySize(mlir::Attribute plan);

/// Emits `@name(sizes, operands…, scratch, begin, end)` over flat memrefs into
/// `module`.
mlir::FailureOr<mlir::func::FuncOp> emitSizedKernel(mlir::func::FuncOp kernel,
                                                    mlir::ModuleOp module,
                                                    const Target &target);

/// What most of these strategies have in common.
struct SizedStrategy {
  /// Bytes of scratch memory for each column.
  static int64_t scratch(auto &&...) { return 0; }
  /// Adds the types of operands beside the source's own.
  static void addOperands(llvm::SmallVectorImpl<mlir::Type> &) {}
};

/// A function of one row, of elements (tensor<?xT>) and single values
/// (tensor<T>), for all rows. Sizes: the number of elements of a row, then the
/// strides (row, element) of each operand.
struct SizedRowsStrategy : SizedStrategy {
  using Plan = SizedRowsPlanAttr;
  static Match<RowFunction> match(mlir::func::FuncOp kernel);
  static int64_t scratch(const RowFunction &, Plan);
  static mlir::LogicalResult emit(SizedKernel &, const RowFunction &, Plan,
                                  const Target &);
};

/// A copy of a row, fast where neighbours of the operand's rows are neighbours
/// in memory. Sizes as above. Matches have the type of the elements.
struct SizedTransposeStrategy : SizedStrategy {
  using Plan = SizedTransposePlanAttr;
  static Match<mlir::Type> match(mlir::func::FuncOp kernel);
  static mlir::LogicalResult emit(SizedKernel &, mlir::Type, Plan,
                                  const Target &);
};

/// A product of matrices, added to an initial value, in register tiles. Sizes:
/// n, k, strides (row, column) of A, of the initial value and of the result.
/// Operands: A, B, the offsets of B's rows in it, the initial value, the
/// result. Matches have the type of the elements.
struct SizedContractionStrategy : SizedStrategy {
  using Plan = SizedContractionPlanAttr;
  static Match<mlir::Type> match(mlir::func::FuncOp kernel);
  static void addOperands(llvm::SmallVectorImpl<mlir::Type> &types);
  static mlir::LogicalResult emit(SizedKernel &, mlir::Type, Plan,
                                  const Target &);
};

} // namespace tinh::cpu

#endif // TINH_CODEGEN_CPU_SIZED_SIZED_H
