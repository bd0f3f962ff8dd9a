//===- Files.cpp - Files while they are written -----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Support/Files.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

using namespace llvm;

namespace tinh {

Error writeError(StringRef path, const Twine &reason) {
  return createStringError("cannot write '" + path + "': " + reason);
}

/// `model` with random digits for each %; in the system's folder for temporary
/// files if it is to be absolute.
static std::string uniqueName(const Twine &model, bool absolute) {
  SmallString<128> name;
  sys::fs::createUniquePath(model, name, absolute);
  return name.str().str();
}

static std::string messageOf(int error) {
  return std::generic_category().message(error);
}

//===----------------------------------------------------------------------===//
// PendingFile
//===----------------------------------------------------------------------===//

PendingFile::PendingFile(PendingFile &&other)
    : path(std::move(other.path)), name(std::move(other.name)),
      file(std::exchange(other.file, -1)),
      bytes(std::exchange(other.bytes, {})) {
  other.name.clear();
}

PendingFile::~PendingFile() {
  if (!bytes.empty())
    ::munmap(bytes.data(), bytes.size());
  if (file >= 0)
    ::close(file);
  if (name.empty())
    return;
  ::unlink(name.c_str());
  sys::DontRemoveFileOnSignal(name);
}

bool PendingFile::open() {
  std::string unique = uniqueName(path + ".%%%%%%%%.tmp", /*absolute=*/false);
  // Before it exists: a signal may come at any time.
  sys::RemoveFileOnSignal(unique);
  file = ::open(unique.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file >= 0) {
    name = std::move(unique);
    return true;
  }
  int error = errno;
  sys::DontRemoveFileOnSignal(unique);
  errno = error;
  return false;
}

Expected<PendingFile> PendingFile::create(StringRef path) {
  sys::fs::file_status status;
  if (!sys::fs::status(path, status) && !sys::fs::is_regular_file(status))
    return writeError(path, sys::fs::is_directory(status)
                                ? "it is a directory"
                                : "it is not a regular file");
  PendingFile pending(path.str());
  while (!pending.open())
    if (errno != EEXIST)
      return writeError(path, messageOf(errno));
  return pending;
}

Expected<MutableArrayRef<char>> PendingFile::map(uint64_t size) {
  auto fail = [&](int error) {
    return writeError(path, Twine(size) + " bytes: " + messageOf(error));
  };
  if (::ftruncate(file, size))
    return fail(errno);
  // Reserve the blocks: a full disk must be an error here, not a signal at the
  // first store.
  if (int error = size ? ::posix_fallocate(file, 0, size) : 0)
    return fail(error);
  void *memory =
      ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED)
    return fail(errno);
  // What maps the file next finds the huge pages, if there are some for files.
  ::madvise(memory, size, MADV_HUGEPAGE);
  bytes = {static_cast<char *>(memory), size};
  return bytes;
}

Error PendingFile::keep(unsigned permissions) {
  mode_t mask = umask(0);
  umask(mask);
  ::fchmod(file, permissions & ~mask);
  if (::rename(name.c_str(), path.c_str()))
    return writeError(path, messageOf(errno));
  sys::DontRemoveFileOnSignal(name);
  name.clear();
  return Error::success();
}

//===----------------------------------------------------------------------===//
// ScratchFile
//===----------------------------------------------------------------------===//

ScratchFile::ScratchFile(StringRef prefix)
    : name(uniqueName(prefix + "-%%%%%%%%", /*absolute=*/true)) {
  sys::RemoveFileOnSignal(name);
}

ScratchFile::~ScratchFile() {
  ::unlink(name.c_str());
  sys::DontRemoveFileOnSignal(name);
}

//===----------------------------------------------------------------------===//
// MemoryFile
//===----------------------------------------------------------------------===//

Expected<MemoryFile> MemoryFile::create(StringRef content) {
  auto fail = [](int error) {
    return createStringError("cannot make a file in memory: " +
                             messageOf(error));
  };
  MemoryFile result(::memfd_create("tinh", MFD_CLOEXEC));
  if (result.file < 0)
    return fail(errno);
  raw_fd_ostream stream(result.file, /*shouldClose=*/false,
                        /*unbuffered=*/true);
  stream << content;
  std::error_code error = stream.error();
  stream.clear_error();
  if (error)
    return fail(error.value());
  return result;
}

MemoryFile::~MemoryFile() {
  if (file >= 0)
    ::close(file);
}

std::string MemoryFile::name() const {
  return "/proc/self/fd/" + std::to_string(file);
}

} // namespace tinh
