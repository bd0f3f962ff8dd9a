//===- ContractionVectors.cpp - What products load and store ----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/Contraction/Contraction.h"
#include "compiler/Codegen/Kernel/LaneAnalysis.h"

#include "dialects/graph/Graph.h"

using namespace mlir;

namespace tinh::cuda {

//===----------------------------------------------------------------------===//
// Loads
//===----------------------------------------------------------------------===//

bool canLoad(const Product &p, const Factor &factor, int64_t lanes) {
  if (lanes == 1)
    return true;
  if (factor.width % lanes != 0)
    return false;
  LaneAnalysis analysis(p.kernel(), lanes);
  Indices dims(p.extents.size(), LaneAnalysis::same(kOfZero));
  for (const Loops *loops : {&p.batch, &p.depth, &factor.loops})
    for (unsigned loop : *loops)
      dims[loop] = LaneAnalysis::same();
  dims[(factor.alongDepth ? p.depth : factor.loops).back()] = analysis.along();
  return analysis.computes(factor.value, factor.map, dims);
}

int64_t loadWidth(const Product &p, const Factor &factor, int64_t elements,
                  int64_t threads) {
  // A vector must not leave threads without one.
  int64_t lanes =
      std::max<int64_t>(1, std::min(factor.width, elements / threads));
  return canLoad(p, factor, lanes) ? lanes : 1;
}

int64_t copyWidth(const Product &p, const Factor &factor, int64_t elements,
                  int64_t threads) {
  int64_t bytes = std::min(cuda::copyBytes(factor), kChunkBytes);
  return bytes ? bytes / bytesOf(p) : loadWidth(p, factor, elements, threads);
}

LogicalResult checkLoad(const Product &p, const Factor &factor, int64_t lanes,
                        int64_t lines, int64_t depth, int64_t threads,
                        EmitError error) {
  StringRef name = &factor == &p.left ? "rows" : "columns";
  if (lines * depth % (lanes * threads) != 0)
    return error() << "a step has " << lines * depth << " elements of the "
                   << name << "' factor, which " << threads
                   << " threads cannot share in vectors of " << lanes;
  if ((factor.alongDepth ? depth : lines) % lanes != 0)
    return error() << "vectors of " << lanes << " of the " << name
                   << "' factor would cross the end of a step";
  bool copied = cuda::copyBytes(factor) != 0 && factor.width % lanes == 0;
  if (copied || canLoad(p, factor, lanes))
    return success();
  return error()
         << "the " << name << "' factor cannot be loaded " << lanes
         << " elements at a time, where they lie or are computed so are "
         << factor.width << " at most";
}

//===----------------------------------------------------------------------===//
// Stores
//===----------------------------------------------------------------------===//

bool Product::hasColumnVectors(int64_t lanes) const {
  if (right.loops.empty())
    return lanes == 1;
  unsigned loop = right.loops.back();
  return (output.getDimPosition(output.getNumResults() - 1) == loop &&
          extents[loop] % lanes == 0) ||
         lanes == 1;
}

bool canStore(const Product &p, int64_t lanes) {
  if (lanes == 1 || !p.hasColumnVectors(lanes))
    return lanes == 1;
  LaneAnalysis analysis(p.kernel(), lanes);
  Indices dims(p.extents.size(), LaneAnalysis::same(kOfZero));
  for (const Loops *loops : {&p.batch, &p.left.loops, &p.right.loops})
    for (unsigned loop : *loops)
      dims[loop] = LaneAnalysis::same();
  dims[p.right.loops.back()] = analysis.along();
  auto at = analysis.apply(p.output, dims);
  analysis.registers[p.result] = analysis.inRegisters();
  return succeeded(at) && analysis.computesResults(indicesInResult(
                              analysis, p.op->getResult(0), p.result, *at));
}

int64_t exchangedLanes(func::FuncOp kernel, int64_t warpColumns,
                       function_ref<bool(int64_t)> fits) {
  constexpr int64_t kColumns = 8; // Of one product of a warp.
  int64_t bytes = 4;
  for (Type type : kernel.getResultTypes())
    bytes = std::min(bytes, graph::elementSize(getElementTypeOrSelf(type)));
  int64_t most =
      std::min(kChunkBytes / std::max<int64_t>(bytes, 2), warpColumns / 4);
  while (most > 2 && (!fits(most) || warpColumns / kColumns % (most / 2) != 0))
    most /= 2;
  return most;
}

} // namespace tinh::cuda
