//===- output_folder.h - Outputs as .npy files ------------------*- C++ -*-===//
//-*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TOOLS_OUTPUT_FOLDER_H
#define TINH_TOOLS_OUTPUT_FOLDER_H

#include "tinh/runtime.hpp"

#include <string>
#include <vector>

namespace tinh::tools {

class OutputFolder {
public:
  /// Makes the folder if it is not there. Throws UserError if it cannot, or if
  /// two of `tensors` would be the same file.
  OutputFolder(std::string path, std::vector<tinh_tensor_info_t> tensors);

  /// Writes of each tensor the elements that the run has used to its file, and
  /// moves them together for that. Throws UserError.
  void write(const std::vector<tinh_buffer_t> &outputs) const;

private:
  std::string path;
  std::vector<tinh_tensor_info_t> tensors;
};

} // namespace tinh::tools

#endif // TINH_TOOLS_OUTPUT_FOLDER_H
