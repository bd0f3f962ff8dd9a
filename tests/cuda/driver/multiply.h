//===- multiply.h - What products of matrices take --------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TESTS_CUDA_DRIVER_MULTIPLY_H
#define TINH_TESTS_CUDA_DRIVER_MULTIPLY_H

#include "compiler/Codegen/CUDA/Emulate/EmulatorAbi.h"

#include <cstring>
#include <immintrin.h>

namespace tinh::fake {

template <typename T> T fromBits(uint32_t bits) {
  T value;
  std::memcpy(&value, &bits, 4);
  return value;
}

template <typename T> uint32_t toBits(T value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  return bits;
}

inline bool isOfBytes(emulator::Multiply kind) {
  return kind >= emulator::Multiply::U8U8;
}

/// An element of A, or of B, of these bits: a float, or of bytes an integer.
template <typename T>
T elementOf(uint32_t bits, emulator::Multiply kind, bool isOfB);

template <>
inline float elementOf<float>(uint32_t bits, emulator::Multiply kind, bool) {
  switch (kind) {
  case emulator::Multiply::F16:
    return _cvtsh_ss(static_cast<uint16_t>(bits));
  case emulator::Multiply::Bf16:
    return fromBits<float>(bits << 16);
  default: // tf32 has fewer bits.
    return fromBits<float>(bits & ~0x1fffu);
  }
}

template <>
inline int32_t elementOf<int32_t>(uint32_t bits, emulator::Multiply kind,
                                  bool isOfB) {
  using emulator::Multiply;
  bool isSigned = kind == Multiply::S8S8 ||
                  kind == (isOfB ? Multiply::U8S8 : Multiply::S8U8);
  return isSigned ? static_cast<int8_t>(bits) : static_cast<uint8_t>(bits);
}

} // namespace tinh::fake

#endif // TINH_TESTS_CUDA_DRIVER_MULTIPLY_H
