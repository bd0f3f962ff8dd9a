//===- vectors_256.cpp - Loops over vectors of AVX2 -----------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "vectors.h"

#include <immintrin.h>

using Vector = __m256;
static constexpr unsigned kChains = 12;
#define VECTOR(operation) _mm256_##operation
#define REGISTER "x"

#include "vectors.inc"

const machine::Vectors machine::vectors_256 = {
    "256", kBytes, kChains,   fma_throughput, fma_latency, read,
    write, copy,   broadcast, broadcast_fma,  read_rows,   write_and_read};
