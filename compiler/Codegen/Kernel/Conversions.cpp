//===- Conversions.cpp - Operands in another form ---------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/Kernel/Conversions.h"

#include "compiler/Codegen/Kernel/Analysis.h"
#include "compiler/Codegen/Kernel/Pull.h"
#include "compiler/Codegen/Kernel/Rewrites.h"
#include "dialects/graph/Strides.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;

namespace tinh::codegen {

func::FuncOp kernelOf(BlockArgument argument) {
  return cast<func::FuncOp>(argument.getOwner()->getParentOp());
}

BlockArgument packableArgument(Value value) {
  BlockArgument argument = reshapedArgument(value);
  if (!argument || !argument.hasOneUse() || !value.hasOneUse())
    return {};
  bool isPart = bool(kernelOf(argument).getArgAttr(argument.getArgNumber(),
                                                   graph::names::kStrides));
  return isPart ? BlockArgument() : argument;
}

void changeArgument(OpBuilder &b, Value value, Type type, Convert convert) {
  OpBuilder::InsertionGuard guard(b);
  BlockArgument argument = reshapedArgument(value);
  func::FuncOp kernel = kernelOf(argument);
  SmallVector<OpOperand *> uses;
  for (OpOperand &use : value.getUses())
    uses.push_back(&use);
  b.setInsertionPointToStart(argument.getOwner());
  argument.setType(type);
  Value converted = convert(argument);
  for (OpOperand *use : uses)
    use->set(converted);
  while (Operation *reshape = value.getDefiningOp()) {
    value = reshape->getOperand(0);
    reshape->erase();
  }
  updateType(kernel);
}

func::FuncOp createConversion(OpBuilder &b, SymbolTable &symbols,
                              func::FuncOp reader, StringRef suffix, Type from,
                              Convert convert) {
  OpBuilder::InsertionGuard guard(b);
  auto kernel =
      func::FuncOp::create(reader.getLoc(), (reader.getName() + suffix).str(),
                           b.getFunctionType(from, from));
  kernel.setPrivate();
  symbols.insert(kernel, Block::iterator(reader));
  b.setInsertionPointToStart(kernel.addEntryBlock());
  Value made = convert(kernel.getArgument(0));
  func::ReturnOp::create(b, kernel.getLoc(), made);
  updateType(kernel);
  return kernel;
}

Value dispatchTo(OpBuilder &b, Location loc, func::FuncOp kernel, Value value) {
  return graph::DispatchOp::create(b, loc, kernel.getResultTypes(),
                                   kernel.getName(), ValueRange(value))
      .getResult(0);
}

Value convertOperand(OpBuilder &b, DispatchedKernel dispatched,
                     unsigned operand, Value source, Type from,
                     Convert convert) {
  auto [symbols, reader, dispatch] = dispatched;
  func::FuncOp kernel = createConversion(b, symbols, reader, "_pack",
                                         graph::storageType(from), convert);
  Attribute device = reader->getAttr(graph::names::kDevice);
  if (device && !isOfConstants(source)) // @init is the CPU's.
    kernel->setAttr(graph::names::kDevice, device);
  Value converted = dispatchTo(b, dispatch.getLoc(), kernel, source);
  dispatch.getInputsMutable()[operand].set(converted);
  return converted;
}

void readInOrder(OpBuilder &b, Value value, Type type,
                 ArrayRef<int64_t> order) {
  OpOperand &use = *value.use_begin();
  auto op = cast<linalg::GenericOp>(use.getOwner());
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  AffineMap &map = maps[use.getOperandNumber()];
  map = map.getSubMap(SmallVector<unsigned>(order.begin(), order.end()));
  op.setIndexingMapsAttr(b.getAffineMapArrayAttr(maps));
  changeArgument(b, value, type, [](Value x) { return x; });
}

void packOperand(DispatchedKernel dispatched, Value value,
                 ArrayRef<int64_t> order) {
  unsigned operand = reshapedArgument(value).getArgNumber();
  OpBuilder b(dispatched.dispatch);
  Value source = dispatched.dispatch.getInputs()[operand];
  Value packed = convertOperand(
      b, dispatched, operand, source, source.getType(), [&](Value x) {
        return permute(b, x.getLoc(), reshapeLike(b, value, x), order);
      });
  readInOrder(b, value, packed.getType(), order);
}

void packAlong(DispatchedKernel dispatched, OpOperand &operand, unsigned loop,
               bool ofConstants) {
  AffineMap map = cast<linalg::GenericOp>(operand.getOwner())
                      .getMatchingIndexingMap(&operand);
  auto dim = map.getResultPosition(getAffineDimExpr(loop, map.getContext()));
  BlockArgument argument = packableArgument(operand.get());
  if (!dim || *dim + 1 == map.getNumResults() || !argument)
    return;
  Value source = dispatched.dispatch.getInputs()[argument.getArgNumber()];
  if (ofConstants && !isOfConstants(source))
    return;
  packOperand(dispatched, operand.get(),
              orderWithLast(map.getNumResults(), *dim));
}

//===----------------------------------------------------------------------===//
// Tensors in another form
//===----------------------------------------------------------------------===//

Value mapElements(OpBuilder &b, Location loc, Value source,
                  ArrayRef<int64_t> shape, ArrayRef<AffineExpr> exprs,
                  Type element, ElementBody body) {
  Value empty = tensor::EmptyOp::create(b, loc, shape, element);
  AffineMap maps[] = {AffineMap::get(shape.size(), 0, exprs, b.getContext()),
                      b.getMultiDimIdentityMap(shape.size())};
  SmallVector<utils::IteratorType> iterators(shape.size(),
                                             utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             b, loc, empty.getType(), source, empty, maps, iterators,
             [&](OpBuilder &b, Location loc, ValueRange arguments) {
               Value x = arguments[0];
               linalg::YieldOp::create(b, loc, body ? body(b, x) : x);
             })
      .getResult(0);
}

Value convertElements(OpBuilder &b, Location loc, Value source, Type element) {
  auto type = cast<RankedTensorType>(source.getType());
  if (type.getElementType() == element)
    return source;
  bool wider = element.getIntOrFloatBitWidth() >
               type.getElementType().getIntOrFloatBitWidth();
  return mapElements(b, loc, source, type.getShape(),
                     b.getMultiDimIdentityMap(type.getRank()).getResults(),
                     element, [&](OpBuilder &b, Value x) -> Value {
                       if (wider)
                         return arith::ExtFOp::create(b, loc, element, x);
                       return arith::TruncFOp::create(b, loc, element, x);
                     });
}

SmallVector<ReassociationIndices> splitGroups(int64_t rank, int64_t split) {
  SmallVector<ReassociationIndices> groups;
  for (int64_t i = 0, next = 0; i < rank; ++i) {
    groups.push_back({next++});
    if (i == split)
      groups.back().push_back(next++);
  }
  return groups;
}

Value divideDimension(OpBuilder &b, Location loc, Value source, int64_t dim,
                      int64_t parts) {
  auto type = cast<RankedTensorType>(source.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] /= parts;
  shape.insert(shape.begin() + dim, parts);
  return tensor::ExpandShapeOp::create(b, loc, type.clone(shape), source,
                                       splitGroups(type.getRank(), dim));
}

Value permute(OpBuilder &b, Location loc, Value source,
              ArrayRef<int64_t> permutation) {
  auto type = cast<RankedTensorType>(source.getType());
  SmallVector<int64_t> shape;
  SmallVector<AffineExpr> exprs(permutation.size());
  for (auto [i, from] : llvm::enumerate(permutation)) {
    shape.push_back(type.getDimSize(from));
    exprs[from] = b.getAffineDimExpr(i);
  }
  return mapElements(b, loc, source, shape, exprs, type.getElementType());
}

Value reducePermuted(OpBuilder &b, linalg::GenericOp op, linalg::FillOp fill,
                     ArrayRef<int64_t> permutation) {
  Location loc = op.getLoc();
  auto type = cast<RankedTensorType>(op.getResult(0).getType());
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  maps.back() = maps.back().getSubMap(
      SmallVector<unsigned>(permutation.begin(), permutation.end()));
  Value empty = tensor::EmptyOp::create(
      b, loc, applyPermutation(type.getShape(), permutation),
      type.getElementType());
  Value init =
      linalg::FillOp::create(b, loc, fill.getInputs(), ValueRange(empty))
          .getResult(0);
  return cloneBody(b, op, op.getDpsInputs(), init, maps,
                   op.getIteratorTypesArray());
}

SmallVector<int64_t> orderWithLast(int64_t rank, int64_t last) {
  auto order = llvm::to_vector(llvm::seq<int64_t>(rank));
  order.erase(order.begin() + last);
  order.push_back(last);
  return order;
}

} // namespace tinh::codegen
