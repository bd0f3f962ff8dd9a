//===- clock.cpp - How fast a core's clock runs -----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What counts cycles is not open to every program, and neither the nominal
// clock nor that of the time-stamp counter is the one that a core runs at. But
// an addition of one register to another takes one cycle on all cores, if it
// has to wait for the one before.
//
//===----------------------------------------------------------------------===//
#include "clock.h"

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace tinh::tools {

#if defined(__x86_64__)
#define TINH_ADDITION "add %1, %0\n\t"
#elif defined(__aarch64__)
#define TINH_ADDITION "add %0, %0, %1\n\t"
#endif

static constexpr uint64_t kRound = 100, kRounds = 4000;

/// Nanoseconds for kRounds times kRound additions, one after the other.
static double time_additions() {
#ifdef TINH_ADDITION
  auto begin = std::chrono::steady_clock::now();
  uint64_t sum = 0, number = 1;
  for (uint64_t round = 0; round < kRounds; ++round)
    asm volatile(".rept 100\n\t" TINH_ADDITION ".endr"
                 : "+r"(sum)
                 : "r"(number)
                 : "cc");
  auto end = std::chrono::steady_clock::now();
  return std::chrono::duration<double, std::nano>(end - begin).count();
#else
  return 0;
#endif
}

double measure_clock() {
  constexpr int kTries = 100;
  double best = time_additions();
  // Others may interrupt it, but nothing makes it faster.
  for (int i = 1; i < kTries && best > 0; ++i)
    best = std::min(best, time_additions());
  return best > 0 ? static_cast<double>(kRound * kRounds) / best : 0;
}

} // namespace tinh::tools
