//===- fiber.h - A stack for each thread of a block -------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TESTS_CUDA_DRIVER_FIBER_H
#define TINH_TESTS_CUDA_DRIVER_FIBER_H

#include <cstddef>

namespace tinh::fake {

/// Stacks for fibers, with a page below each that cannot be accessed.
class Stacks {
public:
  ~Stacks();
  /// Makes that there are `count` of them.
  void reserve(size_t count);
  size_t size() const { return count; }
  /// The end of stack `index`, which grows down from there.
  char *top(size_t index) const;

private:
  char *memory = nullptr;
  size_t count = 0;
};

/// The state of a fiber that is to call `start`, which never returns, on the
/// stack that ends at `top`.
void *prepareFiber(char *top, void (*start)());

/// Goes on with the fiber `to`, and puts where to go on here into `from`.
extern "C" void tinh_fake_switch(void **from, void *to);

} // namespace tinh::fake

#endif // TINH_TESTS_CUDA_DRIVER_FIBER_H
