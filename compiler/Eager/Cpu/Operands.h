//===- Operands.h - Tensors as operations see them --------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What operations keep of tensors: the storage, which may have no memory yet,
// and where in it the elements are.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_EAGER_CPU_OPERANDS_H
#define TINH_EAGER_CPU_OPERANDS_H

#include "compiler/Eager/Engine/Operation.h"
#include "compiler/Eager/Primitives/Attributes.h"
#include "compiler/Eager/Tensor/Half.h"

#include <bit>
#include <cstring>
#include <limits>

namespace tinh::eager {

// Bytes of a result that one chunk should have: enough to be worth a thread,
// few enough for the cache.
constexpr int64_t kChunkBytes = 64 << 10;

inline int64_t elementSize(tinh_dtype_t dtype) {
  static constexpr uint8_t sizes[] = {1, 1, 1, 2, 2, 4, 4, 8, 8, 2, 2, 4, 8};
  return sizes[dtype];
}

/// How many elements make a chunk.
inline int64_t elementsPerChunk(tinh_dtype_t dtype) {
  return kChunkBytes / elementSize(dtype);
}

/// Whether so many steps of a loop take about a microsecond at most.
inline bool isQuick(int64_t steps) { return steps <= 2048; }

inline int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// Work in equal pieces, as an operation has it: a chunk has as many pieces as
/// are worth a thread, at least one.
struct Pieces {
  int64_t pieces, perChunk;
  bool coversResult = false; // All of the result's memory is written.

  Pieces(int64_t pieces, int64_t perChunk, bool coversResult)
      : pieces(pieces), perChunk(std::max<int64_t>(1, perChunk)),
        coversResult(coversResult) {}

  bool overwrites() const { return coversResult; }
  uint32_t numChunks() const {
    return static_cast<uint32_t>(ceilDiv(pieces, perChunk));
  }
  /// The pieces of a chunk on which chunks begin or end.
  int64_t firstOf(uint32_t chunk) const {
    return std::min(chunk * perChunk, pieces);
  }
};

/// The bytes of a number as an element, the first ones of the result.
uint64_t bitsOf(const Scalar &scalar);

/// The elements of a tensor.
struct Elements {
  Storage *storage = nullptr;
  int64_t offset = 0; // In bytes.

  Elements() = default;
  explicit Elements(const TensorImpl &x)
      : storage(x.storage.get()), offset(x.offset * elementSize(x.dtype)) {}
  /// Once the storage has memory. As of an empty one, null.
  char *data() const { return static_cast<char *>(storage->data()) + offset; }
};

/// Whether to write all elements of `x` is to write all of its storage.
inline bool coversStorage(const TensorImpl &x) {
  return static_cast<uint64_t>(x.numElements() * elementSize(x.dtype)) ==
         x.storage->size();
}

/// A new contiguous tensor.
Ref<TensorImpl> makeTemporary(tinh_dtype_t dtype,
                              std::span<const int64_t> sizes);
/// `x`, or a contiguous copy of it if it is not contiguous.
Ref<const TensorImpl> contiguous(const TensorImpl &x, const Call &call);

/// Makes `view` refer to all of `x`.
void setView(TensorImpl &view, const TensorImpl &x);

/// Calls `body` with a value of an unsigned type of `size` bytes.
template <typename Body> decltype(auto) withSize(int64_t size, Body body) {
  switch (size) {
  case 1:
    return body(uint8_t());
  case 2:
    return body(uint16_t());
  case 4:
    return body(uint32_t());
  default:
    return body(uint64_t());
  }
}

/// Half-precision elements, computed with as f32.
template <bool isBrain> struct Half {
  using Value = float;
  uint16_t bits;
  Half() = default;
  Half(float value)
      : bits(isBrain ? floatToBfloat16(value) : floatToHalf(value)) {}
  operator float() const {
    return isBrain ? bfloat16ToFloat(bits) : halfToFloat(bits);
  }
};

/// What sums of elements are computed in.
template <typename Element> struct SumOf {
  using type = Element;
};
template <bool isBrain> struct SumOf<Half<isBrain>> {
  using type = float;
};

/// The sum; of integers modulo 2^n, of booleans "or".
template <typename Sum> Sum wrappingAdd(Sum a, Sum b) {
  if constexpr (std::is_same_v<Sum, bool>)
    return a || b;
  else if constexpr (std::is_integral_v<Sum>)
    return static_cast<Sum>(static_cast<std::make_unsigned_t<Sum>>(a) +
                            static_cast<std::make_unsigned_t<Sum>>(b));
  else
    return a + b;
}

/// The product; of integers modulo 2^n, of booleans "and".
template <typename Sum> Sum wrappingMul(Sum a, Sum b) {
  if constexpr (std::is_same_v<Sum, bool>)
    return a && b;
  else if constexpr (std::is_integral_v<Sum>)
    // In 64 bits: narrow types would become int, whose overflow is undefined.
    return static_cast<Sum>(static_cast<uint64_t>(a) *
                            static_cast<uint64_t>(b));
  else
    return a * b;
}

/// Calls `body` with a value of the type of elements of `dtype`.
template <typename Body>
decltype(auto) withElement(tinh_dtype_t dtype, Body body) {
  switch (dtype) {
  case TINH_DTYPE_BOOL:
    return body(bool());
  case TINH_DTYPE_I8:
    return body(int8_t());
  case TINH_DTYPE_U8:
    return body(uint8_t());
  case TINH_DTYPE_I16:
    return body(int16_t());
  case TINH_DTYPE_U16:
    return body(uint16_t());
  case TINH_DTYPE_I32:
    return body(int32_t());
  case TINH_DTYPE_U32:
    return body(uint32_t());
  case TINH_DTYPE_I64:
    return body(int64_t());
  case TINH_DTYPE_U64:
    return body(uint64_t());
  case TINH_DTYPE_F16:
    return body(Half<false>());
  case TINH_DTYPE_BF16:
    return body(Half<true>());
  case TINH_DTYPE_F32:
    return body(float());
  default:
    return body(double());
  }
}

} // namespace tinh::eager

#endif // TINH_EAGER_CPU_OPERANDS_H
