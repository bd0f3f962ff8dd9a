//===- train_options.h - How an artifact is trained -------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TOOLS_TRAIN_OPTIONS_H
#define TINH_TOOLS_TRAIN_OPTIONS_H

#include <cstdint>
#include <optional>
#include <string>

namespace tinh::tools {

struct TrainOptions {
  std::string data, validation; ///< Files, with commas between them.
  uint64_t epochs = 1;
  std::optional<uint64_t> batch; ///< What the user believes it to be.
  std::optional<uint64_t> shuffle;
  std::optional<uint64_t> seed; ///< Of the model's random numbers.
  std::string checkpoint;
  uint64_t checkpoint_steps = 0; ///< 0: after each epoch alone.
  bool resume = false;
};

} // namespace tinh::tools

#endif // TINH_TOOLS_TRAIN_OPTIONS_H
