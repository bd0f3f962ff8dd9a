//===- Signature.h - What tells primitives apart ----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_EAGER_PRIMITIVES_SIGNATURE_H
#define TINH_EAGER_PRIMITIVES_SIGNATURE_H

#include "compiler/Eager/Primitives/Primitive.h"

#include "llvm/ADT/SmallVector.h"

#include <bit>

namespace tinh::eager {

/// A key for what is compiled once for all calls that are alike.
class Signature {
public:
  Signature &add(double value) { return add(std::bit_cast<uint64_t>(value)); }
  Signature &add(std::span<const int64_t> values) {
    words.push_back(values.size());
    words.append(values.begin(), values.end());
    return *this;
  }
  Signature &add(const Dims &dims) {
    return add(std::span<const int64_t>(dims));
  }
  template <typename T>
    requires std::is_integral_v<T> || std::is_enum_v<T>
  Signature &add(T value) {
    words.push_back(static_cast<uint64_t>(value));
    return *this;
  }
  Signature &add(const Scalar &scalar) {
    return add(scalar.dtype).add(scalar.integer);
  }
  Signature &add(const Window &window);

  llvm::SmallVector<uint64_t, 64> words;
};

/// Of the kind and its attributes, but for what the numbers of a draw depend
/// on. Which inputs and outputs there are is for the caller to add, with what
/// matters of their metadata.
Signature signatureOf(const primitives::Attributes &attributes);

} // namespace tinh::eager

#endif // TINH_EAGER_PRIMITIVES_SIGNATURE_H
