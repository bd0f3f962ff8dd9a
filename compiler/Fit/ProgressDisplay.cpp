//===- ProgressDisplay.cpp - Scores for people while training runs --------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Fit/ModelImpl.h"

#include <cstdio>
#include <unistd.h>

namespace tinh {

/// Seconds between updates of the bar, each of which waits for the engine.
static constexpr double kInterval = 0.2;
static constexpr int64_t kBarWidth = 20;

ProgressDisplay::ProgressDisplay(Verbosity verbosity) : verbosity(verbosity) {
  if (verbosity == Verbosity::Automatic)
    this->verbosity =
        ::isatty(STDOUT_FILENO) ? Verbosity::Bar : Verbosity::Lines;
}

static std::string format(const Scores &scores) {
  std::string text;
  for (const auto &[name, value] : scores) {
    char number[32];
    std::snprintf(number, sizeof number, "%.4g", value);
    text += "  " + name + " " + number;
  }
  return text;
}

static std::string epochText(int64_t epoch, int64_t epochs) {
  std::string all = std::to_string(epochs), one = std::to_string(epoch);
  return "epoch " +
         std::string(all.size() - std::min(all.size(), one.size()), ' ') + one +
         "/" + all;
}

void ProgressDisplay::resumed(const DataLoader::Position &position,
                              bool hasEnded) {
  if (verbosity == Verbosity::Silent)
    return;
  std::string batch =
      position.batch
          ? ", batch " + std::to_string(position.batch) + " of the next one"
          : "";
  std::printf("resumed after epoch %lld%s%s\n",
              static_cast<long long>(position.epoch), batch.c_str(),
              hasEnded ? ", where training has ended" : "");
  std::fflush(stdout);
}

void ProgressDisplay::compiling(int64_t epoch, int64_t epochs) {
  if (verbosity != Verbosity::Bar)
    return;
  std::printf("\r%s compiling the step\033[K",
              epochText(epoch, epochs).c_str());
  std::fflush(stdout);
}

void ProgressDisplay::batch(const Progress &progress, const ScoreSums &sums) {
  if (verbosity != Verbosity::Bar ||
      (progress.batch > 1 && progress.seconds < nextUpdate))
    return;
  nextUpdate = progress.seconds + kInterval;
  int64_t done = kBarWidth * progress.batch / progress.batches;
  std::string bar(static_cast<size_t>(done), '#');
  bar.resize(kBarWidth, '.');
  std::printf("\r%s [%s] %lld/%lld%s\033[K",
              epochText(progress.epoch + 1, progress.epochs).c_str(),
              bar.c_str(), static_cast<long long>(progress.batch),
              static_cast<long long>(progress.batches),
              format(sums.means()).c_str());
  std::fflush(stdout);
}

void ProgressDisplay::epoch(const Progress &progress) {
  nextUpdate = 0;
  if (verbosity == Verbosity::Silent)
    return;
  std::printf("%s%s  %.2f s%s\n", verbosity == Verbosity::Bar ? "\r\033[K" : "",
              epochText(progress.epoch, progress.epochs).c_str(),
              progress.seconds, format(progress.scores).c_str());
  std::fflush(stdout);
}

} // namespace tinh
