//===- input_source.h - Where all inputs of a run come from -----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TOOLS_INPUT_SOURCE_H
#define TINH_TOOLS_INPUT_SOURCE_H

#include "npy.h"
#include "tinh/runtime.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tinh::tools {

/// random, zeros, a folder of NAME.npy or an .npz file.
class InputSource {
public:
  explicit InputSource(std::string source) : source(std::move(source)) {}

  /// The bytes of `tensor`. Throws UserError if there are none, or they do not
  /// fit it.
  std::vector<char> read(const tinh_tensor_info_t &tensor);

private:
  std::string source;
  std::optional<std::map<std::string, NpyArray>> archive;
  std::map<std::string, std::string> files; ///< Of a folder: whose they are.
};

} // namespace tinh::tools

#endif // TINH_TOOLS_INPUT_SOURCE_H
