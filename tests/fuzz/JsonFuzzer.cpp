//===- JsonFuzzer.cpp - JSON graphs -----------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "CompileInput.h"
#include "mutation.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  tinh::fuzz::compileInput({reinterpret_cast<const char *>(data), size},
                           ".json", tinh::Phase::Graph, tinh::Phase::Plan);
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size,
                                          size_t max_size, unsigned seed) {
  tinh::fuzz::Random random(seed);
  std::string text(reinterpret_cast<const char *>(data), size);
  if (random.one_in(10) || !tinh::fuzz::mutate_json(text, random))
    return LLVMFuzzerMutate(data, size, max_size);
  return tinh::fuzz::give(text, data, size, max_size);
}
