//===- command_line_test.cpp - Tests of what command lines share ----------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Options within and beyond their ranges, and what a tool ends with.
//
//===----------------------------------------------------------------------===//
#include "command_line.h"

#include <gtest/gtest.h>

#include <limits>

using namespace tinh::tools;

namespace {

struct Parsed {
  std::optional<ExitCode> code;
  uint32_t threads = 7, runs = 20, gpu = 3;
  int64_t seed = 0;
  std::vector<int> numbers;
  unsigned jobs = 0;
  tinh_use_device_t device = TINH_USE_ANY;
};

Parsed parse_all(std::vector<std::string> arguments) {
  Parsed parsed;
  CLI::App app("A tool.");
  add_threads(app, &parsed.threads);
  add_jobs(app, &parsed.jobs);
  add_runs(app, &parsed.runs);
  add_device(app, &parsed.device, &parsed.gpu);
  app.add_option("--seed", parsed.seed)
      ->check(CLI::Range(int64_t{0}, std::numeric_limits<int64_t>::max()));
  app.add_option("--numbers", parsed.numbers)->delimiter(',');
  std::vector<char *> argv = {const_cast<char *>("tool")};
  for (std::string &argument : arguments)
    argv.push_back(argument.data());
  parsed.code = parse(app, static_cast<int>(argv.size()), argv.data());
  return parsed;
}

} // namespace

TEST(CommandLine, LeavesDefaults) {
  Parsed parsed = parse_all({});
  EXPECT_EQ(parsed.code, std::nullopt);
  EXPECT_EQ(parsed.threads, 7u);
  EXPECT_EQ(parsed.jobs, 0u);
  EXPECT_EQ(parsed.runs, 20u);
  EXPECT_EQ(parsed.device, TINH_USE_ANY);
  EXPECT_EQ(parsed.gpu, 3u);
}

TEST(CommandLine, TakesDevices) {
  EXPECT_EQ(parse_all({"--device=cpu"}).device, TINH_USE_CPU);
  EXPECT_EQ(parse_all({"--device=cuda"}).device, TINH_USE_CUDA);
  Parsed parsed = parse_all({"--device", "cuda:12"});
  EXPECT_EQ(parsed.device, TINH_USE_CUDA);
  EXPECT_EQ(parsed.gpu, 12u);
  for (const char *wrong : {"gpu", "cuda:", "cuda:x", "cuda:0x", "cuda:-1",
                            "cuda:4294967296", "cpu:0", ""})
    EXPECT_EQ(parse_all({"--device", wrong}).code, exit_usage) << wrong;
}

TEST(CommandLine, TakesTheEndsOfRanges) {
  Parsed parsed = parse_all({"--threads=0", "-j4096", "--runs", "1"});
  EXPECT_EQ(parsed.code, std::nullopt);
  EXPECT_EQ(parsed.threads, 0u);
  EXPECT_EQ(parsed.jobs, 4096u);
  EXPECT_EQ(parsed.runs, 1u);
}

TEST(CommandLine, ReadsIntegersAsDecimal) {
  EXPECT_EQ(parse_all({"--runs=010"}).runs, 10u);
  EXPECT_EQ(parse_all({"--runs=08"}).runs, 8u);
  EXPECT_EQ(parse_all({"--threads=00"}).threads, 0u);
  EXPECT_EQ(parse_all({"--runs=+08"}).runs, 8u);
  EXPECT_EQ(parse_all({"--numbers=-010,010,-0"}).numbers,
            std::vector({-10, 10, 0}));
  EXPECT_EQ(parse_all({"--seed=9223372036854775807"}).seed,
            std::numeric_limits<int64_t>::max());
  for (const char *wrong : {"9223372036854775808", "99999999999999999999",
                            "0x10", " 010", "1e3", ""})
    EXPECT_EQ(parse_all({"--seed", wrong}).code, exit_usage) << wrong;
}

TEST(CommandLine, RefusesWhatLiesBeyond) {
  for (const char *wrong :
       {"--threads=4097", "--threads=-1", "--threads=all", "--jobs=4097",
        "-j-1", "--runs=0", "--runs=100000001", "--walks=1", "walk"})
    EXPECT_EQ(parse_all({wrong}).code, exit_usage) << wrong;
}

TEST(CommandLine, Helps) {
  EXPECT_EQ(parse_all({"--help"}).code, exit_success);
}
