//===- atomic_file.cpp - A file that appears whole or not at all ----------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See the header.
//
//===----------------------------------------------------------------------===//
#include "files/atomic_file.h"

#include "shared/unnamed_file.h"
#include "support/error.h"

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tinh::runtime {

/// Large writes are cut: a file system may refuse more.
static constexpr size_t kMaxWrite = size_t(1) << 30;

void AtomicFile::fail(int error) const {
  throw_error(TINH_IO_ERROR,
              {"cannot write '", path, "': ", errno_text(error)});
}

/// A name that no other file has: of this process and this call.
static std::string temporary_name(const std::string &path) {
  static std::atomic<unsigned> count{0};
  return path + '.' + std::to_string(getpid()) + '-' +
         std::to_string(count.fetch_add(1)) + ".tmp";
}

/// The folder of `path`, with a slash behind it, or nothing for the current
/// one.
static std::string folder_of(const std::string &path) {
  return path.substr(0, path.rfind('/') + 1);
}

/// The same as the system takes it.
static std::string folder_to_open(const std::string &path) {
  std::string folder = folder_of(path);
  return folder.empty() ? "." : folder;
}

/// What is at `path` or, if that is a symbolic link, what it leads to in the
/// end, which need not be there; nothing for links that lead to each other.
static std::string follow_links(std::string path) {
  constexpr int kMostLinks = 40; // As the kernel follows.
  for (int i = 0; i < kMostLinks; ++i) {
    char name[PATH_MAX];
    ssize_t size = readlink(path.c_str(), name, sizeof name);
    if (size < 0 || size == sizeof name)
      return path; // No link; what else is wrong will show.
    std::string next(name, static_cast<size_t>(size));
    path = next[0] == '/' ? next : folder_of(path) + next;
  }
  return {};
}

AtomicFile::AtomicFile(std::string wanted)
    : path(std::move(wanted)), target(follow_links(path)) {
  if (target.empty())
    fail(ELOOP);
  struct stat status;
  if (stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode))
    throw_error(TINH_IO_ERROR,
                {"cannot write '", path, "': it is not a regular file"});
  file = open_unnamed(folder_to_open(target), 0666);
  if (file < 0 && !open_named())
    fail(errno);
}

bool AtomicFile::open_named() {
  do { // A process of the same number may have left one behind.
    temporary = temporary_name(target);
    file =
        open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (file < 0 && errno == EEXIST);
  return file >= 0;
}

AtomicFile::~AtomicFile() {
  if (file < 0)
    return;
  close(file);
  if (!temporary.empty())
    unlink(temporary.c_str());
}

void AtomicFile::write(const void *data, size_t size) {
  const char *at = static_cast<const char *>(data);
  while (size > 0) {
    ssize_t count = ::write(file, at, size < kMaxWrite ? size : kMaxWrite);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      fail(errno);
    at += count;
    size -= static_cast<size_t>(count);
  }
}

void AtomicFile::keep() {
  if (fsync(file) != 0)
    fail(errno);
  if (temporary.empty() ? !place_unnamed(file, target)
                        : rename(temporary.c_str(), target.c_str()) != 0)
    fail(errno);
  close(std::exchange(file, -1));
  sync_folder();
}

/// The new name is on the disk when its folder is. Some file systems have no
/// such call; there it is up to them.
void AtomicFile::sync_folder() const {
  int opened =
      open(folder_to_open(target).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (opened < 0)
    return;
  int error = fsync(opened) == 0 ? 0 : errno;
  close(opened);
  if (error && error != EINVAL && error != ENOTSUP)
    fail(error);
}

} // namespace tinh::runtime
