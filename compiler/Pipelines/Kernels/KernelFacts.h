//===- KernelFacts.h - What a profile tells of a kernel ---------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the compiler knows of a kernel that its code no longer says: artifacts
// carry it, for profiles.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_PIPELINES_KERNELS_KERNELFACTS_H
#define TINH_PIPELINES_KERNELS_KERNELFACTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <string>

namespace tinh {

/// Of a kernel in phase llvm, a WorkAttr: what its function over linalg had to
/// do.
inline constexpr llvm::StringLiteral kWork = "plan.work";

struct KernelFacts {
  int64_t operations = 0, bytes = 0; // Codegen/Kernel/Work.h says which.
  double estimatedCycles = 0;        // Of one core, for all chunks; 0: none.
  std::string plan;                  // How it is computed; may be empty.
};

/// Those of a kernel of phase plan or llvm.
KernelFacts factsOf(mlir::Operation *kernel);

/// Lets `lowered`, the code of `kernel`, keep them.
void keepFacts(mlir::func::FuncOp kernel, mlir::Operation *lowered);

} // namespace tinh

#endif // TINH_PIPELINES_KERNELS_KERNELFACTS_H
