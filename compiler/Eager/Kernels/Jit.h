//===- Jit.h - Code for kernels in this process -----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_EAGER_KERNELS_JIT_H
#define TINH_EAGER_KERNELS_JIT_H

#include "compiler/Codegen/CPU/Machine.h"

#include <memory>
#include <string>

namespace tinh::eager {

/// Compiles kernels for one CPU, or takes them from the cache, and links them.
/// Any thread may use it. Throws tinh::Error.
class Jit {
public:
  /// The cache is in the folder `cacheDirectory`; empty: none.
  Jit(const std::string &cpu, const std::string &cacheDirectory);
  ~Jit();

  /// The address of function `symbol`, whose source is `text`. Symbols are
  /// unique.
  void *compile(const std::string &symbol, const std::string &text);

  /// The machine that it compiles for.
  const cpu::Machine &machine() const;

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace tinh::eager

#endif // TINH_EAGER_KERNELS_JIT_H
