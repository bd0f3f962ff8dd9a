//===- output_file.h - Files that are whole or not there --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TOOLS_OUTPUT_FILE_H
#define TINH_TOOLS_OUTPUT_FILE_H

#include <string>
#include <string_view>

namespace tinh::tools {

/// Writes `bytes` to the file `path`, which gets its name when it has all of
/// them; false, with the reason in errno, if it cannot, and what was there
/// stays.
bool write_file(const std::string &path, std::string_view bytes);

} // namespace tinh::tools

#endif // TINH_TOOLS_OUTPUT_FILE_H
