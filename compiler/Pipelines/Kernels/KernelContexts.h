//===- KernelContexts.h - MLIR contexts that kernels share ------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_PIPELINES_KERNELS_KERNELCONTEXTS_H
#define TINH_PIPELINES_KERNELS_KERNELCONTEXTS_H

#include "mlir/IR/MLIRContext.h"

#include <memory>
#include <mutex>
#include <vector>

namespace tinh {

/// Contexts with all dialects that kernels pass through, each for one thread at
/// a time: to make one takes milliseconds, as long as a small kernel's code.
/// Thread-safe.
class KernelContexts {
  struct Entry {
    std::unique_ptr<mlir::MLIRContext> context;
    unsigned uses = 0;
  };

public:
  class Borrowed {
  public:
    explicit Borrowed(KernelContexts &owner);
    /// Gives it back, but not on the way out of a crash, which may have left it
    /// in any state.
    ~Borrowed();
    Borrowed(const Borrowed &) = delete;
    mlir::MLIRContext &operator*() { return *entry.context; }

  private:
    KernelContexts &owner;
    Entry entry;
  };

private:
  std::mutex mutex;
  std::vector<Entry> idle;
};

} // namespace tinh

#endif // TINH_PIPELINES_KERNELS_KERNELCONTEXTS_H
