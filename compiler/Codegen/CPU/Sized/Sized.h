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
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CPU_SIZED_H
#define TINH_CODEGEN_CPU_SIZED_H

#include "compiler/Codegen/CPU/Target.h"
#include "compiler/Codegen/Kernel/Pull.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tinh::cpu {

using namespace codegen; // What all devices have in common.

/// Such a kernel while code for it is being emitted.
struct SizedKernel {
  mlir::func::FuncOp source;
  mlir::func::FuncOp function;
  mlir::Value sizes, scratch, begin, end;

  /// Memory of operand `i`: inputs, then results.
  mlir::Value operand(unsigned i) { return function.getArgument(i + 1); }
  /// Entry `i` of the sizes, an index.
  mlir::Value size(mlir::OpBuilder &b, int64_t i);
  /// Memory of `count` elements on the stack.
  mlir::Value stack(int64_t count, mlir::Type element);
};

/// A type for memory of any size.
mlir::MemRefType anySize(mlir::Type element);

/// Whether kernels of `strategy` are those of this file.
bool isSized(llvm::StringRef strategy);

/// Emits `@name(sizes, operands…, scratch, begin, end)` over flat memrefs into
/// `module`.
mlir::FailureOr<mlir::func::FuncOp> emitSizedKernel(mlir::func::FuncOp kernel,
                                                    mlir::ModuleOp module,
                                                    const Target &target);

//===----------------------------------------------------------------------===//
// sized-rows, sized-rows-across: a function of one row, of elements
// (tensor<?xT>) and single values (tensor<T>), for all rows. Lanes lie along a
// row's elements or across the rows. Sizes: the number of elements of a row,
// then the strides (row, element) of each operand.
//===----------------------------------------------------------------------===//

mlir::LogicalResult emitSizedRows(SizedKernel &kernel, bool across,
                                  const Target &target);

//===----------------------------------------------------------------------===//
// sized-transpose: a copy of a row, fast where neighbours of the operand's rows
// are neighbours in memory. Sizes as above.
//===----------------------------------------------------------------------===//

mlir::LogicalResult emitSizedTranspose(SizedKernel &kernel,
                                       const Target &target);

//===----------------------------------------------------------------------===//
// sized-contraction: a product of matrices, added to an initial value, in
// register tiles. Sizes: n, k, strides (row, column) of A, of the initial value
// and of the result. Operands: A, B, the offsets of B's rows in it, the initial
// value, the result.
//===----------------------------------------------------------------------===//

mlir::LogicalResult emitSizedContraction(SizedKernel &kernel,
                                         const Target &target);

} // namespace tinh::cpu

#endif // TINH_CODEGEN_CPU_SIZED_H
