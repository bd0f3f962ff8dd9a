//===- executor_profile.cpp - Profiles of a context's runs ------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Profiles are made when they are asked for, while nothing runs, and kept until
// there have been more runs: programs ask for one step after the other.
//
//===----------------------------------------------------------------------===//
#include "executor.h"

namespace tinh::runtime {

void Executor::require_measured() const {
  if (!options.measure_steps)
    throw_error(TINH_INVALID_ARGUMENT,
                {"the context measures no steps; set measure_steps in its "
                 "options"});
}

std::shared_ptr<const Profile> Executor::profile(uint32_t function) {
  require_measured();
  module().function(function); // Throws if there is none.
  std::shared_ptr<const Profile> result;
  with_state([&](State &) {
    if (std::exchange(profiled_runs, num_started) != num_started)
      profiles.clear();
    std::shared_ptr<const Profile> &known = profiles[function];
    if (!known)
      known = std::make_shared<const Profile>(
          module().artifact(), programs[function], *trace, first_profiled);
    result = known;
  });
  return result;
}

void Executor::reset_profile() {
  require_measured();
  with_state([&](State &) {
    first_profiled = num_started;
    profiles.clear();
    trace->forget();
  });
}

} // namespace tinh::runtime
