//===- tensor.h - Tensors of a signature and their buffers ------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tensor as the API shows it, and whether memory of the caller's fits it.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_RUNTIME_TENSOR_H
#define TINH_RUNTIME_TENSOR_H

#include "tinh/artifact.h"
#include "tinh/runtime.h"

#include <string>

namespace tinh::runtime {

tinh_tensor_info_t info_of(const tinh_tensor_desc_t &tensor);
tinh_tensor_info_t info_of(const tinh_variable_desc_t &variable);

/// "f32 [2, 3]"
std::string type_text(uint32_t dtype, const int64_t *dims, size_t rank);

/// Throws INVALID_ARGUMENT unless `buffer` can hold `tensor`, which the message
/// calls a `kind`, such as "input".
void check_buffer(const tinh_tensor_info_t &tensor, const char *kind,
                  const tinh_buffer_t &buffer);

} // namespace tinh::runtime

#endif // TINH_RUNTIME_TENSOR_H
