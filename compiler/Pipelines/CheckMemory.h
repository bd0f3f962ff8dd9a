//===- CheckMemory.h - Whether a model can run at all -----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_PIPELINES_CHECKMEMORY_H
#define TINH_PIPELINES_CHECKMEMORY_H

#include "compiler/Artifact/Artifact.h"

#include "mlir/IR/BuiltinOps.h"

namespace tinh {

/// Fails, with a message, if a function of `contents`, made of `module`, takes
/// more memory than any process has. Warns if it is more than this machine has.
mlir::LogicalResult checkMemory(mlir::ModuleOp module,
                                const artifact::Contents &contents);

} // namespace tinh

#endif // TINH_PIPELINES_CHECKMEMORY_H
