//===- StorageFloats.h - Floats of 8 and 4 bits, by integers ----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels have floats of 8 and 4 bits as bytes. What converts them are
// operations on integers that all vector units have, without tables and
// branches.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_LINALG_STORAGE_FLOATS_H
#define TINH_CODEGEN_LINALG_STORAGE_FLOATS_H

#include "compiler/Codegen/Linalg/Scalars.h"

namespace tinh::codegen {

/// What a byte stands for as a number of `type`, in f32, which has them all.
mlir::Value decodeStorageFloat(Scalars &s, mlir::Value byte, mlir::Type type);

/// The number of `type` nearest to `x`, f32 or f64, as a byte; halves to even.
/// What is beyond its range becomes infinite, or NaN where there are no
/// infinities; with `saturate`, the largest number. In the type of 4 bits it is
/// that anyway, and NaN becomes 0.
mlir::Value encodeStorageFloat(Scalars &s, mlir::Value x, mlir::Type type,
                               bool saturate);

/// The power of two that `x`, an f32, is rounded to, as a byte of f8E8M0FNU;
/// NaN if there is none, or, with `saturate`, the least or the largest one.
mlir::Value encodePower(Scalars &s, mlir::Value x, graph::Rounding rounding,
                        bool saturate);

} // namespace tinh::codegen

#endif // TINH_CODEGEN_LINALG_STORAGE_FLOATS_H
