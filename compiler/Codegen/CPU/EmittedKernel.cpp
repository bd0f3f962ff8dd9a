//===- EmittedKernel.cpp - Kernels while code is emitted --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/EmittedKernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace tinh::cpu {

EmittedKernel::EmittedKernel(func::FuncOp kernel, TypeRange types,
                             ModuleOp module) {
  OpBuilder b = OpBuilder::atBlockEnd(module.getBody());
  auto emitted = func::FuncOp::create(b, kernel.getLoc(), kernel.getName(),
                                      b.getFunctionType(types, {}));
  source = kernel;
  function = emitted;
  Block *entry = emitted.addEntryBlock();
  b.setInsertionPointToEnd(entry);
  func::ReturnOp::create(b, kernel.getLoc());
  auto last = entry->getArguments().take_back(3);
  scratch = last[0];
  begin = last[1];
  end = last[2];
}

Value EmittedKernel::loopOverUnits(OpBuilder &b, int64_t units,
                                   int64_t perChunk) {
  Pull scalar(b, source.getLoc(), 1);
  Value first = scalar.mul(begin, perChunk);
  Value last = scalar.minimum(scalar.mul(end, perChunk), units);
  auto loop =
      scf::ForOp::create(b, source.getLoc(), first, last, scalar.index(1));
  b.setInsertionPointToStart(loop.getBody());
  return loop.getInductionVar();
}

LogicalResult EmittedKernel::storeResults(Pull &pull, const Indices &at) {
  for (unsigned i = 0; i < source.getNumResults(); ++i)
    if (failed(codegen::EmittedKernel::storeResults(pull, at, i)))
      return failure();
  return success();
}

LogicalResult checkColumns(EmitError emitError, StringRef name, int64_t columns,
                           int64_t lanes, const Target &target) {
  if (columns % lanes == 0)
    return success();
  return emitError() << "'" << name << "' must be a multiple of the " << lanes
                     << " lanes of a vector of " << target.name << ", found "
                     << columns;
}

} // namespace tinh::cpu
