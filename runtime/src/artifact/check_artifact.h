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

#include <string>

namespace tinh::runtime {

/// Says what is wrong where that is known.
bool valid_artifact(const tinh_artifact_t &artifact,
                    std::string *wrong = nullptr);

/// What is wrong with the plan of a function for a GPU; empty if nothing is.
/// All else of the function has been checked.
std::string wrong_device_plan(const tinh_artifact_t &artifact,
                              const tinh_function_desc_t &function);

/// Whether `other` has what a context without a GPU may run in place of
/// `artifact`, which has been checked; what it has is to be checked then.
bool stands_in(const tinh_artifact_t &other, const tinh_artifact_t &artifact);

/// Whether a kernel's library call describes what its operands can be. They
/// have been checked.
bool valid_library_call(const tinh_kernel_desc_t &kernel);

} // namespace tinh::runtime

#endif // TINH_RUNTIME_CHECK_ARTIFACT_H
