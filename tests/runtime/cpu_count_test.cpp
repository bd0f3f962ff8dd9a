//===- cpu_count_test.cpp - Limits of cgroups -------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Both versions of the cgroup files, in a made-up root.
//
//===----------------------------------------------------------------------===//
#include "shared/cpu_count.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

using namespace tinh::runtime;

namespace {

class CpuCount : public testing::Test {
protected:
  CpuCount() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "tinh-root-XXXXXX").string();
    root = mkdtemp(pattern.data());
  }
  ~CpuCount() override { std::filesystem::remove_all(root); }

  void write(const std::string &path, const std::string &text) {
    std::filesystem::path file = root + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }

  std::string root;
};

} // namespace

TEST_F(CpuCount, Version2TakesTheLeastOnTheWayUp) {
  write("/proc/self/cgroup", "0::/a/b\n");
  write("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  EXPECT_EQ(cgroup_cpu_limit(root), 0u);
  write("/sys/fs/cgroup/a/cpu.max", "250000 100000\n");
  EXPECT_EQ(cgroup_cpu_limit(root), 3u);
}

TEST_F(CpuCount, Version1) {
  write("/proc/self/cgroup", "3:memory:/m\n2:cpu,cpuacct:/c\n");
  write("/sys/fs/cgroup/cpu/c/cpu.cfs_quota_us", "-1\n");
  write("/sys/fs/cgroup/cpu/c/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(cgroup_cpu_limit(root), 0u);
  write("/sys/fs/cgroup/cpu/c/cpu.cfs_quota_us", "50000\n");
  EXPECT_EQ(cgroup_cpu_limit(root), 1u);
}

TEST_F(CpuCount, NoFiles) {
  EXPECT_EQ(cgroup_cpu_limit(root), 0u);
  EXPECT_GE(available_cpus(), 1u);
}
