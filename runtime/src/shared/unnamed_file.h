//===- unnamed_file.h - Files that have no name yet -------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A file that is written before it has a name is gone with the process, however
// that ends. Linux has such files (O_TMPFILE) on ext4, xfs, btrfs, tmpfs and
// overlays of them, and not on some others, such as NFS. Alone in a header,
// which the compiler includes, too.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_RUNTIME_UNNAMED_FILE_H
#define TINH_RUNTIME_UNNAMED_FILE_H

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <string>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

namespace tinh::runtime {

/// By which a name can be given to an open file.
inline std::string unnamed_path(int file) {
  return "/proc/self/fd/" + std::to_string(file);
}

/// A file to read and write in the file system of `folder`; -1 if that has none
/// without names, or nothing could be written there.
inline int open_unnamed(const std::string &folder, mode_t mode) {
  int file = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, mode);
  if (file < 0 || access(unnamed_path(file).c_str(), F_OK) == 0)
    return file;
  close(file); // There is no /proc.
  return -1;
}

/// Has the folder of a file to itself, but for those that never ask.
class FolderLock {
public:
  /// Others hold it for microseconds; who holds it for longer is another kind
  /// of program, and is not waited for.
  explicit FolderLock(const std::string &path) {
    size_t slash = path.rfind('/');
    std::string name =
        slash == std::string::npos ? "." : path.substr(0, slash + 1);
    folder = open(name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    constexpr int kTries = 200, kMicroseconds = 5000;
    for (int i = 0; folder >= 0 && !held && i < kTries; ++i) {
      held = flock(folder, LOCK_EX | LOCK_NB) == 0;
      if (!held && errno != EWOULDBLOCK && errno != EINTR)
        break; // Folders cannot be locked here.
      if (!held)
        usleep(kMicroseconds);
    }
  }
  FolderLock(const FolderLock &) = delete;
  ~FolderLock() {
    int error = errno;
    if (held) // A forked child may have the folder open, too.
      flock(folder, LOCK_UN);
    if (folder >= 0)
      close(folder);
    errno = error;
  }

  bool is_held() const { return held; }

private:
  int folder = -1;
  bool held = false;
};

/// Puts it at `path`, in the place of what is there; false, with the reason in
/// errno, if it cannot. Only a rename replaces a file, so that there is a
/// second name for a moment: always the same, where the folder could be locked,
/// so that what lies there before has been left by a process that was killed.
inline bool place_unnamed(int file, const std::string &path) {
  std::string source = unnamed_path(file), name = path + ".tinh.tmp";
  auto link = [&](const std::string &to) {
    return linkat(AT_FDCWD, source.c_str(), AT_FDCWD, to.c_str(),
                  AT_SYMLINK_FOLLOW) == 0;
  };
  if (link(path))
    return true;
  if (errno != EEXIST)
    return false;
  FolderLock lock(path);
  struct stat own;
  if (!lock.is_held() && fstat(file, &own) == 0)
    name = path + "." + std::to_string(own.st_ino) + ".tinh.tmp";
  unlink(name.c_str());
  if (!link(name))
    return false;
  if (std::rename(name.c_str(), path.c_str()) == 0)
    return true;
  int error = errno;
  unlink(name.c_str());
  errno = error;
  return false;
}

} // namespace tinh::runtime

#endif // TINH_RUNTIME_UNNAMED_FILE_H
