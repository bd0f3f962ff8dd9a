//===- VerifyKernels.cpp - What code for kernels relies on ------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Pipelines/Verify/VerifyKernels.h"

#include "compiler/Codegen/Kernel/Forms/IndexRanges.h"
#include "dialects/graph/Graph.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace tinh {

/// Whether kernels have elements of this type: without a sign, and of a size
/// that memory has.
static bool isStored(Type element) {
  if (auto integer = dyn_cast<IntegerType>(element))
    return integer.isSignless() &&
           llvm::is_contained({1, 8, 16, 32, 64}, integer.getWidth());
  return element.isF16() || element.isBF16() || element.isF32() ||
         element.isF64();
}

static LogicalResult verifyTensor(Operation *op, Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (tensor && tensor.hasStaticShape() && !tensor.getEncoding() &&
      isStored(tensor.getElementType()))
    return success();
  return op->emitError() << "kernels compute on tensors with a static shape of "
                            "i1, i8, i16, i32, i64, f16, bf16, f32 or f64, not "
                         << type;
}

/// Whether `op` may stand in the body of a generic.
static bool isArithmetic(Operation *op) {
  return isa<linalg::IndexOp, linalg::YieldOp, tensor::ExtractOp>(op) ||
         (isa<arith::ArithDialect, math::MathDialect>(op->getDialect()) &&
          op->getNumResults() == 1);
}

static LogicalResult verifyOp(func::FuncOp kernel, Operation &op) {
  auto doesNotBelong = [&](Operation *found) {
    return found->emitError()
           << "'" << found->getName() << "' does not belong in kernel '"
           << kernel.getName() << "'";
  };
  if (isa<func::ReturnOp, arith::ConstantOp, tensor::ExtractOp>(op))
    return success();
  if (!isa<linalg::GenericOp, linalg::FillOp, tensor::EmptyOp, tensor::PadOp,
           tensor::ExtractSliceOp, tensor::ExpandShapeOp,
           tensor::CollapseShapeOp, tensor::ConcatOp>(op))
    return doesNotBelong(&op);
  for (Type type : op.getResultTypes())
    if (failed(verifyTensor(&op, type)))
      return failure();
  if (auto generic = dyn_cast<linalg::GenericOp>(op))
    for (Operation &inner : *generic.getBody())
      if (!isArithmetic(&inner))
        return doesNotBelong(&inner);
  return success();
}

/// A tensor that is empty is there to be filled or computed, or for its shape.
static LogicalResult verifyComputed(tensor::EmptyOp empty) {
  if (empty.getType().getNumElements() == 0)
    return success();
  for (OpOperand &use : empty->getUses()) {
    auto op = dyn_cast<linalg::LinalgOp>(use.getOwner());
    if (!op || !op.getMatchingBlockArgument(&use).use_empty())
      return use.getOwner()->emitError()
             << "reads a tensor that nothing has computed, " << empty.getType();
  }
  return success();
}

static LogicalResult verifyKernel(func::FuncOp kernel) {
  if (!kernel.getBody().hasOneBlock())
    return kernel.emitError() << "kernel '" << kernel.getName()
                              << "' must have a body of one block";
  for (Type type : llvm::concat<const Type>(kernel.getArgumentTypes(),
                                            kernel.getResultTypes()))
    if (failed(verifyTensor(kernel, type)))
      return failure();
  for (Operation &op : kernel.getBody().front())
    if (failed(verifyOp(kernel, op)))
      return failure();
  for (auto empty : kernel.getOps<tensor::EmptyOp>())
    if (failed(verifyComputed(empty)))
      return failure();
  return codegen::verifyIndices(kernel);
}

LogicalResult verifyKernelFunctions(ModuleOp module, Phase phase) {
  for (auto function : module.getOps<func::FuncOp>()) {
    if (phase < Phase::Plan && !function.isPrivate())
      continue; // A function that dispatches kernels.
    if (failed(verifyKernel(function)))
      return failure();
    if (!function->hasAttr(graph::names::kPlan))
      return function.emitError()
             << "kernel '" << function.getName() << "' does not say in '"
             << graph::names::kPlan << "' how it is computed";
  }
  return success();
}

} // namespace tinh
