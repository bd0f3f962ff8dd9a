//===- tinh/random.h - Random tensors ---------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random numbers come from a generator that the caller makes; there is no
// hidden one. They are those of Philox4x32-10 for its seed and counter, so that
// the same program gives the same numbers with any number of threads.
//
//   tinh::Generator generator(42);
//   tinh::Tensor w = tinh::normal({64, 10}, generator, 0, 0.02);
//
//===----------------------------------------------------------------------===//
#ifndef TINH_RANDOM_H
#define TINH_RANDOM_H

#include "tinh/tensor.h"

#include <memory>

namespace tinh {

/// Which numbers come next. A copy shares the counter. To be used by one thread
/// at a time.
class Generator {
public:
  struct State {
    uint64_t seed;
    uint64_t counter; ///< In blocks of 128 bits.
  };

  /// Generators of the same seed and counter give the same numbers.
  explicit Generator(uint64_t seed, uint64_t counter = 0)
      : owned(std::make_shared<State>(State{seed, counter})) {}

  uint64_t seed() const { return owned->seed; }
  uint64_t counter() const { return owned->counter; }
  const std::shared_ptr<State> &state() const { return owned; }

private:
  std::shared_ptr<State> owned;
};

/// Evenly in [low, high); floating-point.
Tensor uniform(const Shape &shape, const Generator &generator, double low = 0,
               double high = 1, DType dtype = float32, At at = At::current());
/// Floating-point.
Tensor normal(const Shape &shape, const Generator &generator, double mean = 0,
              double deviation = 1, DType dtype = float32,
              At at = At::current());
/// Integers in [low, high).
Tensor randint(int64_t low, int64_t high, const Shape &shape,
               const Generator &generator, DType dtype = int64,
               At at = At::current());
/// 1 with the given probability, else 0.
Tensor bernoulli(double probability, const Shape &shape,
                 const Generator &generator, DType dtype = boolean,
                 At at = At::current());
/// The numbers from 0 to count - 1, int64, in random order.
Tensor permutation(int64_t count, const Generator &generator,
                   At at = At::current());

/// Zeroes elements with the given probability and scales the others so that the
/// expected sum stays.
Tensor dropout(Operand x, double probability, const Generator &generator);

} // namespace tinh

#endif // TINH_RANDOM_H
