//===- write_events.cpp - Writes the logs that events_test.py reads -------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// usage: write_events DIRECTORY MODEL.json
//
//===----------------------------------------------------------------------===//
#include "tinh/summary_writer.h"

#include <iostream>

int main(int argc, char **argv) {
  if (argc != 3)
    return 2;
  try {
    tinh::SummaryWriter writer(argv[1]);
    for (int64_t step = 0; step < 3; ++step) {
      writer.add_scalar("loss", 1.0 / static_cast<double>(step + 1), step);
      writer.add_scalar("metrics/accuracy", 0.25 * static_cast<double>(step),
                        step);
    }
    writer.add_histogram("weights", tinh::arange(100).to(tinh::float32) - 50.5,
                         2);
    writer.add_graph(argv[2]);
    writer.flush();
    std::cout << writer.path() << '\n';
  } catch (const tinh::Error &error) {
    std::cerr << "error: " << error.what() << '\n';
    return 1;
  }
  return 0;
}
