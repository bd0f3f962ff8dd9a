//===- api_outputs.cpp - Outputs of data-dependent shapes -------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tinh/outputs.h"

#include "artifact/tensor.h"
#include "support/guarded.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

using namespace tinh::runtime;

/// How much of dimension `d` the run has used.
static int64_t used_extent(const tinh_tensor_info_t &info, uint32_t d,
                           const tinh_buffer_t *outputs, uint32_t num_outputs) {
  int32_t number = info.size_outputs ? info.size_outputs[d] : -1;
  if (number < 0)
    return info.dims[d];
  auto fail = [&](const std::string &what) {
    throw_error(TINH_INVALID_ARGUMENT,
                {"output '", info.name, "': dimension ", d,
                 " has its size from output ", number, ", ", what});
  };
  if (static_cast<uint32_t>(number) >= num_outputs)
    fail(message_of({"but there are ", num_outputs}));
  int64_t size = 0;
  if (!outputs[number].data || outputs[number].size != sizeof size)
    fail("which is not the buffer of one int64_t");
  std::memcpy(&size, outputs[number].data, sizeof size);
  if (size < 0 || size > info.dims[d])
    fail(message_of({"which is ", size, ", not from 0 to ", info.dims[d]}));
  return size;
}

/// Moves the elements of an array of `dims` that are within `used` together.
static void trim(char *data, size_t element, const int64_t *dims,
                 const int64_t *used, uint32_t rank) {
  // Dimensions behind the last that is cut lie together.
  uint32_t last = rank;
  while (last > 0 && dims[last - 1] == used[last - 1])
    --last;
  if (last == 0 || std::find(used, used + rank, 0) != used + rank)
    return;
  size_t row = element * static_cast<size_t>(used[last - 1]),
         pitch = element * static_cast<size_t>(dims[last - 1]);
  for (uint32_t d = last; d < rank; ++d) {
    row *= static_cast<size_t>(dims[d]);
    pitch *= static_cast<size_t>(dims[d]);
  }
  std::vector<int64_t> index(last - 1);
  for (char *to = data;; to += row) {
    size_t from = 0;
    for (uint32_t d = 0; d + 1 < last; ++d)
      from =
          from * static_cast<size_t>(dims[d]) + static_cast<size_t>(index[d]);
    std::memmove(to, data + from * pitch, row);
    uint32_t d = last - 1;
    while (d > 0 && ++index[d - 1] == used[d - 1])
      index[--d] = 0;
    if (d == 0)
      return;
  }
}

tinh_status_t tinh_output_trim(const tinh_tensor_info_t *info,
                               const tinh_buffer_t *output,
                               const tinh_buffer_t *outputs,
                               uint32_t num_outputs, int64_t *out_dims) {
  return guarded({{info, "info"}, {output, "output"}}, [&] {
    if (num_outputs != 0)
      require(outputs, "outputs");
    if (info->rank != 0)
      require(out_dims, "out_dims");
    check_buffer(*info, "output", *output);
    int64_t used[TINH_MAX_RANK];
    if (info->rank > TINH_MAX_RANK)
      throw_error(TINH_INVALID_ARGUMENT, {"an output has no such rank"});
    for (uint32_t d = 0; d < info->rank; ++d)
      used[d] = used_extent(*info, d, outputs, num_outputs);
    trim(static_cast<char *>(output->data), tinh_dtype_size(info->dtype),
         info->dims, used, info->rank);
    std::copy(used, used + info->rank, out_dims);
  });
}
