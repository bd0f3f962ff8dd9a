//===- Files.cpp - Files while they are written -----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Artifact/Files.h"

#include "llvm/ADT/ScopeExit.h"
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

namespace tinh::artifact {

Error writeError(StringRef path, const Twine &reason) {
  return createStringError("cannot write '" + path + "': " + reason);
}

static std::string messageOf(int error) {
  return std::generic_category().message(error);
}

//===----------------------------------------------------------------------===//
// TemporaryFile
//===----------------------------------------------------------------------===//

TemporaryFile::TemporaryFile(StringRef name, StringRef target)
    : fileName(name), targetName(target) {
  sys::RemoveFileOnSignal(name);
}

TemporaryFile::TemporaryFile(TemporaryFile &&other)
    : fileName(std::move(other.fileName)),
      targetName(std::move(other.targetName)) {
  other.fileName.clear();
}

TemporaryFile::~TemporaryFile() {
  if (fileName.empty())
    return;
  sys::fs::remove(fileName);
  sys::DontRemoveFileOnSignal(fileName);
}

Expected<TemporaryFile> TemporaryFile::beside(StringRef path) {
  sys::fs::file_status status;
  if (!sys::fs::status(path, status) && !sys::fs::is_regular_file(status))
    return writeError(path, sys::fs::is_directory(status)
                                ? "it is a directory"
                                : "it is not a regular file");
  SmallString<128> name;
  if (std::error_code error =
          sys::fs::createUniqueFile(path + ".%%%%%%%%.tmp", name))
    return writeError(path, error.message());
  return TemporaryFile(name, path);
}

Expected<TemporaryFile> TemporaryFile::library(StringRef prefix) {
  SmallString<128> name;
  if (std::error_code error = sys::fs::createTemporaryFile(prefix, "so", name))
    return createStringError("cannot create a temporary file: " +
                             error.message());
  return TemporaryFile(name, name);
}

Error TemporaryFile::keep(unsigned permissions) {
  mode_t mask = umask(0);
  umask(mask);
  ::chmod(fileName.c_str(), permissions & ~mask);
  if (std::error_code error = sys::fs::rename(fileName, targetName))
    return writeError(targetName, error.message());
  sys::DontRemoveFileOnSignal(fileName);
  fileName.clear();
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Mapping
//===----------------------------------------------------------------------===//

Expected<Mapping> Mapping::resize(const TemporaryFile &file, uint64_t size) {
  auto fail = [&](const Twine &what, int error) {
    return writeError(file.target(), what + ": " + messageOf(error));
  };
  int descriptor = ::open(file.name().c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0)
    return fail("opening it", errno);
  scope_exit close([&] { ::close(descriptor); });
  if (::ftruncate(descriptor, size))
    return fail("a size of " + Twine(size) + " bytes", errno);
  // Reserve the blocks: a full disk must be an error here, not a signal at the
  // first store.
  if (int error = size ? ::posix_fallocate(descriptor, 0, size) : 0)
    return fail("a size of " + Twine(size) + " bytes", error);
  void *memory =
      ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (memory == MAP_FAILED)
    return fail("mapping it", errno);
  Mapping mapping;
  mapping.bytes = {static_cast<char *>(memory), size};
  return mapping;
}

Mapping::~Mapping() {
  if (!bytes.empty())
    ::munmap(bytes.data(), bytes.size());
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

} // namespace tinh::artifact
