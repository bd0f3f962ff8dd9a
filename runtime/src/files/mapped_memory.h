//===- mapped_memory.h - Memory from mmap -----------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Owners of mapped memory: anonymous memory for arenas, state and scratch, and
// read-only pieces of files for weights.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_RUNTIME_MAPPED_MEMORY_H
#define TINH_RUNTIME_MAPPED_MEMORY_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace tinh::runtime {

/// An open file descriptor.
class File {
public:
  /// Opens `path` for reading; throws NOT_FOUND or IO_ERROR, saying that `what`
  /// cannot be opened.
  File(const std::string &path, const char *what);
  File(File &&other) noexcept
      : descriptor(std::exchange(other.descriptor, -1)), length(other.length) {}
  File(const File &) = delete;
  ~File();

  int fd() const { return descriptor; }
  /// Length when it was opened.
  uint64_t size() const { return length; }

  /// Reads exactly `size` bytes at `offset`; false if the file has fewer.
  bool read_at(uint64_t offset, void *out_data, size_t size) const;

private:
  int descriptor;
  uint64_t length = 0;
};

class MappedMemory {
public:
  MappedMemory() = default;
  MappedMemory(MappedMemory &&other) noexcept { swap(other); }
  MappedMemory &operator=(MappedMemory &&other) noexcept {
    swap(other);
    return *this;
  }
  ~MappedMemory();

  /// Zeroed memory; aligned to, and advised to use, huge pages when it is large
  /// enough to fill some. Throws OUT_OF_MEMORY, which says that it was for
  /// `what`, also for more than the machine has.
  static MappedMemory anonymous(uint64_t size, const std::string &what);

  /// `size` bytes of `file` at `offset`, read-only; advised to use huge pages,
  /// which takes a kernel that has some for files. Throws IO_ERROR.
  static MappedMemory of_file(const File &file, uint64_t offset, uint64_t size,
                              const std::string &path);

  char *data() const { return start; }

private:
  void swap(MappedMemory &other) noexcept {
    std::swap(base, other.base);
    std::swap(length, other.length);
    std::swap(start, other.start);
  }

  void *base = nullptr; ///< What munmap takes.
  size_t length = 0;
  char *start = nullptr; ///< The first byte asked for.
};

} // namespace tinh::runtime

#endif // TINH_RUNTIME_MAPPED_MEMORY_H
