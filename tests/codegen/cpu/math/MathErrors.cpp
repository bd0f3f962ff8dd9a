//===- MathErrors.cpp - The errors of all functions -------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// math-errors [--cpu CPU] [--stride N] [--time] [FUNCTION ...]
//
// Prints the greatest error of each function over all floats, in units in the
// last place, and where it is; of pow, over a thousand million pairs. With
// --stride only each Nth float, or pair. Fails if one is greater than the
// function allows. With
// --time, elements in a nanosecond instead.
//
//===----------------------------------------------------------------------===//
#include "MathKernel.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <random>
#include <span>
#include <thread>

using namespace tinh;
using namespace tinh::tests;

namespace {

struct Arguments {
  std::string cpu = "native";
  uint64_t stride = 1;
  bool time = false;
  std::vector<std::string> functions;
};

constexpr uint64_t kFloats = uint64_t{1} << 32, kPairs = 1000000000;
constexpr uint64_t kBlock = uint64_t{1} << 20;

} // namespace

static Arguments parse(int argc, char **argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    if (argument == "--cpu" && i + 1 < argc)
      arguments.cpu = argv[++i];
    else if (argument == "--stride" && i + 1 < argc)
      arguments.stride = std::max(1ull, std::strtoull(argv[++i], nullptr, 10));
    else if (argument == "--time")
      arguments.time = true;
    else
      arguments.functions.push_back(argument);
  }
  return arguments;
}

/// The kernels of a function: accurate, and fast.
using Kernels = std::span<const MathKernel>;

/// Floats number `start` and so on.
static std::vector<WorstError> errorsOfBlock(Kernels kernels, uint64_t start,
                                             uint64_t stride) {
  std::vector<float> x;
  for (uint64_t i = start; i < start + kBlock; i += stride)
    x.push_back(std::bit_cast<float>(static_cast<uint32_t>(i)));
  return errorsOf(kernels, x, {});
}

/// A third each are any bits, powers that are finite, and bases near 1 with
/// what makes them large.
static void addPair(std::mt19937_64 &random, std::vector<float> &x,
                    std::vector<float> &y) {
  uint64_t bits = random();
  auto any = std::bit_cast<float>(static_cast<uint32_t>(bits));
  std::uniform_real_distribution<double> power(-150, 130), near(-1e-3, 1e-3);
  switch (random() % 3) {
  case 0:
    x.push_back(any);
    y.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits >> 32)));
    return;
  case 1:
    x.push_back(std::fabs(any));
    break;
  default:
    x.push_back(static_cast<float>(1 + near(random)));
  }
  y.push_back(static_cast<float>(power(random) / std::log2(x.back())));
}

static std::vector<WorstError> errorsOfPairs(Kernels kernels, uint64_t start,
                                             uint64_t stride) {
  std::mt19937_64 random(start);
  std::vector<float> x, y;
  for (uint64_t i = 0; i < kBlock / stride; ++i)
    addPair(random, x, y);
  return errorsOf(kernels, x, y);
}

/// On all CPUs.
static std::vector<WorstError> errorsOf(Kernels kernels, uint64_t stride) {
  bool hasTwo = kernels[0].function.of2;
  uint64_t end = hasTwo ? kPairs : kFloats;
  std::atomic<uint64_t> next = 0;
  std::vector<WorstError> worst(kernels.size());
  std::mutex mutex;
  auto work = [&] {
    for (uint64_t i; (i = next.fetch_add(kBlock)) < end;) {
      std::vector<WorstError> found = hasTwo
                                          ? errorsOfPairs(kernels, i, stride)
                                          : errorsOfBlock(kernels, i, stride);
      std::lock_guard lock(mutex);
      for (size_t k = 0; k < found.size(); ++k)
        worst[k].add(found[k]);
    }
  };
  std::vector<std::thread> threads(std::thread::hardware_concurrency());
  for (std::thread &thread : threads)
    thread = std::thread(work);
  for (std::thread &thread : threads)
    thread.join();
  return worst;
}

/// Elements in a nanosecond: the best of some runs on what fits the caches.
static double rateOf(const MathKernel &kernel) {
  using Clock = std::chrono::steady_clock;
  std::vector<float> x(MathKernel::kSize), y(x), results(x);
  std::mt19937 random(1);
  std::uniform_real_distribution<float> number(0.01f, 8);
  for (float &e : x)
    e = number(random);
  for (float &e : y)
    e = number(random);
  double best = 0;
  for (int i = 0; i < 300; ++i) {
    auto start = Clock::now();
    kernel.run(x.data(), y.data(), results.data());
    std::chrono::duration<double, std::nano> time = Clock::now() - start;
    best = std::max(best, MathKernel::kSize / time.count());
  }
  return best;
}

static const char *qualityOf(const MathKernel &kernel) {
  return kernel.isFast ? "fast" : "accurate";
}

static void printRate(const MathKernel &kernel) {
  std::printf("%-8s %-9s %6.2f\n", kernel.function.name.c_str(),
              qualityOf(kernel), rateOf(kernel));
}

/// Whether it is as exact as it has to be.
static bool report(const MathKernel &kernel, const WorstError &worst) {
  const MathFunction &function = kernel.function;
  double allowed = kernel.isFast ? function.fast : function.accurate;
  std::printf("%-8s %-9s %8.3f ulp of %g allowed: x = %a, y = %a, %a instead "
              "of %a\n",
              function.name.c_str(), qualityOf(kernel), worst.ulps, allowed,
              worst.x, worst.y, worst.result, worst.expected);
  std::fflush(stdout);
  return worst.ulps <= allowed;
}

static bool tryFunction(Kernels kernels, const Arguments &arguments) {
  if (arguments.time) {
    std::ranges::for_each(kernels, printRate);
    return true;
  }
  std::vector<WorstError> worst = errorsOf(kernels, arguments.stride);
  bool isRight = true;
  for (size_t k = 0; k < kernels.size(); ++k)
    isRight &= report(kernels[k], worst[k]);
  return isRight;
}

int main(int argc, char **argv) {
  Arguments arguments = parse(argc, argv);
  eager::Jit jit(arguments.cpu, "");
  bool isRight = true;
  for (const MathFunction &function : mathFunctions()) {
    const auto &names = arguments.functions;
    if (!names.empty() &&
        std::ranges::find(names, function.name) == names.end())
      continue;
    const MathKernel kernels[] = {{jit, function, false},
                                  {jit, function, true}};
    isRight &= tryFunction(kernels, arguments);
  }
  return isRight ? 0 : 1;
}
