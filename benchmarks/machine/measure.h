//===- measure.h - What is measured, and in which cycles --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A measurement repeats a loop, and before each repetition a chain of additions
// that takes a cycle each: the core's clock then is what the loop's time is
// divided by, whatever frequency the machine chooses.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_BENCHMARKS_MACHINE_MEASURE_H
#define TINH_BENCHMARKS_MACHINE_MEASURE_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace machine {

/// One of the numbers that a machine model has.
struct Figure {
  std::string name;
  double median;
  /// What the best repetition gave, which others on the machine disturb least.
  double best;
  std::string unit;
};

using Figures = std::vector<Figure>;

/// How often, and how long, loops are repeated.
struct Effort {
  int repetitions = 41;
  /// Iterations and bytes are multiplied by it; one or less.
  double scale = 1;
  uint64_t times(double count) const {
    return count * scale < 1 ? 1 : uint64_t(count * scale);
  }
};

/// What a loop took.
struct Time {
  double median_cycles, best_cycles, median_ns, best_ns;
};

Time measure(const Effort &effort, const std::function<void()> &loop);

/// `items` things within the time: how many in a cycle.
Figure per_cycle(std::string name, double items, const Time &time,
                 std::string unit);
/// How many cycles each of `items` took.
Figure cycles_each(std::string name, double items, const Time &time);
/// How often as long `slow` takes as `fast`.
Figure ratio(std::string name, const Time &slow, const Time &fast);
/// A number that is known and not measured.
Figure known(std::string name, double value, std::string unit);

/// Lets each place hold the address of the next, in an order that nothing
/// foresees. Returns one of them.
const char *link_at_random(const std::vector<char *> &places);
/// Goes from place to place, `count` times.
Time follow(const Effort &effort, const char *at, uint64_t count);

/// Nanoseconds since some start.
double now_ns();
/// A chain of `count` additions, each of which waits for the one before.
void chain_of_additions(uint64_t count);
/// Keeps the calling thread on one of the CPUs that the process may use,
/// counted from 0. Returns whether there are that many.
bool pin_thread(unsigned cpu);
/// How many these are.
unsigned usable_cpus();

/// Memory of whole pages, all of which are there. Without `huge`, its pages are
/// the small ones.
class Memory {
public:
  explicit Memory(size_t bytes, bool huge = true);
  ~Memory();
  Memory(const Memory &) = delete;
  Memory &operator=(const Memory &) = delete;
  /// At the start of a huge page.
  char *data() const { return data_; }

private:
  void *map_;
  size_t mapped_;
  char *data_;
};

} // namespace machine

#endif // TINH_BENCHMARKS_MACHINE_MEASURE_H
