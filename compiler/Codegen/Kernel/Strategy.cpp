//===- Strategy.cpp - What a table of strategies is made of -----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/Kernel/Strategy.h"

#include "llvm/Support/Format.h"

using namespace mlir;

namespace tinh::codegen {

const Candidate *cheapest(ArrayRef<Considered> considered) {
  const Candidate *best = nullptr;
  for (const Considered &strategy : considered)
    for (const Candidate &candidate : strategy.candidates)
      if (!best || candidate.cost() < best->cost())
        best = &candidate;
  return best;
}

void remark(func::FuncOp kernel, ArrayRef<Considered> considered) {
  SmallVector<const Candidate *> candidates;
  for (const Considered &strategy : considered)
    for (const Candidate &candidate : strategy.candidates)
      candidates.push_back(&candidate);
  llvm::sort(candidates,
             [](auto *x, auto *y) { return x->cost() < y->cost(); });
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << "kernel '" << kernel.getName() << "'";
  for (const Candidate *candidate : candidates)
    stream << "\n  " << llvm::format("%12.0f", candidate->cycles)
           << " cycles + " << llvm::format("%.0f", candidate->idle) << "  "
           << candidate->plan;
  for (const Considered &strategy : considered)
    if (strategy.candidates.empty())
      stream << "\n             no " << strategy.strategy << ": it "
             << strategy.whyNot;
  kernel.emitRemark() << text;
}

} // namespace tinh::codegen
