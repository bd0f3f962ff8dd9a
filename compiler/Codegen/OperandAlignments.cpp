//===- OperandAlignments.cpp - Where vectors can be loaded ------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/Passes.h"

#include "dialects/graph/Graph.h"
#include "dialects/plan/Plan.h"
#include "tinh/artifact.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tinh::codegen {

/// What the address of a buffer is a multiple of in all iterations of loops.
/// Buffers begin in their spaces, and these in memory, at such multiples.
static int64_t alignmentOf(plan::BufferAttr buffer) {
  uint64_t alignment = TINH_BUFFER_ALIGNMENT;
  if (buffer.getSpace() == plan::Space::Loop)
    alignment = sizeof(int64_t);
  alignment = llvm::MinAlign(alignment, buffer.getOffset());
  for (int64_t stride : buffer.getStrides())
    alignment = llvm::MinAlign(alignment, stride);
  return alignment;
}

void setAlignments(ModuleOp module) {
  SymbolTable symbols(module);
  llvm::MapVector<Operation *, SmallVector<int64_t>> found;
  for (auto function : module.getOps<plan::FunctionOp>())
    for (auto dispatch : function.getOps<plan::DispatchOp>()) {
      auto kernel = symbols.lookup<func::FuncOp>(dispatch.getKernel());
      if (!kernel || !graph::isOnCuda(kernel))
        continue;
      SmallVector<int64_t> alignments;
      for (auto buffer : llvm::concat<const Attribute>(dispatch.getReads(),
                                                       dispatch.getWrites()))
        alignments.push_back(alignmentOf(cast<plan::BufferAttr>(buffer)));
      auto [known, isNew] = found.insert({kernel, alignments});
      for (auto [all, one] : llvm::zip(known->second, alignments))
        all = std::min(all, one);
    }
  for (auto &[kernel, alignments] : found)
    kernel->setAttr(graph::names::kAlignments,
                    DenseI64ArrayAttr::get(module.getContext(), alignments));
}

} // namespace tinh::codegen
