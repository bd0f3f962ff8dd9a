//===- Losses.h - What losses share -----------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_NN_LOSSES_H
#define TINH_NN_LOSSES_H

#include "compiler/Eager/Tensor/Support.h"
#include "tinh/losses.h"

namespace tinh::nn {

/// The losses of elements or examples, their mean or their sum.
Tensor reduced(const Tensor &losses, Reduction reduction,
               const eager::Call &call);

} // namespace tinh::nn

#endif // TINH_NN_LOSSES_H
