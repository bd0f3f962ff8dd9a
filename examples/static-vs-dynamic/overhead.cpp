//===- overhead.cpp - What an operation costs beside its work ---*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   overhead [--small]
//
// A thousand times x + 1. An operation has three costs: t1 in the front end
// that queues it, t2 in the engine that runs it, t3 to hand the result back to
// the caller who waits. One after the other takes 1000 (t1 + t2 + t3), queued
// t1 + 1000 t2 + t3 (if t1 < t2), and until the calls return 1000 t1: from
// these three times follow the three costs. Operations that are quicker to run
// than to hand over run within the call: then t1 is all there is. The same
// thousand as one compiled function pays for one operation, and reads and
// writes each element once.
//
// Then, what waiting for too much costs: for all that is queued instead of the
// tensor that is needed, and for an element in each step.
//
//===----------------------------------------------------------------------===//
#include "experiment.h"
#include "tinh/engine.h"
#include "tinh/function.h"

using tinh::Tensor;

static constexpr int kSteps = 1000;

static Tensor addOnes(Tensor x) {
  for (int i = 0; i < kSteps; ++i)
    x = x + 1;
  return x;
}

static void setMode(tinh::EngineMode mode) {
  tinh::EngineOptions options;
  options.mode = mode;
  options.max_queued_operations = 0; // Calls are to return without waiting.
  options.max_queued_bytes = 0;
  tinh::configure(options);
}

/// The three costs at one size, in microseconds.
static void measure(Table &table, int64_t size, int repetitions) {
  Tensor x = tinh::zeros(size);
  setMode(tinh::EngineMode::Synchronous);
  double synchronous = medianOf(repetitions, [&] {
    Stopwatch watch;
    addOnes(x).wait_to_read();
    return watch.ms() * 1000;
  });
  setMode(tinh::EngineMode::Asynchronous);
  double returned = 0;
  double asynchronous = medianOf(repetitions, [&] {
    Stopwatch watch;
    Tensor y = addOnes(x);
    returned = watch.ms() * 1000;
    y.wait_to_read();
    return watch.ms() * 1000;
  });
  auto compiled = tinh::function("add_ones", addOnes);
  double graph = medianOf(repetitions, [&] {
    Stopwatch watch;
    compiled(x).wait_to_read();
    return watch.ms() * 1000;
  });
  double t1 = returned / kSteps;
  double t2 = (asynchronous - synchronous / kSteps) / (kSteps - 1);
  double t3 = synchronous / kSteps - t1 - t2;
  if (returned > 0.8 * asynchronous) // They ran within the calls.
    t2 = t3 = std::nan("");
  table.row("x of " + std::to_string(size) + " elements",
            {synchronous / kSteps, returned / kSteps, asynchronous / kSteps, t1,
             t2, t3, graph / kSteps});
}

/// Products of which only the first one is needed.
static void waitForOne(bool small) {
  int64_t size = small ? 64 : 500;
  Tensor a = tinh::ones({size, size});
  auto time = [&](bool all) {
    return medianOf(5, [&] {
      std::vector<Tensor> products;
      for (int i = 0; i < 10; ++i)
        products.push_back(matmul(a, a));
      Stopwatch watch;
      if (all)
        tinh::wait_all();
      else
        products[0].wait_to_read();
      double ms = watch.ms();
      tinh::wait_all();
      return ms;
    });
  };
  std::printf("\nThe first of ten matmuls is needed, ms\n");
  Table table({"", "until it is there"});
  table.row("wait_all()", {time(true)});
  table.row("wait_to_read()", {time(false)});
}

static void lookAtEach(bool small) {
  Tensor x = tinh::zeros(small ? 100 : 100000);
  auto time = [&](bool look) {
    return medianOf(5, [&] {
      double sum = 0;
      Stopwatch watch;
      Tensor y = x;
      for (int i = 0; i < kSteps; ++i) {
        y = y + 1;
        if (look)
          sum += y[0].item<float>();
      }
      y.wait_to_read();
      return sum < 0 ? sum : watch.ms();
    });
  };
  std::printf("\nA thousand times x + 1, looking at an element, ms\n");
  Table table({"", "in all"});
  table.row("item() in each step", {time(true)});
  table.row("not at all", {time(false)});
}

int main(int argc, char **argv) {
  bool small = hasOption(argc, argv, "--small");
  std::printf("A thousand times x + 1, microseconds for each\n");
  Table table({"", "synchronous", "calls return", "asynchronous",
               "t1 (front end)", "t2 (engine)", "t3 (hand back)", "compiled"});
  measure(table, 10, small ? 2 : 15);
  measure(table, small ? 1000 : 1000000, small ? 2 : 5);
  setMode(tinh::EngineMode::Asynchronous);
  waitForOne(small);
  lookAtEach(small);
}
