//===- collective.h - What NCCL computes ------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_RUNTIME_NCCL_COLLECTIVE_H
#define TINH_RUNTIME_NCCL_COLLECTIVE_H

#include "tinh/collectives.h"

#include <string>

namespace tinh::nccl {

/// How NCCL calls elements that it adds; -1: it does not.
int nccl_type(tinh_dtype_t dtype);

/// "all-reduce 3 (1000 elements)"
std::string describe(const tinh_collective_t &collective, uint64_t number);

/// What is wrong with it, for NCCL, or null.
const char *problem(const tinh_collective_t &collective, uint32_t num_ranks);

} // namespace tinh::nccl

#endif // TINH_RUNTIME_NCCL_COLLECTIVE_H
