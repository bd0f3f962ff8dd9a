//===- BytecodeFuzzer.cpp - IR in phase plan, as bytecode -------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "CompileInput.h"

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  tinh::fuzz::compileInput({reinterpret_cast<const char *>(data), size},
                           ".mlirbc", tinh::Phase::Plan, tinh::Phase::Plan);
  return 0;
}
