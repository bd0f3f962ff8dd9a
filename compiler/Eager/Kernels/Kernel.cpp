//===- Kernel.cpp - Code whose sizes are arguments --------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Kernels/Kernel.h"

#include "compiler/Eager/Kernels/Jit.h"

namespace tinh::eager {

tinh_kernel_fn Kernel::compile() {
  std::lock_guard lock(mutex);
  tinh_kernel_fn known = function.load(std::memory_order_relaxed);
  if (known)
    return known;
  known = reinterpret_cast<tinh_kernel_fn>(jit.compile(symbol, text));
  function.store(known, std::memory_order_release);
  return known;
}

} // namespace tinh::eager
