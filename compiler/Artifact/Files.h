//===- Files.h - Files while they are written -------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_ARTIFACT_FILES_H
#define TINH_ARTIFACT_FILES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace tinh::artifact {

/// "cannot write 'path': reason"
llvm::Error writeError(llvm::StringRef path, const llvm::Twine &reason);

/// A file that is removed with this object, and when a signal ends the program,
/// unless it has become another one. Only SIGKILL leaves it behind.
class TemporaryFile {
public:
  /// What becomes `path`: NAME.XXXXXXXX.tmp beside it. Fails if something that
  /// is no plain file is in its place.
  static llvm::Expected<TemporaryFile> beside(llvm::StringRef path);
  /// In the system's folder for temporary files, as PREFIX-XXXXXX.so.
  static llvm::Expected<TemporaryFile> library(llvm::StringRef prefix);

  TemporaryFile(TemporaryFile &&other);
  ~TemporaryFile();

  const std::string &name() const { return fileName; }
  /// What it is to become; its own name if nothing.
  const std::string &target() const { return targetName; }
  /// Makes it the target, at once and whole, with `permissions` but those that
  /// the process masks.
  llvm::Error keep(unsigned permissions);

private:
  TemporaryFile(llvm::StringRef name, llvm::StringRef target);
  std::string fileName, targetName;
};

/// A file's bytes, shared with the file.
class Mapping {
public:
  /// Resizes `file` to `size` bytes, all of them reserved on the disk.
  static llvm::Expected<Mapping> resize(const TemporaryFile &file,
                                        uint64_t size);
  Mapping(Mapping &&other) : bytes(other.bytes) { other.bytes = {}; }
  ~Mapping();
  llvm::MutableArrayRef<char> bytes;

private:
  Mapping() = default;
};

/// A file in memory, for libraries that read nothing but files.
class MemoryFile {
public:
  static llvm::Expected<MemoryFile> create(llvm::StringRef content);
  MemoryFile(MemoryFile &&other) : file(other.file) { other.file = -1; }
  ~MemoryFile();
  /// A name that only this process can open.
  std::string name() const;

private:
  explicit MemoryFile(int file) : file(file) {}
  int file;
};

} // namespace tinh::artifact

#endif // TINH_ARTIFACT_FILES_H
