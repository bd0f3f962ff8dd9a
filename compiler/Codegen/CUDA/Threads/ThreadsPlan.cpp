//===- ThreadsPlan.cpp - Vectors of results for threads ---------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/Machine.h"
#include "compiler/Codegen/CUDA/Strategies.h"
#include "compiler/Codegen/CUDA/Threads/Threads.h"
#include "compiler/Codegen/CUDA/Transpose/Transpose.h"
#include "compiler/Codegen/CUDA/WorkAnalysis.h"
#include "compiler/Codegen/Kernel/LaneAnalysis.h"
#include "compiler/Codegen/Kernel/Work.h"

using namespace mlir;

namespace tinh::cuda {

Match<ThreadsKernel> ThreadsStrategy::match(func::FuncOp kernel) {
  ThreadsKernel threads{kernel, {}};
  for (auto [i, type] : llvm::enumerate(kernel.getResultTypes())) {
    auto shape = cast<RankedTensorType>(type).getShape();
    auto known = llvm::find_if(threads.groups, [&](const ResultGroup &group) {
      return ArrayRef(group.shape) == shape;
    });
    if (known == threads.groups.end()) {
      threads.groups.push_back({{}, SmallVector<int64_t>(shape)});
      known = std::prev(threads.groups.end());
    }
    known->results.push_back(i);
  }
  return threads;
}

/// Whether a thread can compute vectors of the group's results.
static bool takesVectors(func::FuncOp kernel, const ResultGroup &group,
                         int64_t lanes) {
  if (lanes == 1)
    return true;
  if (group.shape.empty() || group.shape.back() % lanes != 0)
    return false;
  LaneAnalysis analysis(kernel, lanes);
  int64_t rank = group.shape.size();
  Indices at = analysis.indicesAlong(rank, rank - 1);
  return llvm::all_of(group.results, [&](unsigned i) {
    return analysis.computes(returnedValues(kernel)[i], at);
  });
}

SmallVector<ThreadsPlanAttr>
ThreadsStrategy::plans(const ThreadsKernel &threads, const Target &target) {
  func::FuncOp kernel = threads.kernel;
  if (isForTiles(kernel, target))
    return {};
  int64_t widest = widestVector(kernel);
  auto lanes = llvm::map_to_vector(threads.groups, [&](auto &group) {
    return takesVectors(kernel, group, widest) ? widest : 1;
  });
  MLIRContext *context = kernel.getContext();
  return {ThreadsPlanAttr::get(context, DenseI64ArrayAttr::get(context, lanes),
                               kThreads)};
}

double ThreadsStrategy::cost(const ThreadsKernel &threads, ThreadsPlanAttr,
                             const Target &) {
  WorkAnalysis analysis(threads.kernel);
  double cache = analysis.cacheBytes();
  // What is turned is read by elements that lie apart.
  if (auto transpose = TransposeStrategy::match(threads.kernel))
    cache *= guess::kSector / 4.0;
  return cyclesOf({operandBytes(threads.kernel), cache,
                   guess::kLoad * std::max(1.0, analysis.loads())},
                  plannedMachine());
}

FailureOr<Divided<ThreadsPlanAttr>>
ThreadsStrategy::expand(const ThreadsKernel &threads, ThreadsPlanAttr plan,
                        const Target &target, EmitError error) {
  ArrayRef<int64_t> lanes = plan.getLanes();
  if (lanes.size() != threads.groups.size())
    return error() << "its results have " << threads.groups.size()
                   << " shapes, each of which has a number of 'lanes', found "
                   << lanes.size();
  int64_t blocks = 0;
  for (auto [group, width] : llvm::zip_equal(threads.groups, lanes)) {
    if (!takesVectors(threads.kernel, group, width))
      return error() << "results cannot be computed in vectors of " << width;
    blocks += llvm::divideCeil(group.units(width), plan.getThreads());
  }
  return divided(plan, {std::max<int64_t>(blocks, 1), plan.getThreads()},
                 target, error);
}

} // namespace tinh::cuda
