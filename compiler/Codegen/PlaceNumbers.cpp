//===- PlaceNumbers.cpp - Counters and conditions on the CPU ----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   %n = graph.while (%i = %x) : (tensor<i64>) {
//     %0 = graph.kernel (%a = %i, %b = %limit) … { graph.compare less … }
//     graph.condition %0
//   } do (%i) {
//     %0 = graph.kernel (%a = %i) … { graph.add … }
//     graph.yield %0 : tensor<i64>
//   }
//
// Both kernels run on the CPU, which decides whether to go on: on the GPU each
// of its decisions would wait for a copy.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/Devices.h"
#include "compiler/Codegen/PlaceKernels.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace tinh::codegen {

namespace {

/// Tensors of more elements are no numbers to count with.
constexpr int64_t kMaxElements = 16;

bool isNumbers(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return isa<IntegerType>(tensor.getElementType()) &&
         tensor.getNumElements() <= kMaxElements;
}

/// What decides how often or whether something is computed.
void addDecisions(Operation *op, SmallVectorImpl<Value> &values) {
  if (auto branch = dyn_cast<graph::IfOp>(op)) {
    values.push_back(branch.getCondition());
  } else if (auto condition = dyn_cast<graph::ConditionOp>(op)) {
    values.push_back(condition.getCondition());
  } else if (auto scan = dyn_cast<graph::ScanOp>(op)) {
    if (Value count = scan.getTripCount())
      values.push_back(count);
    if (Value condition = scan.getCondition())
      values.append({condition, scan.getNextCondition()});
  }
}

/// The kernels that decisions of the module depend on.
llvm::SetVector<graph::KernelOp> findDeciding(ModuleOp module) {
  SmallVector<Value> values;
  module.walk([&](Operation *op) { addDecisions(op, values); });
  llvm::SetVector<graph::KernelOp> kernels;
  llvm::SmallDenseSet<Value> seen;
  while (!values.empty()) {
    Value value = values.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    Operation *op = value.getDefiningOp();
    if (op && !graph::isControlFlow(op))
      llvm::append_range(values, op->getOperands());
    else
      forEachFlow(op ? op : value.getParentBlock()->getParentOp(),
                  [&](Value to, Value from) {
                    if (to == value)
                      values.push_back(from);
                  });
    if (auto kernel = dyn_cast_if_present<graph::KernelOp>(op))
      kernels.insert(kernel);
  }
  return kernels;
}

} // namespace

void placeNumbers(ModuleOp module, ArrayRef<graph::KernelOp> kernels) {
  llvm::SetVector<graph::KernelOp> deciding = findDeciding(module);
  SmallVector<graph::KernelOp> chosen;
  for (graph::KernelOp kernel : kernels)
    if (deciding.contains(kernel) &&
        llvm::all_of(kernel->getOperandTypes(), isNumbers) &&
        llvm::all_of(kernel->getResultTypes(), isNumbers)) {
      kernel->removeAttr(graph::names::kDevice);
      chosen.push_back(kernel);
    }
  // One that goes back to the GPU may take others with it.
  auto device = StringAttr::get(module.getContext(), graph::names::kOnCuda);
  for (bool changed = true; changed && !chosen.empty();) {
    Devices devices(module, Devices::Variables::Open);
    auto isOnCuda = [&](Value value) { return devices.isOnCuda(value); };
    auto isForCuda = [&](OpOperand &use) {
      return devices.needsCuda(use).value_or(false);
    };
    changed = false;
    llvm::erase_if(chosen, [&](graph::KernelOp kernel) {
      bool stays = llvm::none_of(kernel->getOperands(), isOnCuda) &&
                   llvm::none_of(kernel->getUses(), isForCuda);
      if (!stays)
        kernel->setAttr(graph::names::kDevice, device);
      changed |= !stays;
      return !stays;
    });
  }
}

} // namespace tinh::codegen
