//===- log.h - What the fake driver has been asked for ----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A line for each call, "FUNCTION WHAT -> CODE", and further ones:
//
//   misuse WHAT           what no program may do
//   synchronises WHY      the host waits for the GPU within the call above
//   runs kernel NAME …    something that was queued is executed
//   image NAME …          a kernel's barriers and waits, when it is loaded
//
// At the end of the process, if the settings name a file, it gets all of these
// and, as its last ones, "leak …" for each kind of object that is still there.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TESTS_CUDA_DRIVER_LOG_H
#define TINH_TESTS_CUDA_DRIVER_LOG_H

#include <cstdint>
#include <map>
#include <string>

namespace tinh::fake {

class Log {
public:
  void add(const std::string &line) { text += line + "\n"; }
  void misuse(const std::string &what) { add("misuse " + what); }
  void synchronises(const std::string &why) { add("synchronises " + why); }
  /// Counts a call; gives its number, from 1.
  uint64_t count(const char *function) { return ++calls[function]; }
  void clear();
  const std::string &all() const { return text; }

private:
  std::string text;
  std::map<std::string, uint64_t> calls;
};

} // namespace tinh::fake

#endif // TINH_TESTS_CUDA_DRIVER_LOG_H
