//===- bandwidth.cpp - Loads, stores, caches, memory ----------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "figures.h"

#include <algorithm>

namespace machine {

namespace {

/// A part of a cache that is filled, in whole steps of the loops.
size_t part(size_t cache, double share) {
  return std::max<size_t>(size_t(double(cache) * share) / 4096 * 4096, 4096);
}

/// What is read for a figure: enough to be measured, at most what is there.
constexpr double kBytesRead = 4e6;

} // namespace

Figures load_figures(const Effort &effort, const Cpu &cpu,
                     const Vectors &vectors) {
  const size_t size = part(cpu.l1, 0.5);
  Memory memory(size);
  const uint64_t count = effort.times(kBytesRead / double(size));
  const double steps = double(size * count) / double(vectors.bytes);
  std::string name = vectors.name;
  Figures figures;
  auto add = [&](const char *what, double items, auto loop) {
    figures.push_back(
        per_cycle(what + name, items, measure(effort, loop), "a cycle"));
  };
  char *data = memory.data();
  add("loads.", steps, [&] { vectors.read(data, size, count); });
  add("stores.", steps, [&] { vectors.write(data, size, count); });
  const uint64_t fewer = std::max<uint64_t>(count / 4, 1);
  add("broadcasts.", double(size * fewer) / 4,
      [&] { vectors.broadcast(data, size, fewer); });
  const uint64_t fmas = effort.times(20000);
  add("broadcasts+fma.", double(fmas) * vectors.chains,
      [&] { vectors.broadcast_fma(data, fmas); });
  return figures;
}

namespace {

/// Reads, writes and copies within `size` bytes.
void add_bandwidth(Figures &figures, const Effort &effort,
                   const Vectors &vectors, const std::string &level,
                   size_t size) {
  Memory memory(size);
  char *data = memory.data();
  const uint64_t count = effort.times(kBytesRead / double(size));
  const double bytes = double(size) * double(count);
  auto add = [&](const char *what, double moved, auto loop) {
    figures.push_back(
        per_cycle(level + what, moved, measure(effort, loop), "bytes a cycle"));
  };
  add(".read", bytes, [&] { vectors.read(data, size, count); });
  add(".write", bytes, [&] { vectors.write(data, size, count); });
  // Of what is read as of what is written to the other half.
  add(".copy", bytes,
      [&] { vectors.copy(data + size / 2, data, size / 2, count); });
}

} // namespace

Figures bandwidth_figures(const Effort &effort, const Cpu &cpu,
                          const Vectors &vectors) {
  Figures figures;
  add_bandwidth(figures, effort, vectors, "l1", part(cpu.l1, 0.5));
  if (cpu.l2)
    add_bandwidth(figures, effort, vectors, "l2", part(cpu.l2, 0.5));
  if (cpu.l3)
    add_bandwidth(figures, effort, vectors, "l3",
                  std::max(part(cpu.l3, 0.25), part(cpu.l2, 4)));
  size_t large = size_t(256e6 * std::max(effort.scale, 0.1)) / 4096 * 4096;
  Effort once = effort;
  once.repetitions = std::min(effort.repetitions, 9);
  add_bandwidth(figures, once, vectors, "memory", large);
  return figures;
}

Figures latency_figures(const Effort &effort, const Cpu &cpu) {
  Figures figures;
  auto add = [&](const char *name, size_t size) {
    Memory memory(size);
    std::vector<char *> lines;
    for (size_t at = 0; at < size; at += cpu.line)
      lines.push_back(memory.data() + at);
    const uint64_t count = effort.times(100000);
    Time time = follow(effort, link_at_random(lines), count);
    figures.push_back(cycles_each(name, double(count), time));
  };
  add("l1.latency", part(cpu.l1, 0.5));
  if (cpu.l2)
    add("l2.latency", part(cpu.l2, 0.5));
  if (cpu.l3)
    add("l3.latency", std::max(part(cpu.l3, 0.25), part(cpu.l2, 4)));
  add("memory.latency",
      size_t(256e6 * std::max(effort.scale, 0.1)) / 4096 * 4096);
  return figures;
}

} // namespace machine
