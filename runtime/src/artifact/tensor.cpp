//===- tensor.cpp - Tensors of a signature and their buffers ----*- C++ -*-===//
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
#include "artifact/tensor.h"

#include "support/error.h"

namespace tinh::runtime {

template <typename Desc>
static tinh_tensor_info_t describe(const Desc &desc,
                                   const int32_t *size_outputs) {
  return {desc.name, static_cast<tinh_dtype_t>(desc.dtype),
          desc.rank, desc.dims,
          desc.size, size_outputs};
}

tinh_tensor_info_t info_of(const tinh_tensor_desc_t &tensor) {
  return describe(tensor, tensor.size_outputs);
}

tinh_tensor_info_t info_of(const tinh_variable_desc_t &variable) {
  return describe(variable, nullptr);
}

std::string type_text(uint32_t dtype, const int64_t *dims, size_t rank) {
  std::string text = tinh_dtype_name(static_cast<tinh_dtype_t>(dtype));
  text += " [";
  for (size_t i = 0; i < rank; ++i)
    text.append(i ? ", " : "").append(std::to_string(dims[i]));
  return text + ']';
}

void check_buffer(const tinh_tensor_info_t &tensor, const char *kind,
                  const tinh_buffer_t &buffer) {
  auto fail = [&](const std::string &what) {
    throw_error(TINH_INVALID_ARGUMENT, {kind, " '", tensor.name, "'", what});
  };
  if (buffer.size != tensor.size)
    fail(message_of(
        {" has ", tensor.size, " bytes, but its buffer has ", buffer.size}));
  if (!buffer.data && tensor.size)
    fail(": the buffer is NULL");
  size_t alignment = tinh_dtype_size(tensor.dtype);
  if (reinterpret_cast<uintptr_t>(buffer.data) % alignment)
    fail(message_of({": the buffer is not aligned to its elements of ",
                     alignment, " bytes"}));
}

} // namespace tinh::runtime
