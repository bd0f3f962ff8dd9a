//===- Files.cpp - Files while they are written -----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Support/Files.h"

#include "runtime/src/shared/unnamed_file.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
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
// Reading
//===----------------------------------------------------------------------===//

/// What is no regular file, in words.
static StringRef describeKind(mode_t mode) {
  if (S_ISDIR(mode))
    return "it is a directory";
  if (S_ISFIFO(mode))
    return "it is not a regular file but a pipe";
  return S_ISCHR(mode) || S_ISBLK(mode)
             ? "it is not a regular file but a device"
             : "it is not a regular file";
}

Expected<int> openRegularFile(StringRef path) {
  int file =
      ::open(path.str().c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (file < 0)
    return createStringError(errno == ENXIO
                                 ? "it is not a regular file but a socket"
                                 : messageOf(errno));
  struct stat status = {};
  if (::fstat(file, &status) == 0 && S_ISREG(status.st_mode))
    return file;
  ::close(file);
  return createStringError(describeKind(status.st_mode));
}

Expected<std::unique_ptr<MemoryBuffer>> readRegularFile(StringRef path,
                                                        bool terminated) {
  auto file = openRegularFile(path);
  if (!file)
    return file.takeError();
  auto buffer =
      MemoryBuffer::getOpenFile(*file, path, /*FileSize=*/-1,
                                /*RequiresNullTerminator=*/terminated);
  ::close(*file);
  if (!buffer)
    return createStringError(buffer.getError().message());
  return std::move(*buffer);
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
  StringRef folder = sys::path::parent_path(path);
  file = runtime::open_unnamed(folder.empty() ? "." : folder.str(), 0600);
  if (file >= 0)
    return true;
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
  struct stat status;
  if (::stat(path.str().c_str(), &status) == 0 && !S_ISREG(status.st_mode))
    return writeError(path, describeKind(status.st_mode));
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
  if (name.empty() ? !runtime::place_unnamed(file, path)
                   : ::rename(name.c_str(), path.c_str()) != 0)
    return writeError(path, messageOf(errno));
  if (!name.empty())
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
