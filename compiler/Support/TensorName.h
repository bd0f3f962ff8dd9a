//===- TensorName.h - Names that tensors have in files ----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_SUPPORT_TENSORNAME_H
#define TINH_SUPPORT_TENSORNAME_H

#include "mlir/IR/Operation.h"

namespace tinh {

/// Whether a tensor of a .safetensors file can have that name.
bool isTensorName(llvm::StringRef name);

/// Fails, at `weight`, if a file of weights or of a state could not have it by
/// its name.
mlir::LogicalResult checkTensorName(mlir::Operation *weight,
                                    llvm::StringRef name);

} // namespace tinh

#endif // TINH_SUPPORT_TENSORNAME_H
