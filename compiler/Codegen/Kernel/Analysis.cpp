//===- Analysis.cpp - What strategies ask about a kernel --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/Kernel/Analysis.h"

#include "compiler/Codegen/Kernel/Pull.h"
#include "dialects/graph/Graph.h"
#include "dialects/graph/Strides.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace tinh::codegen {

MemRefType flatType(RankedTensorType tensor, ArrayRef<int64_t> strides) {
  int64_t size = tensor.getNumElements() ? 1 : 0;
  for (auto [extent, stride] : llvm::zip_equal(tensor.getShape(), strides))
    size += size ? (extent - 1) * stride : 0;
  return MemRefType::get({size}, memoryType(tensor.getElementType()));
}

SmallVector<int64_t> operandStrides(func::FuncOp kernel, unsigned i) {
  unsigned inputs = kernel.getNumArguments();
  return i < inputs ? graph::argumentStrides(kernel, i)
                    : graph::resultStrides(kernel, i - inputs);
}

std::optional<SmallVector<unsigned>> permutationOf(linalg::GenericOp op) {
  if (op.getNumDpsInputs() != 1 || op.getNumResults() != 1 ||
      op.getBody()->getTerminator()->getOperand(0) !=
          op.getBody()->getArgument(0))
    return std::nullopt;
  AffineMap map = op.getMatchingIndexingMap(op.getDpsInputOperand(0));
  if (!map.isPermutation() || !outputMap(op).isIdentity())
    return std::nullopt;
  return llvm::map_to_vector(
      llvm::seq(map.getNumResults()),
      [&](unsigned i) -> unsigned { return map.getDimPosition(i); });
}

linalg::GenericOp onlyReduction(func::FuncOp kernel) {
  linalg::GenericOp found;
  bool one = true;
  kernel.walk([&](linalg::GenericOp op) {
    if (op.getNumReductionLoops() == 0)
      return;
    one = !found;
    found = op;
  });
  return one ? found : linalg::GenericOp();
}

BlockArgument reshapedArgument(Value value) {
  while (auto *op = value.getDefiningOp()) {
    if (!isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op))
      return {};
    value = op->getOperand(0);
  }
  return cast<BlockArgument>(value);
}

/// Strides of a tensor of `shape` where each group of its dimensions is one
/// with these strides.
static SmallVector<int64_t>
splitStrides(ArrayRef<int64_t> shape, ArrayRef<int64_t> strides,
             ArrayRef<ReassociationIndices> groups) {
  SmallVector<int64_t> split(shape.size(), 1);
  for (auto [stride, group] : llvm::zip_equal(strides, groups)) {
    int64_t each = stride;
    for (int64_t dim : llvm::reverse(group)) {
      split[dim] = each;
      each *= shape[dim];
    }
  }
  return split;
}

/// The opposite: nothing if the dimensions of a group are not one in memory.
static std::optional<SmallVector<int64_t>>
mergeStrides(ArrayRef<int64_t> shape, ArrayRef<int64_t> strides,
             ArrayRef<ReassociationIndices> groups) {
  SmallVector<int64_t> merged;
  for (ArrayRef<int64_t> group : groups) {
    int64_t stride = 1, extent = 1;
    for (int64_t dim : llvm::reverse(group)) {
      if (shape[dim] == 1)
        continue;
      if (extent == 1)
        stride = strides[dim];
      else if (strides[dim] != stride * extent)
        return std::nullopt;
      extent *= shape[dim];
    }
    merged.push_back(stride);
  }
  return merged;
}

std::optional<SmallVector<int64_t>> stridesInArgument(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto kernel = cast<func::FuncOp>(argument.getOwner()->getParentOp());
    return graph::argumentStrides(kernel, argument.getArgNumber());
  }
  Operation *op = value.getDefiningOp();
  if (!isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op))
    return std::nullopt;
  auto strides = stridesInArgument(op->getOperand(0));
  if (!strides)
    return std::nullopt;
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
    return splitStrides(expand.getResultType().getShape(), *strides,
                        expand.getReassociationIndices());
  auto collapse = cast<tensor::CollapseShapeOp>(op);
  return mergeStrides(collapse.getSrcType().getShape(), *strides,
                      collapse.getReassociationIndices());
}

std::optional<SmallVector<int64_t>>
stridesInResult(func::FuncOp kernel, unsigned result, Value value) {
  Value outer = returnedValues(kernel)[result];
  std::optional<SmallVector<int64_t>> strides =
      graph::resultStrides(kernel, result);
  while (strides && outer != value) {
    Operation *op = outer.getDefiningOp();
    if (auto expand = dyn_cast_or_null<tensor::ExpandShapeOp>(op))
      strides = mergeStrides(expand.getResultType().getShape(), *strides,
                             expand.getReassociationIndices());
    else if (auto collapse = dyn_cast_or_null<tensor::CollapseShapeOp>(op))
      strides = splitStrides(collapse.getSrcType().getShape(), *strides,
                             collapse.getReassociationIndices());
    else
      return std::nullopt;
    outer = op->getOperand(0);
  }
  return strides;
}

