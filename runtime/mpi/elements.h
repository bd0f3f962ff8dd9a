//===- elements.h - Elements of collectives, reduced in order ---*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is computed of the parts that ranks have sent: always in the order of
// the ranks, so that results are the same bits on all of them and in each run.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_RUNTIME_MPI_ELEMENTS_H
#define TINH_RUNTIME_MPI_ELEMENTS_H

#include "tinh/collectives.h"

#include <cstddef>
#include <span>

namespace tinh::mpi {

/// Bytes of an element of a type that may be sent; 0 of one that may not.
size_t element_size(tinh_dtype_t dtype);

/// Whether the elements of this type can be reduced so.
bool is_reducible(tinh_dtype_t dtype, tinh_reduction_t reduction);

/// Reduces `parts`, at least one of `count` elements each, into `output`, which
/// may be one of them.
void reduce(tinh_dtype_t dtype, tinh_reduction_t reduction,
            std::span<const void *const> parts, size_t count, void *output);

void round_to_bf16(const float *from, size_t count, uint16_t *to);
void extend_bf16(const uint16_t *from, size_t count, float *to);

} // namespace tinh::mpi

#endif // TINH_RUNTIME_MPI_ELEMENTS_H
