//===- ElementwiseFusion.h - Element-wise ops as one kernel -----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradient of an activation is a handful of ops, each of which would read
// and write as much memory as all of them do together.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_EAGER_MODEL_ELEMENTWISEFUSION_H
#define TINH_EAGER_MODEL_ELEMENTWISEFUSION_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"

#include <string>

namespace tinh::eager {

/// Which ops of a block are computed by the kernels of others.
class ElementwiseFusion {
public:
  /// A function of a row (Kernels/), and what it reads.
  struct Kernel {
    std::string symbol, text;
    llvm::SmallVector<mlir::Value> inputs;
  };

  ElementwiseFusion() = default;
  /// In order; what other ops give is there before.
  explicit ElementwiseFusion(llvm::ArrayRef<mlir::Operation *> ops);

  /// Whether an op is computed where its result is used, in kernels of others.
  bool isInner(mlir::Operation *op) const { return inner.contains(op); }
  /// The kernel that computes the op and inner ones; null if it is no such op.
  const Kernel *kernelOf(mlir::Operation *op) const {
    auto known = kernels.find(op);
    return known == kernels.end() ? nullptr : &known->second;
  }

private:
  llvm::DenseSet<mlir::Operation *> inner;
  llvm::MapVector<mlir::Operation *, Kernel> kernels;
};

} // namespace tinh::eager

#endif // TINH_EAGER_MODEL_ELEMENTWISEFUSION_H
