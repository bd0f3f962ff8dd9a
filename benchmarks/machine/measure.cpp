//===- measure.cpp - Repetitions, cycles, memory --------------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "measure.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <new>
#include <sched.h>
#include <sys/mman.h>

namespace machine {

double now_ns() {
  return std::chrono::duration<double, std::nano>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void chain_of_additions(uint64_t count) {
  // Enough of them that the loop around costs nothing.
  uint64_t sum = 0;
  for (uint64_t i = 0; i < count / 16; ++i)
    asm volatile("add %1, %0; add %1, %0; add %1, %0; add %1, %0;"
                 "add %1, %0; add %1, %0; add %1, %0; add %1, %0;"
                 "add %1, %0; add %1, %0; add %1, %0; add %1, %0;"
                 "add %1, %0; add %1, %0; add %1, %0; add %1, %0;"
                 : "+r"(sum)
                 : "r"(i));
}

namespace {

double median(std::vector<double> values) {
  auto middle = values.begin() + values.size() / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

} // namespace

Time measure(const Effort &effort, const std::function<void()> &loop) {
  const uint64_t additions = 16 * effort.times(4000);
  std::vector<double> clocks, times;
  loop(); // Caches, pages and the clock of wide vectors.
  for (int i = 0; i < effort.repetitions; ++i) {
    double start = now_ns();
    chain_of_additions(additions);
    double middle = now_ns();
    loop();
    double end = now_ns();
    clocks.push_back(double(additions) / (middle - start));
    times.push_back(end - middle);
  }
  // A chain that was interrupted says that the clock is slow.
  double clock = *std::max_element(clocks.begin(), clocks.end());
  double best = *std::min_element(times.begin(), times.end());
  double usual = median(times);
  return {usual * clock, best * clock, usual, best};
}

Figure per_cycle(std::string name, double items, const Time &time,
                 std::string unit) {
  return {std::move(name), items / time.median_cycles, items / time.best_cycles,
          std::move(unit)};
}

Figure cycles_each(std::string name, double items, const Time &time) {
  return {std::move(name), time.median_cycles / items, time.best_cycles / items,
          "cycles"};
}

Figure ratio(std::string name, const Time &slow, const Time &fast) {
  return {std::move(name), slow.median_cycles / fast.median_cycles,
          slow.best_cycles / fast.best_cycles, "times as long"};
}

Figure known(std::string name, double value, std::string unit) {
  return {std::move(name), value, value, std::move(unit)};
}

namespace {

/// Of the process: a thread's own set has one CPU once it is pinned, so this
/// has to be asked for before.
const cpu_set_t &usable_set() {
  static const cpu_set_t usable = [] {
    cpu_set_t set;
    CPU_ZERO(&set);
    sched_getaffinity(0, sizeof set, &set);
    return set;
  }();
  return usable;
}

} // namespace

unsigned usable_cpus() { return CPU_COUNT(&usable_set()); }

bool pin_thread(unsigned cpu) {
  for (int number = 0; number < CPU_SETSIZE; ++number) {
    if (!CPU_ISSET(number, &usable_set()) || cpu-- != 0)
      continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(number, &one);
    return sched_setaffinity(0, sizeof one, &one) == 0;
  }
  return false;
}

const char *link_at_random(const std::vector<char *> &places) {
  std::vector<char *> order = places;
  uint64_t random = 88172645463325252;
  for (size_t i = order.size() - 1; i > 0; --i) {
    random ^= random << 13, random ^= random >> 7, random ^= random << 17;
    std::swap(order[i], order[random % (i + 1)]);
  }
  for (size_t i = 0; i < order.size(); ++i)
    *reinterpret_cast<char **>(order[i]) = order[(i + 1) % order.size()];
  return order[0];
}

Time follow(const Effort &effort, const char *at, uint64_t count) {
  return measure(effort, [&] {
    for (uint64_t i = 0; i < count; ++i)
      at = *reinterpret_cast<const char *const volatile *>(at);
  });
}

Memory::Memory(size_t bytes, bool huge) {
  constexpr size_t huge_page = 2 << 20;
  // With room to begin where a huge page does.
  mapped_ = (bytes / huge_page + 2) * huge_page;
  map_ = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE,
              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (map_ == MAP_FAILED)
    throw std::bad_alloc();
  madvise(map_, mapped_, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  uintptr_t start = reinterpret_cast<uintptr_t>(map_);
  start = (start + huge_page - 1) / huge_page * huge_page;
  data_ = reinterpret_cast<char *>(start);
  std::memset(data_, 1, bytes);
}

Memory::~Memory() { munmap(map_, mapped_); }

} // namespace machine
