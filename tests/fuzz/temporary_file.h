//===- temporary_file.h - A file of what a fuzzer made ----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TESTS_FUZZ_TEMPORARY_FILE_H
#define TINH_TESTS_FUZZ_TEMPORARY_FILE_H

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

namespace tinh::fuzz {

/// For readers that take a path. It is in memory and has no other name.
class TemporaryFile {
public:
  /// Behind the data, `zeros` bytes more.
  TemporaryFile(const uint8_t *data, size_t size, size_t zeros = 0)
      : file(memfd_create("tinh-fuzz", MFD_CLOEXEC)) {
    if (file < 0 || ::write(file, data, size) != static_cast<ssize_t>(size) ||
        ::ftruncate(file, static_cast<off_t>(size + zeros)) != 0)
      std::abort();
  }
  TemporaryFile(const TemporaryFile &) = delete;
  ~TemporaryFile() { ::close(file); }

  std::string path() const { return "/proc/self/fd/" + std::to_string(file); }

private:
  int file;
};

} // namespace tinh::fuzz

#endif // TINH_TESTS_FUZZ_TEMPORARY_FILE_H
