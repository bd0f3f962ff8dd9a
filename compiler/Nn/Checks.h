//===- Checks.h - Sizes that modules are made with --------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_NN_CHECKS_H
#define TINH_NN_CHECKS_H

#include "tinh/nn/module.h"

namespace tinh::nn {

/// Throws unless `value` is 1 or more.
inline void requireCount(int64_t value, const char *module, const char *what) {
  if (value < 1)
    throw Error(TINH_INVALID_ARGUMENT, std::string(module) + ": " + what +
                                           " is " + std::to_string(value) +
                                           "; it must be 1 or more");
}

/// The same of a size that may be inferred.
inline void requireSize(int64_t value, const char *module, const char *what) {
  if (value != inferred)
    requireCount(value, module, what);
}

} // namespace tinh::nn

#endif // TINH_NN_CHECKS_H
