//===- check_artifact.h - Whether a descriptor makes sense ------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checks a descriptor's indices, sizes and jumps, so that a compiler's mistake
// is an error and not a crash.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_RUNTIME_CHECK_ARTIFACT_H
#define TINH_RUNTIME_CHECK_ARTIFACT_H

#include "tinh/artifact.h"

#include <vector>

namespace tinh::runtime {

bool valid_artifact(const tinh_artifact_t &artifact);

/// Whether `other` has what a context without a GPU may run in place of
/// `artifact`, which has been checked; what it has is to be checked then.
bool stands_in(const tinh_artifact_t &other, const tinh_artifact_t &artifact);

/// Whether a kernel's library call describes what its operands can be. They
/// have been checked.
bool valid_library_call(const tinh_kernel_desc_t &kernel);

/// For each step, and for the end of the function, the LOOP that it lies in;
/// -1 for none. A LOOP lies outside its loop and a NEXT inside. Empty if loops
/// do not nest.
std::vector<int32_t> enclosing_loops(const tinh_function_desc_t &function);

} // namespace tinh::runtime

#endif // TINH_RUNTIME_CHECK_ARTIFACT_H
