//===- queue.cpp - The overhead of the engine alone
//------------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   engine-overhead WORKERS
//
// Operations that add 1 to ten numbers, without tensors and kernels, and not
// said to be quick, so that workers run them. Prints nanoseconds an operation,
// medians of 300 rounds.
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Engine/Engine.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

using namespace tinh;
using namespace tinh::eager;

namespace {

constexpr int kOperations = 1000, kRounds = 300, kNumbers = 10;

struct AddOne {
  Storage *from, *to;
  uint32_t numChunks() const { return 1; }
  void run(uint32_t, uint32_t, Worker &) {
    auto *x = static_cast<const float *>(from->data());
    auto *y = static_cast<float *>(to->data());
    for (int i = 0; i < kNumbers; ++i)
      y[i] = x[i] + 1;
  }
};

Ref<Storage> addOne(Storage &x) {
  Ref<Storage> y = Storage::create(kNumbers * sizeof(float));
  Engine::get().emplace<AddOne>({"add", std::source_location::current()},
                                std::array{&x}, std::array{y.get()}, &x,
                                y.get());
  return y;
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + kRounds / 2, values.end());
  return values[kRounds / 2];
}

/// A round of `next(x)`, and then a wait for the last result.
template <typename Next> void measure(const char *what, Next next) {
  using Clock = std::chrono::steady_clock;
  auto each = [](Clock::duration time) {
    return std::chrono::duration<double, std::nano>(time).count() / kOperations;
  };
  std::vector<double> totals, calls;
  for (int round = 0; round < kRounds; ++round) {
    Ref<Storage> x = Storage::allocate(kNumbers * sizeof(float));
    std::fill_n(static_cast<float *>(x->data()), kNumbers, 0.0f);
    auto start = Clock::now();
    for (int i = 0; i < kOperations; ++i)
      x = next(x);
    auto called = Clock::now();
    Engine::get().waitToRead(*x);
    totals.push_back(each(Clock::now() - start));
    calls.push_back(each(called - start));
  }
  std::printf("%-12s %5.0f, of which the caller %5.0f\n", what, median(totals),
              median(calls));
}

} // namespace

int main(int argc, char **argv) {
  EngineOptions options;
  options.workers = argc > 1 ? static_cast<uint32_t>(std::atoi(argv[1])) : 1;
  configure(options);
  measure("dependent", [](Ref<Storage> x) { return addOne(*x); });
  Ref<Storage> source = Storage::allocate(kNumbers * sizeof(float));
  std::fill_n(static_cast<float *>(source->data()), kNumbers, 0.0f);
  measure("independent", [&](const Ref<Storage> &) { return addOne(*source); });
  measure("waited for", [](Ref<Storage> x) {
    Ref<Storage> y = addOne(*x);
    Engine::get().waitToRead(*y);
    return y;
  });
}
