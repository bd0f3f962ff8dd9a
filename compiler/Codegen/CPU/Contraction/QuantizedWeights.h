//===- QuantizedWeights.h - Weights that products dequantise ----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A right factor (q - zero point) · scale of integers q of 8 or 4 bits, with
// parameters that are the same along the last loop over k, a block. Panels of
// such integers hold words of 32 bits: neighbours along k of one column, so
// that a vector of words has a vector of columns for each of some steps of k.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CPU_CONTRACTION_QUANTIZEDWEIGHTS_H
#define TINH_CODEGEN_CPU_CONTRACTION_QUANTIZEDWEIGHTS_H

#include "compiler/Codegen/Kernel/Forms/Product.h"

#include "dialects/cpu/Cpu.h"

namespace tinh::cpu {

using namespace codegen;

struct QuantizedWeights {
  mlir::linalg::GenericOp dequantize;
  mlir::Value bytes; ///< What it reads: [blocks, bytes, columns].
  int64_t bits;
  bool isUnsigned;
  mlir::OpOperand *scale;
  mlir::OpOperand *zeroPoint; ///< Null if it is a constant:
  int64_t constantZero;
  /// The byte that the body makes a float of, such as one of 8 bits, for which
  /// (q - zero point) is not it; null if it is.
  mlir::BlockArgument decoded;

  int64_t perWord() const { return 32 / bits; }
  /// How they lie in panels of so many columns.
  PanelsAttr panels(int64_t width) const;
};

/// What the right factor of `product` is dequantised from, [blocks, k, columns]
/// or [k, columns] in this order; nothing if it is not.
std::optional<QuantizedWeights> findQuantizedWeights(const Product &product);

} // namespace tinh::cpu

#endif // TINH_CODEGEN_CPU_CONTRACTION_QUANTIZEDWEIGHTS_H