bool isReadAtItsIndex(Value value) {
  auto shape = cast<RankedTensorType>(value.getType()).getShape();
  SmallVector<Value> worklist{value};
  llvm::DenseSet<Value> seen;
  while (!worklist.empty()) {
    Value next = worklist.pop_back_val();
    if (!seen.insert(next).second)
      continue;
    for (OpOperand &use : next.getUses()) {
      if (isa<func::ReturnOp>(use.getOwner()))
        continue;
      auto op = dyn_cast<linalg::GenericOp>(use.getOwner());
      if (!op || op.getNumReductionLoops() > 0 || op.getNumResults() != 1 ||
          !op.getMatchingIndexingMap(&use).isIdentity() ||
          cast<RankedTensorType>(op.getResultTypes()[0]).getShape() != shape ||
          !outputMap(op).isIdentity())
        return false;
      worklist.push_back(op.getResult(0));
    }
  }
  return true;
}

bool resultsFollowElementwise(func::FuncOp kernel, Value value) {
  auto shape = cast<RankedTensorType>(value.getType()).getShape();
  return isReadAtItsIndex(value) &&
         llvm::all_of(kernel.getResultTypes(), [&](Type type) {
           return cast<RankedTensorType>(type).getShape() == shape;
         });
}

/// The argument of a body that `value` is, or is converted from.
static Value convertedArgument(Value value) {
  Operation *convert = value.getDefiningOp();
  return isa_and_nonnull<arith::ExtFOp, arith::ExtSIOp, arith::ExtUIOp>(convert)
             ? convert->getOperand(0)
             : value;
}

/// Whether the body is acc + a · b, to whose type a and b may be converted.
template <typename Add, typename Multiply>
static bool isMultiplyAdd(linalg::GenericOp op) {
  if (op.getNumDpsInputs() != 2 || op.getNumDpsInits() != 1)
    return false;
  Block *body = op.getBody();
  auto sum = body->getTerminator()->getOperand(0).getDefiningOp<Add>();
  if (!sum)
    return false;
  Value accumulator = body->getArgument(2);
  Value other = sum.getLhs() == accumulator   ? sum.getRhs()
                : sum.getRhs() == accumulator ? sum.getLhs()
                                              : Value();
  auto product = other ? other.getDefiningOp<Multiply>() : nullptr;
  if (!product)
    return false;
  Value a = body->getArgument(0), b = body->getArgument(1);
  Value lhs = convertedArgument(product.getLhs()),
        rhs = convertedArgument(product.getRhs());
  return (lhs == a && rhs == b) || (lhs == b && rhs == a);
}

static bool startsFromZero(linalg::GenericOp op) {
  auto fill = op.getDpsInits()[0].getDefiningOp<linalg::FillOp>();
  return fill && (matchPattern(fill.getInputs()[0], m_AnyZeroFloat()) ||
                  matchPattern(fill.getInputs()[0], m_Zero()));
}

bool isSumOfProducts(linalg::GenericOp op) {
  Type sum = getElementTypeOrSelf(op->getResult(0).getType());
  return (sum.isF32() || sum.isF64()) &&
         isMultiplyAdd<arith::AddFOp, arith::MulFOp>(op) && startsFromZero(op);
}

bool isSumOfByteProducts(linalg::GenericOp op) {
  auto isByte = [](Value input) {
    return getElementTypeOrSelf(input).isInteger(8);
  };
  return getElementTypeOrSelf(op->getResult(0).getType()).isInteger(32) &&
         isMultiplyAdd<arith::AddIOp, arith::MulIOp>(op) &&
         llvm::all_of(op.getDpsInputs(), isByte) && startsFromZero(op);
}

bool isUnsignedInput(linalg::GenericOp op, unsigned input) {
  BlockArgument argument = op.getBody()->getArgument(input);
  return llvm::all_of(argument.getUsers(), llvm::IsaPred<arith::ExtUIOp>);
}

int64_t loopCoefficient(AffineExpr expr, unsigned dim, size_t numLoops) {
  SmallVector<AffineExpr> at(numLoops,
                             getAffineConstantExpr(0, expr.getContext()));
  auto value = [&] {
    return cast<AffineConstantExpr>(
               simplifyAffineExpr(expr.replaceDims(at), 0, 0))
        .getValue();
  };
  int64_t zero = value();
  at[dim] = getAffineConstantExpr(1, expr.getContext());
  return value() - zero;
}

bool isOfConstants(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  if (isa<graph::ConstantOp, graph::WeightOp>(op))
    return true;
  return isa<graph::DispatchOp, graph::ReshapeOp>(op) &&
         op->getNumOperands() > 0 &&
         llvm::all_of(op->getOperands(), isOfConstants);
}

Value reshapeLike(OpBuilder &b, Value value, Value source) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return source;
  IRMapping mapping;
  mapping.map(op->getOperand(0), reshapeLike(b, op->getOperand(0), source));
  return b.clone(*op, mapping)->getResult(0);
}

} // namespace tinh::codegen
