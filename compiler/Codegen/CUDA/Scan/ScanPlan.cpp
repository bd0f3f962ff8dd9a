//===- ScanPlan.cpp - Recognising and dividing running sums -----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/Machine.h"
#include "compiler/Codegen/CUDA/Scan/Scan.h"
#include "compiler/Codegen/Kernel/Work.h"

#include "dialects/graph/Strides.h"

using namespace mlir;

namespace tinh::cuda {

Match<ScanKernel> ScanStrategy::match(func::FuncOp kernel) {
  linalg::GenericOp op = onlyReduction(kernel);
  auto scan = op ? matchScan(op) : std::nullopt;
  if (!scan)
    return NoMatch{"has no running sum, or other reductions"};
  if (!resultsFollowElementwise(kernel, op.getResult(0)))
    return NoMatch{"computes results from other than one sum each"};
  auto type = cast<RankedTensorType>(op.getResult(0).getType());
  if (scan->extent == 0 || type.getNumElements() == 0)
    return NoMatch{"has no elements"};
  return ScanKernel{kernel, *scan, op.getResult(0),
                    SmallVector<int64_t>(type.getShape())};
}

SmallVector<ScanPlanAttr> ScanStrategy::plans(const ScanKernel &form,
                                              const Target &) {
  bool isLong = form.isAlongLast() && form.scan.extent > kWarp;
  return {ScanPlanAttr::get(form.result.getContext(),
                            isLong ? SumsAlong::Block : SumsAlong::Thread,
                            kThreads)};
}

double ScanStrategy::cost(const ScanKernel &form, ScanPlanAttr plan,
                          const Target &) {
  double chain = guess::kLoad * form.scan.extent;
  if (plan.getRow() == SumsAlong::Block)
    chain = static_cast<double>(
                llvm::divideCeil(form.scan.extent, plan.getThreads())) *
            (guess::kLoad + 5 * guess::kShuffle + guess::kBarrier);
  double bytes = operandBytes(form.kernel);
  return cyclesOf({bytes, bytes, chain}, plannedMachine());
}

FailureOr<Divided<ScanPlanAttr>> ScanStrategy::expand(const ScanKernel &form,
                                                      ScanPlanAttr plan,
                                                      const Target &target,
                                                      EmitError error) {
  int64_t threads = plan.getThreads();
  if (plan.getRow() == SumsAlong::Thread)
    return divided(
        plan,
        {static_cast<int64_t>(llvm::divideCeil(form.rows(), threads)), threads},
        target, error);
  if (!form.isAlongLast())
    return error() << "a block has a row of the last dimension, found sums "
                      "along dimension "
                   << form.scan.axis << " of " << form.shape.size();
  int64_t element = graph::elementSize(getElementTypeOrSelf(form.result));
  return divided(plan, {form.rows(), threads, 2 * threads / kWarp * element},
                 target, error);
}

} // namespace tinh::cuda
