//===- Host.h - Elements where the program can use them ---------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_EAGER_TENSOR_HOST_H
#define TINH_EAGER_TENSOR_HOST_H

#include "compiler/Eager/Tensor/Support.h"

namespace tinh::eager {

/// Waits for the elements of `x` and copies them, in row-major order.
void copyToHost(const TensorImpl &x, void *data, const Call &call);

} // namespace tinh::eager

#endif // TINH_EAGER_TENSOR_HOST_H
