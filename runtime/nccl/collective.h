//===- collective.h - What NCCL computes ------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_RUNTIME_NCCL_COLLECTIVE_H
#define TINH_RUNTIME_NCCL_COLLECTIVE_H

#include "nccl.h"
#include "tinh/collectives.h"

#include <stdexcept>
#include <string>

namespace tinh::nccl {

/// How NCCL calls elements that it adds; -1: it does not.
int nccl_type(tinh_dtype_t dtype);

/// "all-reduce 3 (1000 elements)"
std::string describe(const tinh_collective_t &collective, uint64_t number);

/// A call that is wrong, and harms nothing else.
struct Refusal : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Throws a Refusal that says what is wrong with it, for NCCL.
void require_possible(const tinh_collective_t &collective, uint32_t num_ranks);

/// Gives it to `stream`.
Result call(const Functions &nccl, Comm comm,
            const tinh_collective_t &collective, CUstream stream);

} // namespace tinh::nccl

#endif // TINH_RUNTIME_NCCL_COLLECTIVE_H
