//===- EmittedKernel.cpp - Kernels while code for them is emitted --*- C++
//-*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/EmittedKernel.h"

#include "dialects/graph/Layout.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace tinh::cpu {

EmittedKernel::EmittedKernel(func::FuncOp source, TypeRange types,
                             ModuleOp module)
    : source(source) {
  OpBuilder b = OpBuilder::atBlockEnd(module.getBody());
  function = func::FuncOp::create(b, source.getLoc(), source.getName(),
                                  b.getFunctionType(types, {}));
  Block *entry = function.addEntryBlock();
  b.setInsertionPointToEnd(entry);
  func::ReturnOp::create(b, source.getLoc());
  auto last = entry->getArguments().take_back(3);
  scratch = last[0];
  begin = last[1];
  end = last[2];
}

Buffer EmittedKernel::operand(unsigned i) {
  return {function.getArgument(i), operandStrides(source, i), {}};
}

Buffer EmittedKernel::scratchBuffer(OpBuilder &b, int64_t offset,
                                    ArrayRef<int64_t> shape, Type element) {
  auto tensor = RankedTensorType::get(shape, element);
  Location loc = source.getLoc();
  Value at = arith::ConstantIndexOp::create(b, loc, offset);
  SmallVector<int64_t> strides = graph::denseStrides(shape);
  Value view = memref::ViewOp::create(b, loc, flatType(tensor, strides),
                                      scratch, at, ValueRange());
  return {view, strides, {}};
}

void EmittedKernel::bindInputs(Pull &pull) {
  for (BlockArgument argument : source.getArguments())
    pull.buffers[argument] = operand(argument.getArgNumber());
}

Value EmittedKernel::loopOverUnits(OpBuilder &b, int64_t units,
                                   int64_t perChunk) {
  b.setInsertionPoint(function.getBody().front().getTerminator());
  Pull scalar(b, source.getLoc(), 1);
  Value first = scalar.mul(begin, perChunk);
  Value last = scalar.minimum(scalar.mul(end, perChunk), units);
  auto loop =
      scf::ForOp::create(b, source.getLoc(), first, last, scalar.index(1));
  b.setInsertionPointToStart(loop.getBody());
  return loop.getInductionVar();
}

LogicalResult storeResults(EmittedKernel &kernel, Pull &pull,
                           const Indices &at) {
  unsigned inputs = kernel.source.getNumArguments();
  for (auto [i, value] : llvm::enumerate(returnedValues(kernel.source))) {
    auto element = pull.at(value, at);
    if (failed(element) ||
        failed(pull.store(*element, kernel.operand(inputs + i), at)))
      return failure();
    pull.registers[value] = *element;
  }
  return success();
}

LogicalResult checkWithin(EmitError emitError, StringRef name, int64_t value,
                          int64_t least, int64_t most) {
  if (least <= value && value <= most)
    return success();
  auto error = emitError();
  error << name << " = " << value << "; expected ";
  if (least == most)
    error << least << " for this kernel";
  else
    error << least << " to " << most << " for this kernel";
  return failure();
}

LogicalResult checkLanes(EmitError emitError, int64_t lanes) {
  if (llvm::isPowerOf2_64(lanes) && lanes <= 64)
    return success();
  return emitError() << "lanes = " << lanes
                     << "; expected a power of two up to 64";
}

LogicalResult checkColumns(EmitError emitError, StringRef name, int64_t columns,
                           int64_t lanes, const Target &target) {
  if (columns % lanes == 0)
    return success();
  return emitError() << name << " = " << columns
                     << "; expected a multiple of the " << lanes
                     << " lanes of a vector of " << target.name;
}

} // namespace tinh::cpu
