//===- DecomposeQuantization.h - Scales as arithmetic -----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_TRANSFORMS_QUANTIZATION_DECOMPOSEQUANTIZATION_H
#define TINH_COMPILER_TRANSFORMS_QUANTIZATION_DECOMPOSEQUANTIZATION_H

#include "mlir/IR/BuiltinOps.h"

namespace tinh::transforms {

/// Replaces all graph.quantize and graph.dequantize by what they mean in other
/// element-wise ops, and products of bytes by those of i32, of bf16 or f16 with
/// f32 by those of f32: what runs op by op has no kernels for them.
void decomposeQuantization(mlir::ModuleOp module);

} // namespace tinh::transforms

#endif // TINH_COMPILER_TRANSFORMS_QUANTIZATION_DECOMPOSEQUANTIZATION_H
