//===- pytorch.cpp - The overhead of PyTorch's tensors, without Python ----===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   pytorch-overhead THREADS
//
// Built by eager_overhead.py against the PyTorch that Python finds.
//
//===----------------------------------------------------------------------===//
#include "measure.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>

#include <cstdlib>

namespace {

struct PyTorch {
  using Tensor = at::Tensor;
  static Tensor ones(int64_t rows, int64_t columns) {
    return at::ones({rows, columns});
  }
  static Tensor matmul(const Tensor &a, const Tensor &b) {
    return at::matmul(a, b);
  }
  static void wait(const Tensor &) {} // It is done when the call returns.
};

} // namespace

int main(int argc, char **argv) {
  c10::InferenceMode noGradients;
  at::set_num_threads(argc > 1 ? std::atoi(argv[1]) : 1);
  Benchmark<PyTorch>().serve();
}
