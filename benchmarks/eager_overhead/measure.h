//===- measure.h - Small operations, timed ----------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The same loops over tensors for each library. `Library` has
//   using Tensor = …;
//   Tensor ones(rows, columns);   f32
//   Tensor matmul(Tensor, Tensor);
//   void wait(Tensor);            until its elements are there
//
// Commands come from standard input: the number of a case. The answer is a line
// with the nanoseconds of an operation until the last one's elements are there,
// and of its call alone.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_BENCHMARKS_EAGER_OVERHEAD_MEASURE_H
#define TINH_BENCHMARKS_EAGER_OVERHEAD_MEASURE_H

#include <chrono>
#include <cstdint>
#include <iostream>

template <typename Library> class Benchmark {
  using Tensor = typename Library::Tensor;
  using Clock = std::chrono::steady_clock;

  /// `operation` is called `count` times, each time with the last result.
  template <typename Operation>
  void measure(Tensor x, int count, Operation operation) {
    Library::wait(x);
    auto start = Clock::now();
    for (int i = 0; i < count; ++i)
      x = operation(x);
    auto called = Clock::now();
    Library::wait(x);
    auto done = Clock::now();
    auto each = [&](Clock::time_point end) {
      return std::chrono::duration<double, std::nano>(end - start).count() /
             count;
    };
    std::cout << each(done) << ' ' << each(called) << std::endl;
  }

  void run(int number) {
    Tensor ten = Library::ones(1, 10), square = Library::ones(16, 16),
           large = Library::ones(1000, 1000);
    switch (number) {
    case 0: // x = x + 1
      return measure(ten, 1000, [](const Tensor &x) { return x + 1; });
    case 1: // y = x + 1
      return measure(ten, 1000, [&](const Tensor &) { return ten + 1; });
    case 2: // x += 1
      return measure(ten, 1000, [](Tensor &x) {
        x += 1;
        return x;
      });
    case 3: // x = x + y
      return measure(ten, 1000, [&](const Tensor &x) { return x + ten; });
    case 4: // x = matmul(x, w), 16 x 16
      return measure(square, 1000, [&](const Tensor &x) {
        return Library::matmul(x, square);
      });
    case 5: // x = x + 1, and its elements
      return measure(ten, 1000, [](const Tensor &x) {
        Tensor y = x + 1;
        Library::wait(y);
        return y;
      });
    case 6: // x = x + 1, a million elements
      return measure(large, 50, [](const Tensor &x) { return x + 1; });
    case 7: // x = matmul(x, w), 1000 x 1000
      return measure(large, 10, [&](const Tensor &x) {
        return Library::matmul(x, large);
      });
    default:
      std::cout << "no such case" << std::endl;
    }
  }

public:
  void serve() {
    for (int number; std::cin >> number;)
      run(number);
  }
};

#endif // TINH_BENCHMARKS_EAGER_OVERHEAD_MEASURE_H
