//===- Files.h - Files while they are written -------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_SUPPORT_FILES_H
#define TINH_COMPILER_SUPPORT_FILES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <memory>
#include <string>

namespace tinh {

/// Opens a file to read it; fails with the reason alone, also if it is no
/// regular file: a device has no end, and a pipe that nobody writes no
/// beginning.
llvm::Expected<int> openRegularFile(llvm::StringRef path);

/// The content of a regular file, with a zero behind it if it is to be
/// `terminated`, as MLIR's parser wants text.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
readRegularFile(llvm::StringRef path, bool terminated = false);

/// "cannot write 'path': reason"
llvm::Error writeError(llvm::StringRef path, const llvm::Twine &reason);

/// A file that becomes `path` when it is kept, and nothing before: it has no
/// name, but for the moment in which it replaces an old file, PATH.tinh.tmp. In
/// file systems without such files it is called PATH.XXXXXXXX.tmp, and removed
/// with this object and when a signal ends the program; only SIGKILL leaves it
/// behind.
class PendingFile {
public:
  /// Fails if something that is no plain file is at `path`.
  static llvm::Expected<PendingFile> create(llvm::StringRef path);
  PendingFile(PendingFile &&other);
  ~PendingFile();

  /// Gives it `size` bytes, reserved on the disk, in memory that is the file.
  llvm::Expected<llvm::MutableArrayRef<char>> map(uint64_t size);
  /// Writes its content, one byte after the other.
  llvm::raw_fd_ostream stream() const {
    return llvm::raw_fd_ostream(file, /*shouldClose=*/false);
  }
  /// Puts it at its path, with `permissions` but those that the process masks.
  llvm::Error keep(unsigned permissions);

private:
  PendingFile(std::string path) : path(std::move(path)) {}
  bool open();

  std::string path, name; // The latter only where there is one.
  int file = -1;
  llvm::MutableArrayRef<char> bytes;
};

/// A name in the system's folder for temporary files, which no other file has.
/// What is put there is removed with this object and on signals.
class ScratchFile {
public:
  explicit ScratchFile(llvm::StringRef prefix);
  ~ScratchFile();
  ScratchFile(const ScratchFile &) = delete;

  const std::string name;
};

/// A file in memory, for what reads nothing but files.
class MemoryFile {
public:
  static llvm::Expected<MemoryFile> create(llvm::StringRef content);
  MemoryFile(MemoryFile &&other) : file(other.file) { other.file = -1; }
  ~MemoryFile();
  /// A name that only this process can open, while this object exists.
  std::string name() const;

private:
  explicit MemoryFile(int file) : file(file) {}
  int file;
};

} // namespace tinh

#endif // TINH_COMPILER_SUPPORT_FILES_H
