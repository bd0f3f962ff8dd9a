//===- WorkAnalysis.h - What a kernel reads and writes ----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CUDA_WORKANALYSIS_H
#define TINH_CODEGEN_CUDA_WORKANALYSIS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace tinh::cuda {

/// Counts what is loaded where values are pulled (Kernel/Pull.h).
class WorkAnalysis {
public:
  WorkAnalysis(mlir::func::FuncOp kernel) : kernel(kernel) {}

  /// The results of `op` are computed once, and then kept.
  void keep(mlir::linalg::GenericOp op);
  /// Bytes that threads load for all results and what is kept.
  double cacheBytes();
  /// Loads for one element of each result, one after the other.
  double loads();

private:
  /// For one element.
  struct Loaded {
    double bytes = 0, count = 0;
    void add(const Loaded &other, double times) {
      bytes += other.bytes * times;
      count += other.count * times;
    }
  };
  Loaded of(mlir::Value value);
  Loaded compute(mlir::Value value);

  mlir::func::FuncOp kernel;
  llvm::SmallVector<std::pair<mlir::Value, Loaded>> kept;
  llvm::DenseMap<mlir::Value, Loaded> known;
};

} // namespace tinh::cuda

#endif // TINH_CODEGEN_CUDA_WORKANALYSIS_H
