//===- options.h - What the command line asks for ---------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_GRAPH_RUN_OPTIONS_H
#define TINH_GRAPH_RUN_OPTIONS_H

#include "tinh/runtime.hpp"
#include "train_options.h"

#include <string>
#include <vector>

namespace tinh::tools {

struct RunOptions {
  std::string artifact;
  std::string function = "main";
  std::vector<std::string> inputs;
  std::string other_inputs; ///< "random", "zeros", a folder or an .npz file.
  std::string output_dir;
  std::string trace;
  std::string load_weights, load_state, save_state;
  std::string check_numerics; ///< "nan", "all", or nothing.
  uint32_t runs = 1;          ///< 0: as many as a profile needs.
  uint32_t warmup = 0;
  uint32_t in_flight = 1;
  ContextOptions of_context; ///< Its threads, its device and its ranks.
  double timeout = 0;        ///< Of ranks, in seconds; 0: the usual one.
  bool list = false;
  bool verify_weights = false;
  bool train = false;
  bool percentiles = false;
  bool json = false;
  /// "time", "steps", "kernels", a page's file, or nothing.
  std::string profile;
  std::string report; ///< The page that the profile's is to have, too.
  TrainOptions training;
  /// Of the context that runs.
  ContextOptions context() const {
    ContextOptions wanted = of_context;
    if (!train)
      wanted.max_in_flight = in_flight;
    if (!check_numerics.empty())
      wanted.check_numerics = check_numerics == "nan"
                                  ? TINH_CHECK_NANS
                                  : TINH_CHECK_NANS_AND_INFINITIES;
    if (!trace.empty())
      wanted.trace_path = trace.c_str();
    wanted.measure_steps = !profile.empty();
    return wanted;
  }
};

} // namespace tinh::tools

#endif // TINH_GRAPH_RUN_OPTIONS_H
