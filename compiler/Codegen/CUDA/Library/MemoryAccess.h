//===- MemoryAccess.h - Where operands' elements lie ------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CUDA_MEMORYACCESS_H
#define TINH_CODEGEN_CUDA_MEMORYACCESS_H

#include "mlir/IR/AffineMap.h"
#include "mlir/IR/Value.h"

#include <optional>

namespace tinh::cuda {

/// How loops index the memory of an argument, as a tensor of this shape and
/// with these strides. Indices beside it stand for zeros.
struct MemoryAccess {
  unsigned argument;
  llvm::SmallVector<int64_t> shape, strides;
  mlir::AffineMap map;

  /// How far one step of `loop` goes along dimension `dim`.
  int64_t coefficient(unsigned dim, unsigned loop) const;
  /// Where dimension `dim` begins.
  int64_t constant(unsigned dim) const;
  /// How far, in elements, one step of each loop goes.
  llvm::SmallVector<int64_t> steps() const;
  /// Whether loops of these extents begin at the first element, and go forward
  /// and not beside the tensor.
  bool staysInside(llvm::ArrayRef<int64_t> extents) const;
};

/// How loops that index `value` by `map` index the argument that it is a part,
/// a reshape, a transposition or a padding of; nothing if it is computed.
std::optional<MemoryAccess> accessMemory(mlir::Value value,
                                         mlir::AffineMap map);

} // namespace tinh::cuda

#endif // TINH_CODEGEN_CUDA_MEMORYACCESS_H
