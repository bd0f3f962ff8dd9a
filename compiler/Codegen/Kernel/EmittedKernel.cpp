//===- EmittedKernel.cpp - Kernels while code is emitted --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/Kernel/EmittedKernel.h"

#include "compiler/Codegen/Kernel/Analysis.h"
#include "dialects/graph/Graph.h"
#include "dialects/graph/Strides.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace tinh::codegen {

OpBuilder EmittedKernel::builder() {
  return OpBuilder(function.front().getTerminator());
}

Buffer EmittedKernel::operand(unsigned i) {
  Buffer buffer{function.getArgument(i), operandStrides(source, i), {}};
  auto alignments =
      source->getAttrOfType<DenseI64ArrayAttr>(graph::names::kAlignments);
  if (alignments && i < alignments.asArrayRef().size())
    buffer.alignment = alignments[i];
  return buffer;
}

llvm::DenseMap<Value, Buffer> EmittedKernel::inputs() {
  llvm::DenseMap<Value, Buffer> buffers;
  for (BlockArgument argument : source.getArguments())
    buffers[argument] = operand(argument.getArgNumber());
  return buffers;
}

Pull EmittedKernel::makePull(OpBuilder &b, int64_t lanes) {
  Pull pull(b, source.getLoc(), lanes);
  pull.buffers = inputs();
  return pull;
}

LogicalResult EmittedKernel::storeResults(Pull &pull, const Indices &at,
                                          ArrayRef<unsigned> results) {
  Operation *terminator = source.getBody().front().getTerminator();
  SmallVector<LaneValue> values;
  for (unsigned i : results) {
    auto value = pull.at(terminator->getOperand(i), at);
    if (failed(value))
      return failure();
    values.push_back(*value);
  }
  for (auto [i, value] : llvm::zip_equal(results, values)) {
    if (failed(pull.store(value, operand(source.getNumArguments() + i), at)))
      return failure();
    pull.registers[terminator->getOperand(i)] = value;
  }
  return success();
}

Value EmittedKernel::liesElsewhere(OpBuilder &b, unsigned i, Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument)
    return {};
  auto address = [&](unsigned operand) {
    return memref::ExtractAlignedPointerAsIndexOp::create(
               b, source.getLoc(), function.getArgument(operand))
        .getResult();
  };
  Value initial = address(argument.getArgNumber());
  return arith::CmpIOp::create(b, source.getLoc(), arith::CmpIPredicate::ne,
                               initial, address(source.getNumArguments() + i));
}

Buffer EmittedKernel::bufferIn(Value memory, OpBuilder &b, int64_t offset,
                               ArrayRef<int64_t> shape, Type element) {
  Location loc = source.getLoc();
  SmallVector<int64_t> strides = graph::denseStrides(shape);
  MemRefType flat = flatType(RankedTensorType::get(shape, element), strides);
  auto type = MemRefType::get(
      flat.getShape(), flat.getElementType(), MemRefLayoutAttrInterface(),
      cast<MemRefType>(memory.getType()).getMemorySpace());
  Value at = arith::ConstantIndexOp::create(b, loc, offset);
  Value view = memref::ViewOp::create(b, loc, type, memory, at, ValueRange());
  return {view, strides, {}};
}

} // namespace tinh::codegen
