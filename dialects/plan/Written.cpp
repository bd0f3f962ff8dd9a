//===- Written.cpp - What has been written so far ---------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/plan/Written.h"

using namespace mlir;

namespace tinh::plan {

SmallVector<BufferAttr> Written::takeFrom(size_t count) {
  SmallVector<BufferAttr> taken(ArrayRef(written).drop_front(count));
  written.truncate(count);
  return taken;
}

void Written::addCovered(ArrayRef<BufferAttr> side,
                         ArrayRef<BufferAttr> other) {
  for (BufferAttr buffer : side) {
    SmallVector<BufferAttr> parts;
    llvm::copy_if(other, std::back_inserter(parts), [&](BufferAttr part) {
      return part.getStrides() == buffer.getStrides();
    });
    if (plan::covers(parts, buffer))
      written.push_back(buffer);
  }
}

void Written::addCommon(ArrayRef<BufferAttr> one, ArrayRef<BufferAttr> other) {
  addCovered(one, other);
  addCovered(other, one);
}

/// Several steps may write the parts of a tensor; and a buffer that moves may
/// find what has been written as a whole.
bool Written::covers(BufferAttr buffer, ArrayRef<int64_t> lengths) const {
  for (unsigned depth = buffer.getStrides().size() + 1; depth-- > 0;) {
    BufferAttr wanted = *allIterations(buffer, lengths, depth);
    SmallVector<BufferAttr> parts; // The last first.
    auto coverAll = [&] {
      SmallVector<BufferAttr> inOrder(llvm::reverse(parts));
      return plan::covers(inOrder, wanted);
    };
    // What is read has mostly been written not long before.
    for (BufferAttr other : llvm::reverse(written)) {
      if (other.getStrides() != wanted.getStrides() || !other.overlaps(wanted))
        continue;
      parts.push_back(other);
      if (llvm::isPowerOf2_64(parts.size()) && coverAll())
        return true;
    }
    if (coverAll())
      return true;
  }
  return false;
}

} // namespace tinh::plan
