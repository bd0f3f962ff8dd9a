//===- Layers.cpp - Products with constant weights --------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Quantization/Layers.h"

#include "compiler/Transforms/Constants/Constants.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace tinh::quantization {

using transforms::isConstantExpression;
using transforms::tensorType;

namespace {

bool isF32(Value value) { return tensorType(value).getElementType().isF32(); }

/// `layer` if it is one: of floats, with weights that are known.
std::optional<Layer> checked(Layer layer) {
  Value input = layer.input->get(), weights = layer.weights->get();
  if (!isF32(layer.result()) || isConstantExpression(input) ||
      !isConstantExpression(weights) ||
      tensorType(layer.result()).getNumElements() == 0 ||
      tensorType(weights).getNumElements() == 0)
    return std::nullopt;
  layer.name = graph::nodeName(layer.op->getLoc()).str();
  return layer;
}

std::optional<Layer> layerOf(Operation *op) {
  if (op->getNumResults() != 1)
    return std::nullopt;
  auto result = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  int64_t rank = result ? result.getRank() : 0;
  if (auto conv = dyn_cast<graph::ConvOp>(op))
    return checked(
        {op, &conv.getXMutable(), &conv.getWeightsMutable(), 0,
         conv.getLayout() == graph::Layout::ChannelsFirst ? 1 : rank - 1, ""});
  auto matmul = dyn_cast<graph::MatmulOp>(op);
  if (!matmul || matmul.getTransposeA() ||
      tensorType(matmul.getA()).getRank() < 2 ||
      tensorType(matmul.getB()).getRank() != 2)
    return std::nullopt;
  return checked({op, &matmul.getAMutable(), &matmul.getBMutable(),
                  matmul.getTransposeB() ? 0 : 1, rank - 1, ""});
}

//===----------------------------------------------------------------------===//
// Which activations are bytes
//===----------------------------------------------------------------------===//

/// What limits or moves the elements of its first operand.
bool passesBytes(Operation *op) {
  return isa<graph::ReluOp, graph::MaxOp, graph::MinOp, graph::ReshapeOp,
             graph::TransposeOp, graph::MaxPoolOp>(op);
}

/// A sum of two activations of one shape.
graph::AddOp asResidual(Operation *op) {
  auto add = dyn_cast_or_null<graph::AddOp>(op);
  return add && add.getA().getType() == add.getB().getType() &&
                 !isConstantExpression(add.getA()) &&
                 !isConstantExpression(add.getB())
             ? add
             : graph::AddOp();
}

/// The sum whose elements, limited or moved, `value` has.
graph::AddOp residualBehind(Value value) {
  Operation *op = value.getDefiningOp();
  while (op && passesBytes(op))
    op = op->getOperand(0).getDefiningOp();
  return asResidual(op);
}

/// Of the operands of a sum, the one that is computed first, which is stored
/// until the other one is there.
Value storedOperand(graph::AddOp add) {
  Operation *a = add.getA().getDefiningOp(), *b = add.getB().getDefiningOp();
  if (!a || (b && a->isBeforeInBlock(b)))
    return add.getA();
  return add.getB();
}

} // namespace

int64_t Layer::channels() const {
  return tensorType(weights->get()).getDimSize(weightsAxis);
}

graph::AddOp Layer::bias() const {
  Value y = result();
  auto add = y.hasOneUse() ? dyn_cast<graph::AddOp>(*y.getUsers().begin())
                           : graph::AddOp();
  if (!add || add.getY().getType() != y.getType())
    return {};
  Value other = add.getA() == y ? add.getB() : add.getA();
  ArrayRef<int64_t> shape = tensorType(other).getShape();
  int64_t fromEnd = tensorType(y).getRank() - resultAxis;
  for (auto [i, extent] : llvm::enumerate(llvm::reverse(shape)))
    if (extent != 1 && static_cast<int64_t>(i) + 1 != fromEnd)
      return {};
  return isConstantExpression(other) ? add : graph::AddOp();
}

SmallVector<int64_t> Layer::vectorShape() const {
  SmallVector<int64_t> shape(tensorType(result()).getRank() - resultAxis, 1);
  shape[0] = channels();
  return shape;
}

std::vector<Layer> findLayers(func::FuncOp main) {
  std::vector<Layer> layers;
  for (Operation &op : main.getBody().front())
    if (auto layer = layerOf(&op))
      layers.push_back(*layer);
  return layers;
}

bool readsBytes(OpOperand &use) {
  Operation *op = use.getOwner();
  // What is normalised afterwards, as in a transformer, is exact: the sums of
  // many layers go through it.
  if (asResidual(op))
    return llvm::none_of(op->getUsers(), [](Operation *user) {
      return isa<graph::LayerNormOp>(user);
    });
  return passesBytes(op) || isa<graph::ConcatOp, graph::AvgPoolOp,
                                graph::ReduceOp, graph::SliceOp>(op);
}

llvm::SetVector<Value> activationsOf(ArrayRef<const Layer *> layers) {
  llvm::SetVector<Value> activations;
  for (const Layer *layer : layers)
    activations.insert(layer->input->get());
  // Sums are found behind activations, and behind operands that are added.
  for (size_t i = 0; i < activations.size(); ++i) {
    graph::AddOp add = residualBehind(activations[i]);
    if (!add || activations.contains(add.getA()) ||
        activations.contains(add.getB()) || !readsBytes(add->getOpOperand(0)))
      continue;
    activations.insert(storedOperand(add));
  }
  return activations;
}

Layer copied(const Layer &layer, const IRMapping &copy) {
  Operation *op = copy.lookup(layer.op);
  Layer result = layer;
  result.op = op;
  result.input = &op->getOpOperand(layer.input->getOperandNumber());
  result.weights = &op->getOpOperand(layer.weights->getOperandNumber());
  return result;
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

LogicalResult changeBias(const Layer &layer,
                         llvm::function_ref<float(size_t, float)> changed,
                         MappedFiles &files) {
  graph::AddOp bias = layer.bias();
  OpOperand &constant =
      bias->getOpOperand(bias.getA() == layer.result() ? 1 : 0);
  auto old = evaluate(constant.get(), files);
  if (failed(old))
    return failure();
  std::vector<float> values;
  for (int64_t i = 0; i < layer.channels(); ++i)
    values.push_back(changed(i, (*old)[old->size() == 1 ? 0 : i]));
  OpBuilder builder(bias);
  constant.set(createFloats(builder, constant.get().getLoc(),
                            layer.vectorShape(), values));
  return success();
}

StringRef inputName(BlockArgument argument) {
  auto main = cast<func::FuncOp>(argument.getOwner()->getParentOp());
  auto name = main.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                graph::names::kName);
  return name ? name.getValue() : StringRef();
}

Location locationFor(Value value, StringRef role) {
  StringRef name = graph::nodeName(value.getLoc());
  if (auto argument = dyn_cast<BlockArgument>(value))
    name = inputName(argument);
  MLIRContext *context = value.getContext();
  return NameLoc::get(
      StringAttr::get(context, name.empty() ? role : name + "/" + role));
}

} // namespace tinh::quantization
