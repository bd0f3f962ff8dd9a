//===- cpu_features.h - What the machine's CPU can do -----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The TINH_CPU_* bits of this machine, and their names for messages.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_RUNTIME_CPU_FEATURES_H
#define TINH_RUNTIME_CPU_FEATURES_H

#include <cstdint>
#include <string>

namespace tinh::runtime {

/// The TINH_CPU_* features of this CPU that the operating system lets a process
/// use. Asks the kernel for the use of AMX only if `wanted` has it.
uint64_t detect_cpu_features(uint64_t wanted);

/// "avx512f, avx512vl" for the bits in `features`; unknown ones as "bit 40".
std::string cpu_feature_names(uint64_t features);

} // namespace tinh::runtime

#endif // TINH_RUNTIME_CPU_FEATURES_H
