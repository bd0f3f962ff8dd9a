//===- settings.h - What the fake driver does -------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Settings are words "NAME=VALUE" with blanks between them, in the environment
// variable TINH_FAKE_CUDA when the driver is loaded, or given later:
//
//   order=descending     threads and blocks of a kernel run from the last to
//                        the first; else ascending
//   poison=7f            each byte of fresh memory and of shared memory at the
//                        start of a block, hexadecimal; else ff: no number
//   copies=early         asynchronous copies within kernels are done when they
//                        are issued; else late: when they are waited for
//   races=0              accesses of shared memory that nothing orders are no
//                        errors
//   schedule=newest      of work that may run, what was queued last runs first;
//                        else oldest; or a number, which seeds a random order
//   ignore=K:barrier:N   kernel K has no barrier N; or K:wait:N
//   fail=F:N:CODE        call N, from 1, of function F does nothing and returns
//                        CODE; any number of these words
//   fault=K:CODE         kernel K does nothing but fail, and all calls return
//                        CODE from then on
//   threads=N            host threads that run blocks; else all of the machine
//   memory=BYTES         what the GPU has; else 8 GiB
//   record=1             images need no code for this driver: kernels are
//                        launched and do nothing
//   log=FILE             where the log goes when the process ends
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TESTS_CUDA_DRIVER_SETTINGS_H
#define TINH_TESTS_CUDA_DRIVER_SETTINGS_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tinh::fake {

/// Call `number` of `function` returns `code`.
struct Failure {
  std::string function;
  uint64_t number = 0;
  int code = 0;
};

/// A barrier, or a wait for copies, that a kernel goes without.
struct IgnoredSite {
  std::string kernel;
  bool isBarrier = true;
  uint32_t site = 0;
};

enum class Schedule { Oldest, Newest, Random };

struct Settings {
  bool descending = false;
  uint8_t poison = 0xff;
  bool earlyCopies = false;
  bool races = true;
  Schedule schedule = Schedule::Oldest;
  uint64_t seed = 0;
  std::optional<IgnoredSite> ignored;
  std::vector<Failure> failures;
  std::string faultyKernel; ///< Or none.
  int fault = 0;
  unsigned threads = 0;
  uint64_t memory = uint64_t(8) << 30;
  bool record = false;
  std::string log;
};

/// Ends the process with a message if the text is wrong: it is a test's own.
Settings parseSettings(const std::string &text);

} // namespace tinh::fake

#endif // TINH_TESTS_CUDA_DRIVER_SETTINGS_H
