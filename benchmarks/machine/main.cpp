//===- main.cpp - machine: what a machine model has to know ---------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Measures the CPU that it runs on and prints a table in Markdown: a line for
// each number, by its name. Needs nothing but the CPU, and an hour of nobody
// else on it for numbers to be kept: `best` is what was seen when nothing
// disturbed.
//
//   machine [--quick]
//
//===----------------------------------------------------------------------===//
#include "figures.h"

#include <cmath>
#include <cstdio>
#include <cstring>

using namespace machine;

namespace {

void print(const Figures &figures) {
  for (const Figure &figure : figures) {
    int digits = std::fabs(figure.median) >= 100 ? 0 : 2;
    std::printf("| %s | %.*f | %.*f | %s |\n", figure.name.c_str(), digits,
                figure.median, digits, figure.best, figure.unit.c_str());
  }
  std::fflush(stdout);
}

void print_head(const Cpu &cpu) {
  std::printf("%s (%s, family %u, model %u), %u CPUs\n", cpu.name.c_str(),
              cpu.vendor.c_str(), cpu.family, cpu.model, usable_cpus());
  std::printf("vectors:%s%s%s%s%s%s\n\n", cpu.avx2 ? " AVX2" : "",
              cpu.avx512 ? " AVX-512" : "", cpu.avx512_vnni ? " VNNI" : "",
              cpu.avx512_bf16 ? " bf16" : "", cpu.avx_vnni ? " AVX-VNNI" : "",
              cpu.amx ? " AMX" : "");
  std::printf("| figure | median | best | unit |\n|---|---|---|---|\n");
}

/// The widths that the CPU has, the widest last.
std::vector<const Vectors *> widths(const Cpu &cpu) {
  std::vector<const Vectors *> found;
  if (cpu.avx2)
    found.push_back(&vectors_256);
  if (cpu.avx512)
    found.push_back(&vectors_512);
  return found;
}

} // namespace

int main(int argc, char **argv) {
  Effort effort;
  if (argc == 2 && std::strcmp(argv[1], "--quick") == 0)
    effort = {5, 0.02};
  else if (argc != 1) {
    std::fprintf(stderr, "usage: machine [--quick]\n");
    return 2;
  }
  const Cpu cpu = describe_cpu();
  const auto vectors = widths(cpu);
  if (vectors.empty() || cpu.l1 == 0) {
    std::fprintf(stderr,
                 "error: this CPU has no AVX2 with FMA, or does not say "
                 "how large its caches are\n");
    return 1;
  }
  print_head(cpu);
  pin_thread(0);
  print(clock_figures(effort));
  print({known("vector", double(vectors.back()->bytes), "bytes")});
  print(cache_figures(cpu));
  for (const Vectors *each : vectors) {
    print(arithmetic_figures(effort, *each));
    print(load_figures(effort, cpu, *each));
  }
  print(dot_product_figures(effort, cpu));
  print(bandwidth_figures(effort, cpu, *vectors.back()));
  print(latency_figures(effort, cpu));
  print(aliasing_figures(effort, cpu, *vectors.back()));
  print(page_figures(effort));
  print(thread_figures(effort, *vectors.back()));
  return 0;
}
