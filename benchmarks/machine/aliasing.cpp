//===- aliasing.cpp - Addresses a multiple of 4 KiB apart -----------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rows whose distance is a multiple of 4 KiB lie in the same set of the first
// cache, whose ways they use up; and a load that agrees with a store before it
// in the last 12 bits of its address may have to wait until that is found to be
// another one.
//
//===----------------------------------------------------------------------===//
#include "figures.h"

namespace machine {

Figures aliasing_figures(const Effort &effort, const Cpu &cpu,
                         const Vectors &vectors) {
  constexpr size_t kPage = 4096;
  Figures figures;
  Memory memory(32 * 5 * kPage);
  char *data = memory.data();
  auto rows = [&](size_t count, size_t stride) {
    const uint64_t times = effort.times(2000);
    // Of each row 512 bytes, again and again, as tiles of a product do.
    return measure(effort,
                   [=] { vectors.read_rows(data, stride, count, 512, times); });
  };
  for (size_t pages : {1, 4})
    for (size_t count : {8, 12, 16})
      figures.push_back(ratio("rows." + std::to_string(count) + ".apart." +
                                  std::to_string(pages * kPage),
                              rows(count, pages * kPage),
                              rows(count, pages * kPage + cpu.line)));
  auto behind = [&](size_t distance) {
    const uint64_t times = effort.times(2000);
    return measure(
        effort, [=] { vectors.write_and_read(data, distance, 2048, times); });
  };
  // Just behind what was written some steps ago, in another page.
  figures.push_back(ratio("store-to-load.4096", behind(kPage - cpu.line),
                          behind(kPage - cpu.line + 2048)));
  figures.push_back(
      ratio("store-to-load.same", behind(0), behind(kPage + 2048)));
  return figures;
}

} // namespace machine
