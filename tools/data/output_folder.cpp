//===- output_folder.cpp - Outputs as .npy files ----------------*- C++ -*-===//
//-*-===//
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
#include "output_folder.h"

#include "inputs.h"
#include "npy.h"
#include "used_part.h"

#include <filesystem>
#include <map>

namespace tinh::tools {

OutputFolder::OutputFolder(std::string folder,
                           std::vector<tinh_tensor_info_t> outputs)
    : path(std::move(folder)), tensors(std::move(outputs)) {
  std::map<std::string, std::string> files;
  for (const tinh_tensor_info_t &tensor : tensors)
    claim_file(tensor, files, "--output-dir", path);
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error)
    throw UserError("cannot make the directory '" + path +
                    "': " + error.message());
}

void OutputFolder::write(const std::vector<tinh_buffer_t> &outputs) const {
  for (size_t i = 0; i < tensors.size(); ++i) {
    const tinh_tensor_info_t &tensor = tensors[i];
    UsedPart used = trim(tensor, outputs[i], outputs);
    std::string message;
    if (!write_npy(path + "/" + file_of(tensor), tensor.dtype, used.dims,
                   outputs[i].data, used.size, &message))
      throw UserError(message);
  }
}

} // namespace tinh::tools
