//===- Work.cpp - How much a kernel has to do -------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/Kernel/Work.h"

#include "compiler/Codegen/Kernel/Analysis.h"
#include "compiler/Codegen/Kernel/Forms/Scan.h"
#include "compiler/Codegen/Kernel/Forms/Scatter.h"
#include "dialects/graph/Graph.h"
#include "dialects/origin/Origin.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace tinh::codegen {

static double elementsOf(Type tensor) {
  double count = 1;
  for (int64_t extent : cast<RankedTensorType>(tensor).getShape())
    count *= static_cast<double>(extent);
  return count;
}

static double bytesOf(Type tensor, double elements) {
  Type element = cast<RankedTensorType>(tensor).getElementType();
  return elements * static_cast<double>(graph::elementSize(element));
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

/// What one execution of `op`, in a body, counts for.
static double operationsOf(Operation &op) {
  if (op.getNumResults() == 0 || op.hasTrait<OpTrait::ConstantLike>() ||
      isa<CastOpInterface, arith::SelectOp>(op))
    return 0;
  Type type = op.getResult(0).getType();
  bool isNumber = isa<FloatType>(type) ||
                  (isa<IntegerType>(type) && !type.isInteger(/*width=*/1));
  if (!isNumber ||
      !isa<arith::ArithDialect, math::MathDialect>(op.getDialect()))
    return 0;
  return isa<math::FmaOp>(op) ? 2 : 1;
}

static double operationsOf(Block &body) {
  double count = 0;
  for (Operation &op : body.without_terminator())
    count += operationsOf(op);
  return count;
}

static double iterationsOf(linalg::LinalgOp op) {
  double count = 1;
  for (int64_t extent : op.getStaticLoopRanges())
    count *= static_cast<double>(extent);
  return count;
}

/// One combination for each update: its other loops only look for the position.
static double updatesOf(const Scatter &scatter) {
  double count = 1;
  for (auto [dim, extent] : llvm::enumerate(scatter.extents))
    if (!scatter.isTarget(dim))
      count *= static_cast<double>(extent);
  return count;
}

static double operationsOf(linalg::LinalgOp op,
                           const std::optional<Scatter> &scatter) {
  if (isa_and_nonnull<origin::FiltersAttr>(op->getAttr(origin::kOp)))
    return 0; // Only says what an operand was.
  double inBody = operationsOf(*op.getBlock());
  if (scatter && scatter->op == op)
    return updatesOf(*scatter) * inBody;
  auto generic = dyn_cast<linalg::GenericOp>(op.getOperation());
  std::optional<Scan> scan = generic ? matchScan(generic) : std::nullopt;
  if (scan && scan->extent > 0)
    return iterationsOf(op) / static_cast<double>(scan->extent) * inBody;
  return iterationsOf(op) * inBody;
}

//===----------------------------------------------------------------------===//
// Bytes
//===----------------------------------------------------------------------===//

static double elementsRead(Value value, const std::optional<Scatter> &scatter);

/// Through an operand of a linalg op: one for each combination of the loops
/// that its place depends on.
static double elementsRead(linalg::LinalgOp op, OpOperand &use,
                           const std::optional<Scatter> &scatter) {
  if (!op.payloadUsesValueFromOperand(&use))
    return 0;
  if (scatter && scatter->op == op && scatter->initial == use.get())
    return updatesOf(*scatter);
  AffineMap map = op.getMatchingIndexingMap(&use);
  double count = 1;
  for (auto [dim, extent] : llvm::enumerate(op.getStaticLoopRanges()))
    if (map.isFunctionOfDim(dim))
      count *= static_cast<double>(extent);
  return count;
}

static double elementsRead(OpOperand &use,
                           const std::optional<Scatter> &scatter) {
  Operation *user = use.getOwner();
  if (auto op = dyn_cast<linalg::LinalgOp>(user))
    return elementsRead(op, use, scatter);
  if (isa<tensor::ExtractSliceOp, tensor::ExpandShapeOp,
          tensor::CollapseShapeOp, tensor::CastOp>(user))
    return elementsRead(user->getResult(0), scatter);
  auto around = user->getParentOfType<linalg::LinalgOp>();
  if (isa<tensor::ExtractOp>(user) && around) // A gather.
    return iterationsOf(around);
  return elementsOf(use.get().getType());
}

/// How many elements of `value` its users can reach, at most.
static double elementsRead(Value value, const std::optional<Scatter> &scatter) {
  double count = 0;
  for (OpOperand &use : value.getUses())
    count += elementsRead(use, scatter);
  return std::min(count, elementsOf(value.getType()));
}

static double elementsWritten(Value result,
                              const std::optional<Scatter> &scatter) {
  double all = elementsOf(result.getType());
  if (scatter && isa<BlockArgument>(scatter->initial))
    return std::min(all, updatesOf(*scatter));
  return all;
}

Work workOf(func::FuncOp kernel) {
  Work work;
  std::optional<Scatter> scatter = matchScatter(kernel);
  kernel.walk([&](linalg::LinalgOp op) {
    work.operations += operationsOf(op, scatter);
  });
  for (Value argument : kernel.getArguments())
    work.bytes += bytesOf(argument.getType(), elementsRead(argument, scatter));
  for (Value result : returnedValues(kernel))
    work.bytes += bytesOf(result.getType(), elementsWritten(result, scatter));
  return work;
}

double operandBytes(func::FuncOp kernel) {
  double bytes = 0;
  for (Type type : llvm::concat<const Type>(kernel.getArgumentTypes(),
                                            kernel.getResultTypes()))
    bytes += static_cast<double>(graph::tensorSize(type));
  return bytes;
}

} // namespace tinh::codegen
