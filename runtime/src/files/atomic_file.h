//===- atomic_file.h - A file that appears whole or not at all --*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a process that is killed at any moment, or a machine that loses power,
// leaves at a path is what was there before, or all of what was written. Where
// the file system has files without names, nothing else is left either, unless
// that is while an old file is replaced (unnamed_file.h).
//
//===----------------------------------------------------------------------===//
#ifndef TINH_RUNTIME_ATOMIC_FILE_H
#define TINH_RUNTIME_ATOMIC_FILE_H

#include <cstddef>
#include <string>

namespace tinh::runtime {

class AtomicFile {
public:
  /// Begins a file beside `path` or, if that is a symbolic link, beside what it
  /// leads to, which the file will replace; throws an Error if it cannot, or if
  /// something that is no plain file is there.
  explicit AtomicFile(std::string path);
  AtomicFile(const AtomicFile &) = delete;
  /// Removes it unless it has been kept.
  ~AtomicFile();

  void write(const void *data, size_t size);
  /// Forces it to the disk, then gives it its name.
  void keep();

private:
  [[noreturn]] void fail(int error) const;
  bool open_named();
  void sync_folder() const;

  std::string path;      ///< As it was given, for messages.
  std::string target;    ///< What it leads to.
  std::string temporary; ///< Its name until then, if it has any.
  int file = -1;
};

} // namespace tinh::runtime

#endif // TINH_RUNTIME_ATOMIC_FILE_H
