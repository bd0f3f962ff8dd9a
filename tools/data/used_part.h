//===- used_part.h - What a run has used of its outputs ---------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TOOLS_USED_PART_H
#define TINH_TOOLS_USED_PART_H

#include "tinh/outputs.h"
#include "tinh/runtime.hpp"

#include <vector>

namespace tinh::tools {

struct UsedPart {
  std::vector<int64_t> dims;
  uint64_t size; // Bytes.
};

/// Moves what a run has used of an output to the beginning of its buffer;
/// `outputs` are those of all outputs.
inline UsedPart trim(const tinh_tensor_info_t &tensor,
                     const tinh_buffer_t &output,
                     const std::vector<tinh_buffer_t> &outputs) {
  UsedPart used{std::vector<int64_t>(tensor.rank),
                tinh_dtype_size(tensor.dtype)};
  check(tinh_output_trim(&tensor, &output, outputs.data(),
                         static_cast<uint32_t>(outputs.size()),
                         used.dims.data()));
  for (int64_t extent : used.dims)
    used.size *= static_cast<uint64_t>(extent);
  return used;
}

/// Whether output `i` only says the size of others.
inline bool is_size(const std::vector<tinh_tensor_info_t> &outputs, size_t i) {
  for (const tinh_tensor_info_t &output : outputs)
    for (uint32_t d = 0; output.size_outputs && d < output.rank; ++d)
      if (output.size_outputs[d] == static_cast<int32_t>(i))
        return true;
  return false;
}

} // namespace tinh::tools

#endif // TINH_TOOLS_USED_PART_H
