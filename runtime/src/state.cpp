//===- state.cpp - The variables of a context -------------------*- C++ -*-===//
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
#include "state.h"

#include <cstring>

namespace tinh::runtime {

State::State(const Module &module)
    : module(module),
      memory(MappedMemory::anonymous(module.artifact().state_size)) {}

char *State::variable(uint32_t index) {
  std::call_once(initialised, [&] { reset(); });
  return memory.data() + module.artifact().variables[index].offset;
}

void State::reset() {
  const tinh_artifact_t &artifact = module.artifact();
  for (uint32_t i = 0; i < artifact.num_variables; ++i) {
    const tinh_variable_desc_t &variable = artifact.variables[i];
    char *to = memory.data() + variable.offset;
    if (variable.size == 0)
      continue;
    if (variable.initial_offset == TINH_INITIALLY_ZERO)
      std::memset(to, 0, variable.size);
    else
      std::memcpy(to, module.weights() + variable.initial_offset,
                  variable.size);
  }
}

} // namespace tinh::runtime
