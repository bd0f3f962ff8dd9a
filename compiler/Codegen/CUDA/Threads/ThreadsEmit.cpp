//===- ThreadsEmit.cpp - The code of threads that are alone -----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/Threads/Threads.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tinh::cuda {

/// Computes unit `unit` of a group.
static LogicalResult emitUnit(EmittedKernel &kernel, const ResultGroup &group,
                              int64_t lanes, OpBuilder &b, Value unit) {
  Pull pull = kernel.makePull(b, lanes);
  return kernel.storeResults(pull, pull.unravelIndex(unit, group.shape, lanes),
                             group.results);
}

LogicalResult ThreadsStrategy::emit(EmittedKernel &kernel,
                                    const ThreadsKernel &threads,
                                    ThreadsPlanAttr plan, const Target &) {
  OpBuilder b = kernel.builder();
  Location loc = kernel.source.getLoc();
  Pull scalar(b, loc, 1);
  // Each group has whole blocks of its own.
  int64_t first = 0, each = plan.getThreads();
  for (auto [group, lanes] :
       llvm::zip_equal(threads.groups, plan.getLanes().asArrayRef())) {
    int64_t units = group.units(lanes);
    Value block = scalar.sub(kernel.block, scalar.index(first));
    first += llvm::divideCeil(units, each);
    Value unit = scalar.add(scalar.mul(block, each), kernel.thread);
    // One unsigned comparison: blocks of earlier groups are beyond, too.
    if (failed(buildIf(b, loc, scalar.isBelow(unit, units), [&] {
          return emitUnit(kernel, group, lanes, b, unit);
        })))
      return failure();
  }
  return success();
}

} // namespace tinh::cuda
