//===- pages.cpp - What it costs to find pages ----------------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "figures.h"

namespace machine {

namespace {

/// Reads a line after the other, `stride` bytes apart in small pages, and such
/// that they lie in all sets of the caches.
Time read_lines(const Effort &effort, size_t lines, size_t stride,
                uint64_t count) {
  Memory memory(lines * stride, /*huge=*/false);
  std::vector<char *> places;
  for (size_t i = 0; i < lines; ++i)
    places.push_back(memory.data() + i * stride + i * 64 % stride);
  return follow(effort, link_at_random(places), count);
}

} // namespace

Figures page_figures(const Effort &effort) {
  Figures figures;
  // As many lines, each in a page of its own or packed: the rest is what it
  // takes to find the page.
  const uint64_t count = effort.times(50000);
  for (size_t pages : {32, 64, 128, 512, 1024, 2048, 4096, 8192}) {
    Time apart = read_lines(effort, pages, 4096, count),
         packed = read_lines(effort, pages, 64, count);
    figures.push_back(
        {"pages." + std::to_string(pages),
         (apart.median_cycles - packed.median_cycles) / double(count),
         (apart.best_cycles - packed.best_cycles) / double(count), "cycles"});
  }
  return figures;
}

} // namespace machine
