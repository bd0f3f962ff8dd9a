//===- EagerScope.h - What is to last longer than a trace -------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_NN_EAGERSCOPE_H
#define TINH_NN_EAGERSCOPE_H

#include "compiler/Eager/Backend.h"
#include "tinh/autograd.h"

namespace tinh::nn {

/// While it lives, operations of this thread run at once and are not recorded,
/// also where a function is being traced: parameters and the like, which are
/// made at the first call, are there after it.
class EagerScope {
  NoGrad noGrad;
  eager::BackendScope backend{eager::recordingBackend()};
};

} // namespace tinh::nn

#endif // TINH_NN_EAGERSCOPE_H
