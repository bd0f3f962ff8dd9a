//===- regular_file.h - Whether a file can be read to its end ---*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TOOLS_REGULAR_FILE_H
#define TINH_TOOLS_REGULAR_FILE_H

#include <filesystem>
#include <string>

namespace tinh::tools {

/// Whether something is there that is no regular file: a device has no end, and
/// a pipe that nobody writes no beginning.
inline bool is_no_regular_file(const std::string &path) {
  std::error_code error;
  auto status = std::filesystem::status(path, error);
  return std::filesystem::exists(status) &&
         !std::filesystem::is_regular_file(status);
}

inline constexpr char kNoRegularFile[] = "it is not a regular file";

} // namespace tinh::tools

#endif // TINH_TOOLS_REGULAR_FILE_H
