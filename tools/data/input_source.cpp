//===- input_source.cpp - Where all inputs of a run come from -------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "input_source.h"

#include "inputs.h"
#include "npz.h"

#include <filesystem>

namespace tinh::tools {

std::vector<char> InputSource::read(const tinh_tensor_info_t &tensor) {
  if (source == "random" || source == "zeros")
    return make_input(tensor, source);
  if (std::filesystem::is_directory(source)) {
    claim_file(tensor, files, "--inputs", source);
    return make_input(tensor, source + "/" + file_of(tensor));
  }
  std::string message;
  if (!archive && !read_npz(source, &archive.emplace(), &message))
    throw UserError("--inputs: " + message);
  auto array = archive->find(tensor.name);
  if (array == archive->end())
    throw UserError("--inputs: '" + source + "' has no array '" + tensor.name +
                    "'");
  return take_input(tensor, source, array->second);
}

} // namespace tinh::tools
