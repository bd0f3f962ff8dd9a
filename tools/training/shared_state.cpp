//===- shared_state.cpp - Variables that ranks have in common ---*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See the header.
//
//===----------------------------------------------------------------------===//
#include "shared_state.h"

#include "inputs.h"

#include <cstring>
#include <string_view>

namespace tinh::tools {

/// What seeds of neighbouring ranks differ by: an odd number whose multiples
/// are far from each other (2 to the 64th, divided by the golden ratio).
static constexpr uint64_t kSeedDistance = 0x9e3779b97f4a7c15;

void compare_variables(const Module &module, const Ranks &ranks) {
  std::string text = module.info().model;
  for (uint32_t v = 0; v < module.info().num_variables; ++v) {
    tinh_variable_info_t variable = module.variable_info(v);
    text +=
        std::string("\n") + variable.type.name + ' ' + type_text(variable.type);
  }
  ranks.compare("artifact", text);
}

static void share_variable(const Module &module, const Context &context,
                           const Ranks &ranks, uint32_t index) {
  tinh_variable_info_t variable = module.variable_info(index);
  std::vector<char> value(variable.type.size);
  if (ranks.is_first())
    context.read_variable(index, buffer(value));
  ranks.broadcast(buffer(value));
  if (ranks.is_first())
    return;
  uint64_t seed;
  if (std::string_view(variable.type.name) == kGenerator &&
      value.size() >= sizeof seed) {
    std::memcpy(&seed, value.data(), sizeof seed);
    seed += ranks.rank() * kSeedDistance;
    std::memcpy(value.data(), &seed, sizeof seed);
  }
  context.write_variable(index, buffer(value));
}

void share_state(const Module &module, const Context &context,
                 const Ranks &ranks) {
  if (!ranks.are_many())
    return;
  for (uint32_t v = 0; v < module.info().num_variables; ++v)
    share_variable(module, context, ranks, v);
}

/// What a step changes beside parameters and what belongs to their updates,
/// which are the same on all ranks.
static bool is_statistic(const tinh_variable_info_t &variable) {
  std::string_view name = variable.type.name;
  return !variable.trainable && name != kGenerator &&
         !name.starts_with("optimizer.") && !name.starts_with("loss_scale");
}

void share_statistics(const Module &module, const Context &context,
                      const Ranks &ranks) {
  if (!ranks.are_many())
    return;
  for (uint32_t v = 0; v < module.info().num_variables; ++v)
    if (is_statistic(module.variable_info(v)))
      share_variable(module, context, ranks, v);
}

} // namespace tinh::tools
