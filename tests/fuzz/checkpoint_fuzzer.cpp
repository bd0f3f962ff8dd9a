//===- checkpoint_fuzzer.cpp - Files of a training's state ------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An input is the header of a file, whose tensors are zeros: those of the
// module take half a megabyte.
//
//===----------------------------------------------------------------------===//
#include "mutation.h"
#include "temporary_file.h"

#include "tinh/runtime.hpp"
#include "toy.h"

static size_t size_of_state(const tinh::Module &module) {
  size_t size = 0;
  for (uint32_t i = 0; i < module.info().num_variables; ++i)
    size += module.variable_info(i).type.size;
  return size;
}

/// What is accepted is read into the variables of a module.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const Toy toy({}, false, TRAINER_ARTIFACT);
  static const tinh::Module module(toy.path());
  static const tinh::Context context(module);
  tinh::fuzz::TemporaryFile file(data, size, size_of_state(module));
  try {
    context.load_state(file.path());
  } catch (const tinh::Error &) {
  }
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size,
                                          size_t max_size, unsigned seed) {
  return tinh::fuzz::mutate_safetensors(data, size, max_size, seed);
}
