//===- tinh.cpp - The overhead of Tinh's tensors
//---------------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   eager-overhead asynchronous|synchronous WORKERS
//
//===----------------------------------------------------------------------===//
#include "measure.h"

#include "tinh/engine.h"
#include "tinh/tensor.h"

#include <cstdlib>
#include <string>

namespace {

struct Tinh {
  using Tensor = tinh::Tensor;
  static Tensor ones(int64_t rows, int64_t columns) {
    return tinh::ones({rows, columns});
  }
  static Tensor matmul(const Tensor &a, const Tensor &b) {
    return tinh::matmul(a, b);
  }
  static void wait(const Tensor &x) { x.wait_to_read(); }
};

} // namespace

int main(int argc, char **argv) {
  if (argc != 3) {
    std::cerr << "usage: eager-overhead asynchronous|synchronous WORKERS\n";
    return 2;
  }
  tinh::EngineOptions options;
  if (std::string(argv[1]) == "synchronous")
    options.mode = tinh::EngineMode::Synchronous;
  options.workers = static_cast<uint32_t>(std::atoi(argv[2]));
  tinh::configure(options);
  Benchmark<Tinh>().serve();
}
