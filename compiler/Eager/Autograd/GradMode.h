//===- GradMode.h - Whether a thread records --------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_EAGER_AUTOGRAD_GRADMODE_H
#define TINH_EAGER_AUTOGRAD_GRADMODE_H

#include <utility>

namespace tinh::eager {

/// What NoGrad and EnableGrad set, for traced functions and eager tensors.
extern constinit thread_local bool gradEnabled;

class GradModeScope {
public:
  explicit GradModeScope(bool enabled)
      : before(std::exchange(gradEnabled, enabled)) {}
  ~GradModeScope() { gradEnabled = before; }
  GradModeScope(const GradModeScope &) = delete;
  GradModeScope &operator=(const GradModeScope &) = delete;

private:
  bool before;
};

} // namespace tinh::eager

#endif // TINH_EAGER_AUTOGRAD_GRADMODE_H
