//===- Checkpoint.h - Files that training goes on from ----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_FIT_CHECKPOINT_H
#define TINH_FIT_CHECKPOINT_H

#include "tinh/fit.h"

namespace tinh {

/// Those that write checkpoints come last, when the others have changed what
/// they have to keep.
std::vector<CallbackPtr> checkpointsLast(std::vector<CallbackPtr> callbacks);

} // namespace tinh

#endif // TINH_FIT_CHECKPOINT_H
