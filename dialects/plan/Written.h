//===- Written.h - What has been written so far -----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_PLAN_WRITTEN_H
#define TINH_PLAN_WRITTEN_H

#include "dialects/plan/Plan.h"

namespace tinh::plan {

/// The buffers that have been written on all ways to a step, in order.
class Written {
public:
  void add(llvm::ArrayRef<BufferAttr> buffers) {
    llvm::append_range(written, buffers);
  }
  size_t size() const { return written.size(); }
  /// Forgets all but the first `count`, and gives what it forgets.
  llvm::SmallVector<BufferAttr> takeFrom(size_t count);

  /// Adds what one of two branches has written and the other one covers.
  void addCommon(llvm::ArrayRef<BufferAttr> one,
                 llvm::ArrayRef<BufferAttr> other);

  /// Whether all bytes of `buffer`, of a step in loops of `lengths`, have been
  /// written.
  bool covers(BufferAttr buffer, llvm::ArrayRef<int64_t> lengths) const;

private:
  void addCovered(llvm::ArrayRef<BufferAttr> side,
                  llvm::ArrayRef<BufferAttr> other);

  llvm::SmallVector<BufferAttr> written;
};

} // namespace tinh::plan

#endif // TINH_PLAN_WRITTEN_H
