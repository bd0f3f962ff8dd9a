//===- MemoryAccess.h - Where operands' elements lie ------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_KERNEL_MEMORYACCESS_H
#define TINH_CODEGEN_KERNEL_MEMORYACCESS_H

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/BuiltinAttributes.h"

#include <optional>

namespace tinh::codegen {

/// How loops index the memory of an argument, as a tensor of this shape and
/// with these strides, in elements.
struct MemoryAccess {
  /// What lies there; null if it is computed from what does.
  mlir::BlockArgument argument;
  llvm::SmallVector<int64_t> shape, strides;
  mlir::AffineMap map;
  /// How far one step of each loop goes, and where all loops are at zero.
  llvm::SmallVector<int64_t> steps;
  int64_t offset = 0;
  /// An index of the loops beyond whose size is padding that is not in memory.
  struct Bound {
    mlir::AffineExpr index;
    int64_t size;
  };
  llvm::SmallVector<Bound> bounds;
  /// What the padding is; null: zeros.
  mlir::IntegerAttr padding;
  /// Whether those sizes may be less than the shape, of which a slice is read.
  bool isSliced = false;

  /// How far one step of `loop` goes along dimension `dim`.
  int64_t coefficient(unsigned dim, unsigned loop) const;
  /// Where dimension `dim` begins.
  int64_t constant(unsigned dim) const;
  /// Whether loops of these extents begin at the first element, and go forward
  /// and not beside the tensor.
  bool staysInside(llvm::ArrayRef<int64_t> extents) const;
};

/// How loops that index `value` by `map` index the memory that it is computed
/// from, by movements and element by element; nothing if that is not affine. Of
/// several operands the largest counts.
std::optional<MemoryAccess> accessMemory(mlir::Value value,
                                         mlir::AffineMap map);

/// How loops that index the result of `op` by `map` index its source.
mlir::AffineMap beforeExpansion(mlir::tensor::ExpandShapeOp op,
                                mlir::AffineMap map);

} // namespace tinh::codegen

#endif // TINH_CODEGEN_KERNEL_MEMORYACCESS_H
