//===- arithmetic.cpp - The clock, and multiply-adds ----------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "figures.h"

namespace machine {

Figures clock_figures(const Effort &effort) {
  const uint64_t count = 16 * effort.times(100000);
  Time time = measure(effort, [&] { chain_of_additions(count); });
  return {{"clock", double(count) / time.median_ns,
           double(count) / time.best_ns, "GHz"}};
}

Figures arithmetic_figures(const Effort &effort, const Vectors &vectors) {
  std::string name = std::string("fma.") + vectors.name;
  const uint64_t count = effort.times(20000);
  Time many = measure(effort, [&] { vectors.fma_throughput(count); });
  Time chain = measure(effort, [&] { vectors.fma_latency(count); });
  return {per_cycle(name + ".throughput", double(count) * vectors.chains, many,
                    "a cycle"),
          cycles_each(name + ".latency", double(count) * 8, chain)};
}

} // namespace machine
