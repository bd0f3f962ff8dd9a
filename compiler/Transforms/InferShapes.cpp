//===- InferShapes.cpp - Result types are inferred again --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   func.func @main(%x: tensor<1x3xf32> {graph.name = "x"}) -> tensor<1x3xf32>
//   {
//     %0 = graph.relu %x : tensor<1x3xf32>
// becomes, for x=4x3,
//   func.func @main(%x: tensor<4x3xf32> {graph.name = "x"}) -> tensor<4x3xf32>
//   {
//     %0 = graph.relu %x : tensor<4x3xf32>
//
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Constants/Constants.h"
#include "compiler/Transforms/Passes.h"

#include "mlir/Interfaces/InferTypeOpInterface.h"

using namespace mlir;

namespace tinh::transforms {

#define GEN_PASS_DEF_INFERSHAPES
#include "compiler/Transforms/Passes.h.inc"

namespace {

using namespace graph;

/// The shape of a reshape's result for an operand that has changed: the
/// leading dimension takes up the change.
FailureOr<RankedTensorType> adaptReshape(ReshapeOp op) {
  RankedTensorType x = tensorType(op.getX()), y = tensorType(op.getY());
  if (x.getNumElements() == y.getNumElements())
    return y;
  SmallVector<int64_t> shape(y.getShape());
  int64_t rest = 1;
  for (int64_t extent : ArrayRef(shape).drop_front(shape.empty() ? 0 : 1))
    rest *= extent;
  if (shape.empty() || rest == 0 || x.getNumElements() % rest) {
    op.emitError("graph.reshape: ")
        << shapeToString(x) << " cannot become " << shapeToString(y)
        << ", also with another leading dimension; the shape is written in "
           "the model";
    return failure();
  }
  shape[0] = x.getNumElements() / rest;
  return RankedTensorType::get(shape, y.getElementType());
}

FailureOr<RankedTensorType> adaptBroadcast(BroadcastOp op) {
  RankedTensorType x = tensorType(op.getX()), y = tensorType(op.getY());
  auto shape = broadcastShapes({x.getShape(), y.getShape()});
  if (!shape) {
    op.emitError("graph.broadcast: ")
        << shapeToString(x) << " does not broadcast to " << shapeToString(y)
        << "; the shape is written in the model";
    return failure();
  }
  return RankedTensorType::get(*shape, y.getElementType());
}

FailureOr<int64_t> inferBlock(Block &block);

LogicalResult inferRegions(Operation *op, int64_t &changed) {
  for (Region &region : op->getRegions()) {
    FailureOr<int64_t> inside = inferBlock(region.front());
    if (failed(inside))
      return failure();
    changed += *inside;
  }
  return success();
}

LogicalResult fail(Operation *op, StringRef what, Type found, Type expected) {
  op->emitError() << op->getName() << ": " << what << " has the shape "
                  << shapeToString(found) << ", expected "
                  << shapeToString(expected);
  return failure();
}

LogicalResult inferIf(IfOp op, SmallVectorImpl<Type> &types, int64_t &changed) {
  if (failed(inferRegions(op, changed)))
    return failure();
  llvm::append_range(types, op.getThenYield().getOperandTypes());
  for (auto [other, type] :
       llvm::zip_equal(op.getElseYield().getOperandTypes(), types))
    if (other != type)
      return fail(op, "a result of the second branch", other, type);
  return success();
}

/// What a loop carries keeps its shape from one iteration to the next.
LogicalResult checkCarried(Operation *op, OperandRange initial,
                           ValueRange next) {
  for (auto [value, type] : llvm::zip_equal(next, initial.getTypes()))
    if (value.getType() != type)
      return fail(op, "the next value of a carried one", value.getType(), type);
  return success();
}

LogicalResult inferWhile(WhileOp op, SmallVectorImpl<Type> &types,
                         int64_t &changed) {
  llvm::append_range(types, op.getInitial().getTypes());
  for (Region *region : op.getLoopRegions())
    for (auto [argument, type] : llvm::zip_equal(region->getArguments(), types))
      argument.setType(type);
  if (failed(inferRegions(op, changed)))
    return failure();
  return checkCarried(op, op.getInitial(), op.getYield().getOperands());
}

LogicalResult inferScan(ScanOp op, SmallVectorImpl<Type> &types,
                        int64_t &changed) {
  for (auto [argument, initial] :
       llvm::zip_equal(op.getCarried(), op.getInitial()))
    argument.setType(initial.getType());
  for (auto [row, x] : llvm::zip_equal(op.getRows(), op.getXs())) {
    row.setType(rowType(x.getType()));
    Type expected = stackedType(row.getType(), op.getLength());
    if (x.getType() != expected)
      return fail(op, "a tensor of rows", x.getType(), expected);
  }
  if (failed(inferRegions(op, changed)) ||
      failed(checkCarried(op, op.getInitial(), op.getNext())))
    return failure();
  llvm::append_range(types, op.getInitial().getTypes());
  for (Value row : op.getNextRows())
    types.push_back(stackedType(row.getType(), op.getLength()));
  return success();
}

LogicalResult inferCustomGradient(CustomGradientOp op,
                                  SmallVectorImpl<Type> &types,
                                  int64_t &changed) {
  auto setTypes = [](auto arguments, ValueRange values) {
    for (auto [argument, value] : llvm::zip(arguments, values))
      argument.setType(value.getType());
  };
  Block &forward = op.getForward().front(),
        &gradient = op.getGradient().front();
  setTypes(forward.getArguments(), op.getInputs());
  FailureOr<int64_t> inside = inferBlock(forward);
  if (failed(inside))
    return failure();
  changed += *inside;
  ValueRange results = forward.getTerminator()->getOperands();
  llvm::append_range(types, results.getTypes());
  auto arguments = gradient.getArguments();
  setTypes(arguments, op.getInputs());
  setTypes(arguments.drop_front(op.getInputs().size()), results);
  setTypes(arguments.take_back(results.size()), results);
  inside = inferBlock(gradient);
  if (failed(inside))
    return failure();
  changed += *inside;
  for (auto [yielded, input] :
       llvm::zip_equal(gradient.getTerminator()->getOperandTypes(),
                       op.getInputs().getTypes()))
    if (yielded != input)
      return fail(op, "the gradient of an input", yielded, input);
  return success();
}

/// The types that the results of `op` should have.
LogicalResult inferResults(Operation *op, SmallVectorImpl<Type> &types,
                           int64_t &changed) {
  if (auto inferred = dyn_cast<InferTypeOpInterface>(op))
    return inferred.inferReturnTypes(op->getContext(), op->getLoc(),
                                     op->getOperands(), op->getAttrDictionary(),
                                     op->getPropertiesStorage(),
                                     op->getRegions(), types);
  if (auto branch = dyn_cast<IfOp>(op))
    return inferIf(branch, types, changed);
  if (auto loop = dyn_cast<WhileOp>(op))
    return inferWhile(loop, types, changed);
  if (auto loop = dyn_cast<ScanOp>(op))
    return inferScan(loop, types, changed);
  if (auto custom = dyn_cast<CustomGradientOp>(op))
    return inferCustomGradient(custom, types, changed);
  FailureOr<RankedTensorType> type = failure();
  if (auto reshape = dyn_cast<ReshapeOp>(op))
    type = adaptReshape(reshape);
  else if (auto broadcast = dyn_cast<BroadcastOp>(op))
    type = adaptBroadcast(broadcast);
  else if (isa<CastOp, BitcastOp>(op))
    type = RankedTensorType::get(tensorType(op->getOperand(0)).getShape(),
                                 tensorType(op->getResult(0)).getElementType());
  else {
    llvm::append_range(types, op->getResultTypes());
    return success();
  }
  if (failed(type))
    return failure();
  types.push_back(*type);
  return success();
}

FailureOr<int64_t> inferBlock(Block &block) {
  int64_t changed = 0;
  for (Operation &op : block.without_terminator()) {
    SmallVector<Type> types;
    if (failed(inferResults(&op, types, changed)))
      return failure();
    if (llvm::equal(types, op.getResultTypes()))
      continue;
    for (auto [result, type] : llvm::zip_equal(op.getResults(), types))
      result.setType(type);
    ++changed;
  }
  return changed;
}

/// Reads "x=4x3".
LogicalResult applyShape(func::FuncOp function, StringRef text) {
  auto [name, dims] = text.rsplit('=');
  SmallVector<int64_t> shape;
  while (!dims.empty()) {
    auto [extent, rest] = dims.split('x');
    dims = rest;
    if (extent.getAsInteger(10, shape.emplace_back()) || shape.back() < 0)
      return function.emitError("infer-shapes: expected a shape as in "
                                "'x=4x3', found '")
             << text << "'";
  }
  return setInputShape(function, name, shape);
}

struct InferShapesPass : impl::InferShapesBase<InferShapesPass> {
  using InferShapesBase::InferShapesBase;
  void runOnOperation() override {
    for (const std::string &shape : shapes)
      if (failed(applyShape(getOperation(), shape)))
        return signalPassFailure();
    FailureOr<int64_t> changed = inferShapes(getOperation());
    if (failed(changed))
      return signalPassFailure();
    numChanged += *changed;
  }
};

} // namespace

LogicalResult setInputShape(func::FuncOp function, StringRef name,
                            ArrayRef<int64_t> shape) {
  for (BlockArgument argument : function.getArguments()) {
    auto known = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                       names::kName);
    if (!known || known != name)
      continue;
    argument.setType(
        RankedTensorType::get(shape, tensorType(argument).getElementType()));
    return success();
  }
  std::string inputs;
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (auto known = function.getArgAttrOfType<StringAttr>(i, names::kName))
      inputs += (inputs.empty() ? "" : ", ") + known.str();
  return function.emitError("the model has no input '")
         << name << "' to give a shape; its inputs are: " << inputs;
}

FailureOr<int64_t> inferShapes(func::FuncOp function) {
  if (function.isExternal())
    return 0;
  Block &body = function.getBody().front();
  FailureOr<int64_t> changed = inferBlock(body);
  if (failed(changed))
    return failure();
  function.setType(FunctionType::get(function.getContext(),
                                     body.getArgumentTypes(),
                                     body.getTerminator()->getOperandTypes()));
  return changed;
}

} // namespace tinh::transforms
