//===- cpu_count.h - How many CPUs the process may use ----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The default number of threads: the CPUs of the affinity mask, but no more
// than the process's cgroups grant time for.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_RUNTIME_CPU_COUNT_H
#define TINH_RUNTIME_CPU_COUNT_H

#include <cstdint>
#include <string>
#include <vector>

namespace tinh::runtime {

/// The numbers of the CPUs in the calling thread's affinity mask.
std::vector<int> affinity_cpus();

/// CPUs' worth of time that the cgroups of the process grant, rounded up; 0 if
/// they set no limit. `root` replaces "/" in tests.
uint32_t cgroup_cpu_limit(const std::string &root = "");

/// The smaller of the two above; at least 1.
uint32_t available_cpus();

} // namespace tinh::runtime

#endif // TINH_RUNTIME_CPU_COUNT_H
