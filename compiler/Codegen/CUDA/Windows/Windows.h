//===- Windows.h - Sums over windows that slide -----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CUDA_WINDOWS_WINDOWS_H
#define TINH_CODEGEN_CUDA_WINDOWS_WINDOWS_H

#include "compiler/Codegen/CUDA/EmittedKernel.h"

namespace tinh::cuda {

struct Windows {
  mlir::func::FuncOp kernel;
  mlir::linalg::GenericOp op;
  mlir::OpOperand *input = nullptr;
  unsigned inputDim = 0; ///< That windows slide along.
  unsigned tap = 0;      ///< The loop over a line of a window.
  int64_t stride = 1, dilation = 1;
  llvm::SmallVector<int64_t> shape; ///< Of the result.

  /// The dimension along which a thread has results: the last but one.
  unsigned along() const { return shape.size() - 2; }
  int64_t taps() const {
    mlir::linalg::GenericOp windows = op;
    return windows.getStaticLoopRanges()[tap];
  }
  /// Those of a thread each, if it has `outputs` of them.
  int64_t strips(int64_t outputs) const {
    return llvm::divideCeil(shape[along()], outputs);
  }
  int64_t units(int64_t lanes, int64_t outputs) const {
    return mlir::ShapedType::getNumElements(shape) / shape[along()] *
           strips(outputs) / lanes;
  }
  /// Positions of a line that so many windows cover.
  int64_t covered(int64_t count) const {
    return (count - 1) * stride + (taps() - 1) * dilation + 1;
  }
};

/// The strategy `windows`: pooling and depthwise convolutions. A thread
/// computes a vector of a few results whose windows overlap.
struct WindowsStrategy : Functions<Windows, WindowsPlanAttr> {
  static MatchFunction match;
  static PlansFunction plans;
  static CostFunction cost;
  static ExpandFunction expand;
  static EmitFunction emit;
};

/// Lets dispatches copy weights of windows to where their vectors lie side by
/// side.
void packTaps(DispatchedKernel dispatched);

} // namespace tinh::cuda

#endif // TINH_CODEGEN_CUDA_WINDOWS_WINDOWS_H
