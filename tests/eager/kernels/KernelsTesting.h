//===- KernelsTesting.h - What tests of kernels share -----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TESTS_EAGER_KERNELS_KERNELSTESTING_H
#define TINH_TESTS_EAGER_KERNELS_KERNELSTESTING_H

#include "compiler/Eager/Kernels/KernelLibrary.h"
#include "tinh/runtime.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace tinh::eager {

/// The folder of kernels that ctest keeps within the build; empty: none.
inline std::string testCache() {
  const char *cache = std::getenv("XDG_CACHE_HOME");
  return cache ? std::string(cache) + "/tinh" : "";
}

/// Tests run for this machine and for the least one that is supported.
class ForCpus : public testing::TestWithParam<const char *> {
protected:
  KernelLibrary &library() {
    static std::map<std::string, std::unique_ptr<KernelLibrary>> libraries;
    auto &library = libraries[GetParam()];
    if (!library)
      library = std::make_unique<KernelLibrary>(GetParam(), testCache());
    return *library;
  }
};

inline auto testedCpus() { return testing::Values("native", "x86-64-v3"); }
inline std::string cpuName(const testing::TestParamInfo<const char *> &info) {
  return info.param == std::string("native") ? "native" : "v3";
}

inline bool isFloating(tinh_dtype_t dtype) { return dtype >= TINH_DTYPE_F16; }

/// Memory of a tensor with a margin that nothing may write.
class Memory {
public:
  Memory(tinh_dtype_t dtype, int64_t count)
      : dtype(dtype), count(count),
        bytes(count * tinh_dtype_size(dtype) + 2 * kMargin, kCanary) {}

  tinh_dtype_t dtype;
  int64_t count;

  char *data() { return bytes.data() + kMargin; }
  double get(int64_t i) const;
  void set(int64_t i, double value);
  /// Small numbers, whole ones for integers; `positive`: at least 1.
  void fill(std::mt19937 &random, bool positive = false) {
    for (int64_t i = 0; i < count; ++i) {
      double value = static_cast<int>(random() % 17) - 8;
      if (positive || dtype == TINH_DTYPE_U8 || dtype == TINH_DTYPE_U16 ||
          dtype == TINH_DTYPE_U32 || dtype == TINH_DTYPE_U64)
        value = 1 + std::abs(value);
      if (isFloating(dtype))
        value += (random() % 16) / 16.0;
      set(i, dtype == TINH_DTYPE_BOOL ? random() % 2 : value);
    }
  }
  bool marginsAreWhole() const {
    auto isCanary = [](char c) { return c == kCanary; };
    return std::all_of(bytes.begin(), bytes.begin() + kMargin, isCanary) &&
           std::all_of(bytes.end() - kMargin, bytes.end(), isCanary);
  }

private:
  static constexpr int64_t kMargin = 256;
  static constexpr char kCanary = 0x5a;
  template <typename T> T load(int64_t i) const {
    T value;
    std::memcpy(&value, bytes.data() + kMargin + i * sizeof(T), sizeof(T));
    return value;
  }
  template <typename T> void store(int64_t i, T value) {
    std::memcpy(bytes.data() + kMargin + i * sizeof(T), &value, sizeof(T));
  }

  std::vector<char> bytes;
};

inline double Memory::get(int64_t i) const {
  switch (dtype) {
  case TINH_DTYPE_BOOL:
  case TINH_DTYPE_U8:
    return load<uint8_t>(i);
  case TINH_DTYPE_I8:
    return load<int8_t>(i);
  case TINH_DTYPE_I16:
    return load<int16_t>(i);
  case TINH_DTYPE_U16:
    return load<uint16_t>(i);
  case TINH_DTYPE_I32:
    return load<int32_t>(i);
  case TINH_DTYPE_U32:
    return load<uint32_t>(i);
  case TINH_DTYPE_I64:
    return static_cast<double>(load<int64_t>(i));
  case TINH_DTYPE_U64:
    return static_cast<double>(load<uint64_t>(i));
  case TINH_DTYPE_F16:
    return static_cast<double>(load<_Float16>(i));
  case TINH_DTYPE_BF16:
    return std::bit_cast<float>(static_cast<uint32_t>(load<uint16_t>(i)) << 16);
  case TINH_DTYPE_F32:
    return load<float>(i);
  case TINH_DTYPE_F64:
    return load<double>(i);
  }
  return 0;
}

inline void Memory::set(int64_t i, double value) {
  switch (dtype) {
  case TINH_DTYPE_BOOL:
  case TINH_DTYPE_I8:
  case TINH_DTYPE_U8:
    return store(i, static_cast<int8_t>(static_cast<int64_t>(value)));
  case TINH_DTYPE_I16:
  case TINH_DTYPE_U16:
    return store(i, static_cast<int16_t>(static_cast<int64_t>(value)));
  case TINH_DTYPE_I32:
  case TINH_DTYPE_U32:
    return store(i, static_cast<int32_t>(static_cast<int64_t>(value)));
  case TINH_DTYPE_I64:
  case TINH_DTYPE_U64:
    return store(i, static_cast<int64_t>(value));
  case TINH_DTYPE_F16:
    return store(i, static_cast<_Float16>(value));
  case TINH_DTYPE_BF16: // The numbers that tests use need no rounding.
    return store(i,
                 static_cast<uint16_t>(
                     std::bit_cast<uint32_t>(static_cast<float>(value)) >> 16));
  case TINH_DTYPE_F32:
    return store(i, static_cast<float>(value));
  case TINH_DTYPE_F64:
    return store(i, value);
  }
}

/// How far a result of `dtype` may be from `expected`.
inline double tolerance(tinh_dtype_t dtype, double expected) {
  double relative = dtype == TINH_DTYPE_BF16  ? 1e-2
                    : dtype == TINH_DTYPE_F16 ? 2e-3
                    : dtype == TINH_DTYPE_F32 ? 1e-5
                    : dtype == TINH_DTYPE_F64 ? 1e-9
                                              : 0;
  return relative * (1 + std::abs(expected));
}

} // namespace tinh::eager

#endif // TINH_TESTS_EAGER_KERNELS_KERNELSTESTING_H
