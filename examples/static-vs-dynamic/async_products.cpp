//===- async_products.cpp - Calls return before their results are there *- C++
//-*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   async_products [--small]
//
// Ten matmuls of random 1000 × 1000 matrices: when the calls have returned,
// and when the results are there. The synchronous engine returns from a call
// when the product has been computed.
//
//===----------------------------------------------------------------------===//
#include "experiment.h"
#include "tinh/engine.h"
#include "tinh/tensor.h"

using tinh::Tensor;

int main(int argc, char **argv) {
  bool small = hasOption(argc, argv, "--small");
  int64_t size = small ? 64 : 1000;
  constexpr int kProducts = 10;
  tinh::Generator generator(1);
  Tensor a = tinh::normal({size, size}, generator);
  Tensor b = tinh::normal({size, size}, generator);

  std::printf("%d matmuls of %lld x %lld matrices, ms\n", kProducts,
              static_cast<long long>(size), static_cast<long long>(size));
  Table table({"engine", "calls return", "results are there"});
  for (bool asynchronous : {false, true}) {
    tinh::EngineOptions options;
    options.mode = asynchronous ? tinh::EngineMode::Asynchronous
                                : tinh::EngineMode::Synchronous;
    tinh::configure(options);
    std::vector<double> returned, done;
    for (int repetition = 0; repetition < (small ? 2 : 6); ++repetition) {
      std::vector<Tensor> products;
      Stopwatch watch;
      for (int i = 0; i < kProducts; ++i)
        products.push_back(matmul(a, b));
      double atReturn = watch.ms();
      tinh::wait_all();
      if (repetition == 0)
        continue; // Kernels are compiled, memory is touched.
      returned.push_back(atReturn);
      done.push_back(watch.ms());
    }
    table.row(asynchronous ? "asynchronous" : "synchronous",
              {median(returned), median(done)});
  }
}
