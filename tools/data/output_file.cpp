//===- output_file.cpp - Files that are whole or not there ------*- C++ -*-===//
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
#include "output_file.h"

#include "runtime/src/shared/unnamed_file.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>

namespace tinh::tools {

static bool write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      return false;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

bool write_file(const std::string &path, std::string_view bytes) {
  size_t slash = path.rfind('/');
  std::string folder =
      slash == std::string::npos ? "." : path.substr(0, slash + 1);
  constexpr mode_t kMode = 0666; // But for what the process masks.
  int file = runtime::open_unnamed(folder, kMode);
  std::string name; // Only where a file has to have one.
  if (file < 0) {
    name = path + "." + std::to_string(::getpid()) + ".tmp";
    file =
        ::open(name.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kMode);
  }
  bool written = file >= 0 && write_all(file, bytes) &&
                 (name.empty() ? runtime::place_unnamed(file, path)
                               : std::rename(name.c_str(), path.c_str()) == 0);
  int error = errno;
  if (file >= 0)
    ::close(file);
  if (!written && !name.empty())
    ::unlink(name.c_str());
  errno = error;
  return written;
}

} // namespace tinh::tools
