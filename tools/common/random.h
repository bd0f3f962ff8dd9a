//===- random.h - Random numbers from a seed --------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// SplitMix64: the same numbers on every machine, which <random>'s distributions
// do not promise.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TOOLS_RANDOM_H
#define TINH_TOOLS_RANDOM_H

#include <cmath>
#include <cstdint>
#include <string>

namespace tinh::tools {

class Random {
public:
  explicit Random(const std::string &seed) {
    for (char c : seed) // FNV-1a
      state = (state ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  }

  uint64_t next() {
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
  }

  /// Less than `end`; as good as even for any number of samples.
  uint64_t below(uint64_t end) { return next() % end; }

  /// Box-Muller; one of the two values.
  double normal() {
    double u = (double(next() >> 11) + 1) * 0x1p-53;
    double v = double(next() >> 11) * 0x1p-53;
    return std::sqrt(-2 * std::log(u)) * std::cos(6.283185307179586 * v);
  }

private:
  uint64_t state = 0xcbf29ce484222325u;
};

} // namespace tinh::tools

#endif // TINH_TOOLS_RANDOM_H
