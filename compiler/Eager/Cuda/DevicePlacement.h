//===- DevicePlacement.h - Operations where their operands lie --*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In a program that uses a GPU, each primitive goes to the device of its
// operands.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_EAGER_CUDA_DEVICEPLACEMENT_H
#define TINH_EAGER_CUDA_DEVICEPLACEMENT_H

#include "compiler/Eager/Primitives/Primitive.h"

namespace tinh::eager {

/// Performs a primitive on the device of its operands, which new outputs are
/// put on. A cast copies to another device, too, if its output is not new.
void performByDevice(const Primitive &primitive);

// As the functions of Backend. Of tensors on the CPU the last two give where
// they lie; of others, null.
void fromHostByDevice(const void *data, TensorImpl &out, const Call &call);
const void *waitToReadByDevice(const TensorImpl &x, const Call &call);
void *waitToWriteByDevice(const TensorImpl &x, const Call &call);

} // namespace tinh::eager

#endif // TINH_EAGER_CUDA_DEVICEPLACEMENT_H
