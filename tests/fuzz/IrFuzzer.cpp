//===- IrFuzzer.cpp - IR of any phase, as text ------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An input begins with a line "// --from=PHASE"; without, it is in phase graph.
//
//===----------------------------------------------------------------------===//
#include "CompileInput.h"
#include "mutation.h"

using namespace tinh;

static Phase phaseOf(llvm::StringRef text) {
  llvm::StringRef name;
  if (text.consume_front("// --from="))
    name = text.take_until([](char c) { return c == '\n'; });
  Phase phase = parsePhase(name).value_or(Phase::Graph);
  return phase <= Phase::LLVM ? phase : Phase::Graph;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::StringRef text(reinterpret_cast<const char *>(data), size);
  Phase from = phaseOf(text);
  fuzz::compileInput(text, ".mlir", from, std::max(from, Phase::Plan));
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size,
                                          size_t max_size, unsigned seed) {
  fuzz::Random random(seed);
  if (random.one_in(10))
    return LLVMFuzzerMutate(data, size, max_size);
  std::string text(reinterpret_cast<const char *>(data), size);
  fuzz::mutate_ir(text, random);
  return fuzz::give(text, data, size, max_size);
}
