//===- fake_library.h - What the fake libraries share -----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Libraries that look like cuBLASLt and cuDNN and compute on the host, in the
// order of the fake GPU's work. The environment variable TINH_FAKE_LIBRARIES
// has words "FUNCTION:N:STATUS": call N, from 1, of that function does nothing
// but return this status; with N = 0 each call.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TESTS_CUDA_DRIVER_FAKE_LIBRARY_H
#define TINH_TESTS_CUDA_DRIVER_FAKE_LIBRARY_H

#include <bit>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <sstream>
#include <string>

namespace tinh::fake {

/// The status with which a call of `function` is to fail, or 0.
inline int injectedStatus(const std::string &function) {
  static std::mutex mutex;
  static std::map<std::string, int> calls;
  std::lock_guard lock(mutex);
  int number = ++calls[function];
  const char *variable = std::getenv("TINH_FAKE_LIBRARIES");
  std::istringstream words(variable ? variable : "");
  for (std::string word; words >> word;) {
    std::istringstream parts(word);
    std::string name, at, status;
    std::getline(parts, name, ':');
    std::getline(parts, at, ':');
    std::getline(parts, status, ':');
    if (name == function && (at == "0" || std::stoi(at) == number))
      return std::stoi(status);
  }
  return 0;
}

enum class Type { F32, F16, Bf16 };

inline size_t sizeOf(Type type) { return type == Type::F32 ? 4 : 2; }

inline double load(Type type, const void *base, int64_t index) {
  if (type == Type::F32)
    return static_cast<const float *>(base)[index];
  if (type == Type::F16)
    return static_cast<double>(static_cast<const _Float16 *>(base)[index]);
  uint32_t bits = uint32_t(static_cast<const uint16_t *>(base)[index]) << 16;
  return std::bit_cast<float>(bits);
}

inline void store(Type type, void *base, int64_t index, double value) {
  auto narrow = static_cast<float>(value);
  if (type == Type::F32) {
    static_cast<float *>(base)[index] = narrow;
  } else if (type == Type::F16) {
    static_cast<_Float16 *>(base)[index] = static_cast<_Float16>(narrow);
  } else {
    auto bits = std::bit_cast<uint32_t>(narrow);
    bits += 0x7fff + (bits >> 16 & 1);
    static_cast<uint16_t *>(base)[index] = static_cast<uint16_t>(bits >> 16);
  }
}

/// To the 10 bits that a tf32 has behind its first one, ties away from zero.
inline double toTf32(double value) {
  auto bits = std::bit_cast<uint32_t>(static_cast<float>(value));
  return std::bit_cast<float>((bits + 0x1000) & ~0x1fffu);
}

} // namespace tinh::fake

#define TINH_LIBRARY extern "C" __attribute__((visibility("default")))

#endif // TINH_TESTS_CUDA_DRIVER_FAKE_LIBRARY_H
