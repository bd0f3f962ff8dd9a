//===- cpu_count.cpp - How many CPUs the process may use --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Version 2 of the cgroups keeps "QUOTA PERIOD" or "max PERIOD" in cpu.max;
// version 1 keeps them in two files, with -1 for no limit. Limits of enclosing
// groups hold as well, so the walk goes up to the root. In a container the
// group's own path may not exist below the mount; its root then stands for it.
//
//===----------------------------------------------------------------------===//
// Beside it: this source is compiled by others, too, without our folders.
#include "cpu_count.h"

#include <algorithm>
#include <fstream>
#include <sched.h>
#include <sstream>

namespace tinh::runtime {

std::vector<int> affinity_cpus() {
  std::vector<int> cpus;
  for (int size = 1024; size <= 1 << 16; size *= 4) {
    cpu_set_t *set = CPU_ALLOC(size);
    if (!set)
      break;
    size_t bytes = CPU_ALLOC_SIZE(size);
    CPU_ZERO_S(bytes, set);
    bool known = sched_getaffinity(0, bytes, set) == 0;
    for (int cpu = 0; known && cpu < size; ++cpu)
      if (CPU_ISSET_S(cpu, bytes, set))
        cpus.push_back(cpu);
    CPU_FREE(set);
    if (known)
      break;
  }
  return cpus;
}

static uint32_t cpus_of(double quota, double period) {
  if (!(quota > 0) || !(period > 0))
    return 0;
  return static_cast<uint32_t>(
      std::clamp((quota + period - 1) / period, 1.0, 65536.0));
}

/// The limit that the files in `directory` state, 0 for none.
static uint32_t limit_in(const std::string &directory, bool version2) {
  if (version2) {
    std::ifstream file(directory + "/cpu.max");
    std::string quota;
    double period = 0;
    if (!(file >> quota >> period) || quota == "max")
      return 0;
    std::istringstream number(quota);
    double value = 0;
    return number >> value ? cpus_of(value, period) : 0;
  }
  double quota = 0, period = 0;
  std::ifstream(directory + "/cpu.cfs_quota_us") >> quota;
  std::ifstream(directory + "/cpu.cfs_period_us") >> period;
  return cpus_of(quota, period);
}

/// The least limit of `path` and the groups that enclose it below `mount`.
static uint32_t limit_upwards(const std::string &mount, std::string path,
                              bool version2) {
  uint32_t least = 0;
  for (;;) {
    while (!path.empty() && path.back() == '/')
      path.pop_back();
    uint32_t limit = limit_in(mount + path, version2);
    if (limit && (!least || limit < least))
      least = limit;
    if (path.empty())
      return least;
    path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
  }
}

static bool has_controller(const std::string &list, const std::string &name) {
  std::istringstream stream(list);
  for (std::string entry; std::getline(stream, entry, ',');)
    if (entry == name)
      return true;
  return false;
}

uint32_t cgroup_cpu_limit(const std::string &root) {
  std::ifstream file(root + "/proc/self/cgroup");
  uint32_t least = 0;
  // Lines are HIERARCHY:CONTROLLERS:PATH; version 2 has no controllers.
  for (std::string line; std::getline(file, line);) {
    size_t first = line.find(':');
    size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos)
      continue;
    std::string controllers = line.substr(first + 1, second - first - 1);
    bool version2 = controllers.empty();
    if (!version2 && !has_controller(controllers, "cpu"))
      continue;
    std::string path = line.substr(second + 1);
    for (const char *mount :
         {"/sys/fs/cgroup", "/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct",
          "/sys/fs/cgroup/unified"}) {
      uint32_t limit = limit_upwards(root + mount, path, version2);
      if (limit && (!least || limit < least))
        least = limit;
    }
  }
  return least;
}

uint32_t available_cpus() {
  uint32_t count = std::max<size_t>(affinity_cpus().size(), 1);
  uint32_t limit = cgroup_cpu_limit();
  return limit ? std::min(count, limit) : count;
}

} // namespace tinh::runtime
