/*===- tinh/types.h - Element types and tensor descriptions ------*- C -*-===//
 *
 * Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
 * See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===//
 *
 * The vocabulary that the runtime's API (tinh/runtime.h) and the artifact's
 * layout (tinh/artifact.h) share. Plain C11, no dependencies.
 *
 *===----------------------------------------------------------------------===*/
#ifndef TINH_TYPES_H
#define TINH_TYPES_H

#include <stdint.h>

/* The highest rank of a tensor that crosses the API. */
#define TINH_MAX_RANK 8

/* Element types, named after MLIR's and by bits: i8 is int8, f32 float32. The
 * values are part of the artifact's layout: append, never renumber. A bool is
 * one byte, 0 or 1. Floats of 8 and 4 bits, after those of ml_dtypes, are for
 * storage; one of 4 bits is the low half of a byte. */
typedef enum tinh_dtype {
  TINH_DTYPE_BOOL = 0,
  TINH_DTYPE_I8 = 1,
  TINH_DTYPE_U8 = 2,
  TINH_DTYPE_I16 = 3,
  TINH_DTYPE_U16 = 4,
  TINH_DTYPE_I32 = 5,
  TINH_DTYPE_U32 = 6,
  TINH_DTYPE_I64 = 7,
  TINH_DTYPE_U64 = 8,
  TINH_DTYPE_F16 = 9,
  TINH_DTYPE_BF16 = 10,
  TINH_DTYPE_F32 = 11,
  TINH_DTYPE_F64 = 12,
  TINH_DTYPE_F8E4M3FN = 13,
  TINH_DTYPE_F8E4M3FNUZ = 14,
  TINH_DTYPE_F8E5M2 = 15,
  TINH_DTYPE_F8E5M2FNUZ = 16,
  TINH_DTYPE_F8E8M0FNU = 17,
  TINH_DTYPE_F4E2M1FN = 18
} tinh_dtype_t;

#endif /* TINH_TYPES_H */
