//===- NodeWriter.cpp - What the writers of graph ops work with -*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Export/onnx/NodeWriter.h"

#include "compiler/Import/onnx/Tensors.h"
#include "dialects/graph/OpFacts.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;
using ::onnx::AttributeProto;

namespace tinh::onnx {

static AttributeProto make(StringRef name, AttributeProto::AttributeType type) {
  AttributeProto result;
  result.set_name(name.str());
  result.set_type(type);
  return result;
}

AttributeProto attribute(StringRef name, int64_t value) {
  AttributeProto result = make(name, AttributeProto::INT);
  result.set_i(value);
  return result;
}

AttributeProto attribute(StringRef name, double value) {
  AttributeProto result = make(name, AttributeProto::FLOAT);
  result.set_f(static_cast<float>(value));
  return result;
}

AttributeProto attribute(StringRef name, StringRef value) {
  AttributeProto result = make(name, AttributeProto::STRING);
  result.set_s(value.str());
  return result;
}

AttributeProto attribute(StringRef name, ArrayRef<int64_t> values) {
  AttributeProto result = make(name, AttributeProto::INTS);
  for (int64_t value : values)
    result.add_ints(value);
  return result;
}

Type arithmeticType(Type element) {
  auto type = dyn_cast<IntegerType>(element);
  if (!type || type.getWidth() == 1)
    return element;
  unsigned width = type.getWidth() < 32 ? 32
                   : type.isUnsigned()  ? 64
                                        : type.getWidth();
  return IntegerType::get(type.getContext(), width);
}

const OpWriter *findWriter(StringRef op) {
  static const auto writers = [] {
    llvm::StringMap<OpWriter> all;
    for (const graph::OpFacts &facts : graph::allFacts())
      if (!facts.onnxName.empty())
        all[("graph." + facts.name).str()] = {facts.name, same, facts.onnxName};
    for (const OpWriters &family :
         {contractionWriters(), elementwiseWriters(), movementWriters(),
          normalizationWriters(), poolingWriters(), quantizationWriters(),
          reductionWriters()})
      for (const OpWriter &entry : family) {
        StringRef ofOp = all.lookup(entry.name).onnx;
        all[entry.name] = {entry.name, entry.write,
                           entry.onnx.empty() ? ofOp : entry.onnx};
      }
    return all;
  }();
  auto found = writers.find(op);
  return found == writers.end() ? nullptr : &found->second;
}

//===----------------------------------------------------------------------===//
// NodeWriter
//===----------------------------------------------------------------------===//

std::vector<Tensor> NodeWriter::operands() {
  std::vector<Tensor> result;
  for (Value operand : op->getOperands())
    result.push_back(sink.tensor(operand));
  return result;
}

/// A constant's elements in another shape; null if `value` is none.
static TypedAttr constantAs(Value value, RankedTensorType type) {
  auto constant = value.getDefiningOp<graph::ConstantOp>();
  if (!constant)
    return {};
  TypedAttr elements = graph::elementsOf(constant.getValue());
  if (auto dense = dyn_cast<DenseElementsAttr>(elements))
    return dense.reshape(type);
  auto file = llvm::cast<graph::ExternalAttr>(elements);
  return graph::ExternalAttr::get(value.getContext(), type, file.getFile(),
                                  file.getOffset(), file.getSize());
}

Tensor NodeWriter::reshaped(Value value, ArrayRef<int64_t> shape,
                            StringRef role) {
  auto type = llvm::cast<RankedTensorType>(value.getType());
  if (type.getShape() == shape)
    return sink.tensor(value);
  if (TypedAttr elements = constantAs(value, type.clone(shape)))
    return sink.reshapedConstant(value, elements, (name + "/" + role).str());
  return reshape(sink.tensor(value), shape);
}

Tensor NodeWriter::refuse(const Twine &why) {
  sink.refuse(op, why);
  return {};
}

/// The operator set that a node has to be of by what it is, or works on.
static int64_t opsetOf(StringRef type, ArrayRef<Tensor> inputs, Type result) {
  auto isPower = [](Type element) { return isa<Float8E8M0FNUType>(element); };
  bool hasPowers =
      isPower(result) || llvm::any_of(inputs, [&](const Tensor &x) {
        return x.type && isPower(x.element());
      });
#define CUMULATIVE_ONNX(NAME, STRING, OPSET)                                   \
  if (type == STRING)                                                          \
    return OPSET;
#include "dialects/graph/ReductionOps.inc"
  return type == "BitCast" ? 26 : hasPowers ? 24 : 0;
}

/// Whether nodes of this type may have floats for storage, of those that are
/// written.
static bool takesStorageFloats(StringRef type) {
  return llvm::is_contained({"BitCast", "Cast", "ConstantOfShape",
                             "DequantizeLinear", "Identity", "Pad",
                             "QuantizeLinear", "Reshape", "Transpose"},
                            type);
}

Tensor NodeWriter::node(StringRef type, ArrayRef<Tensor> inputs,
                        RankedTensorType result, Attributes attributes) {
  bool hasStorageFloat = llvm::any_of(inputs, [](const Tensor &input) {
    return input.type && graph::isStorageFloat(input.element());
  });
  if (hasStorageFloat && !takesStorageFloats(type))
    refuse("ONNX's " + type + " takes no floats of 8 or 4 bits");
  if (result)
    sink.needOpset(opsetOf(type, inputs, result.getElementType()));
  last = &sink.addNode();
  Tensor output{sink.freshName((name + "/" + type).str()), result};
  last->set_name(output.name);
  last->set_op_type(type.str());
  for (const Tensor &input : inputs)
    last->add_input(input.name);
  last->add_output(output.name);
  for (AttributeProto &attribute : attributes)
    last->add_attribute()->Swap(&attribute);
  return output;
}

static RankedTensorType broadcast(ArrayRef<Tensor> operands, Type element) {
  SmallVector<ArrayRef<int64_t>> shapes;
  for (const Tensor &operand : operands)
    shapes.push_back(operand.shape());
  return RankedTensorType::get(*graph::broadcastShapes(shapes), element);
}

Tensor NodeWriter::elementwise(StringRef op, const Tensor &a, const Tensor &b) {
  return node(op, {a, b}, broadcast({a, b}, a.element()));
}

Tensor NodeWriter::compare(StringRef op, const Tensor &a, const Tensor &b) {
  Type boolean = IntegerType::get(a.element().getContext(), 1);
  return node(op, {a, b}, broadcast({a, b}, boolean));
}

Tensor NodeWriter::where(const Tensor &condition, const Tensor &a,
                         const Tensor &b) {
  return node("Where", {condition, a, b},
              broadcast({condition, a, b}, a.element()));
}

Tensor NodeWriter::cast(const Tensor &x, Type element) {
  if (x.element() == element)
    return x;
  return node("Cast", x, withElement(x.type, element),
              {attribute("to", int64_t(findElementType(element)))});
}

Tensor NodeWriter::reshape(const Tensor &x, ArrayRef<int64_t> shape) {
  Attributes attributes;
  if (llvm::is_contained(shape, 0)) // else a 0 stands for the input's extent
    attributes.push_back(attribute("allowzero", int64_t(1)));
  return node("Reshape", {x, ints(shape)}, x.type.clone(shape), attributes);
}

Tensor NodeWriter::expand(const Tensor &x, ArrayRef<int64_t> shape) {
  return node("Expand", {x, ints(shape)}, x.type.clone(shape));
}

Tensor NodeWriter::transpose(const Tensor &x, ArrayRef<int64_t> permutation) {
  Ints shape;
  for (int64_t from : permutation)
    shape.push_back(x.shape()[from]);
  return node("Transpose", x, x.type.clone(shape),
              {attribute("perm", permutation)});
}

Tensor NodeWriter::pad(const Tensor &x, const Tensor &value,
                       ArrayRef<int64_t> low, ArrayRef<int64_t> high,
                       StringRef mode) {
  Ints pads(low), shape;
  pads.append(high.begin(), high.end());
  for (int64_t i = 0; i < x.rank(); ++i)
    shape.push_back(x.shape()[i] + low[i] + high[i]);
  SmallVector<Tensor> inputs = {x, ints(pads)};
  if (mode == "constant")
    inputs.push_back(value);
  return node("Pad", inputs, x.type.clone(shape), {attribute("mode", mode)});
}

Tensor NodeWriter::reduce(StringRef op, const Tensor &x,
                          ArrayRef<int64_t> axes) {
  Ints shape(x.shape());
  for (int64_t axis : axes)
    shape[axis] = 1;
  return node(op, {x, ints(axes)}, x.type.clone(shape),
              {attribute("keepdims", int64_t(1))});
}

/// Which dimensions of a channels-last image are N, C, spatial….
static Ints channelsFirst(int64_t rank) {
  Ints order = {0, rank - 1};
  for (int64_t i = 1; i + 1 < rank; ++i)
    order.push_back(i);
  return order;
}

RankedTensorType NodeWriter::typeInOrder(graph::Layout layout) const {
  if (layout == graph::Layout::ChannelsFirst)
    return type();
  Ints shape;
  for (int64_t from : channelsFirst(type().getRank()))
    shape.push_back(type().getDimSize(from));
  return type().clone(shape);
}

Tensor NodeWriter::toOrder(const Tensor &x, graph::Layout layout) {
  if (layout == graph::Layout::ChannelsFirst)
    return x;
  return transpose(x, channelsFirst(x.rank()));
}

Tensor NodeWriter::fromOrder(const Tensor &x, graph::Layout layout) {
  if (layout == graph::Layout::ChannelsFirst || !x.type)
    return x;
  return transpose(x, invertPermutationVector(channelsFirst(x.rank())));
}

Tensor NodeWriter::ints(ArrayRef<int64_t> values) {
  auto type = RankedTensorType::get(static_cast<int64_t>(values.size()),
                                    IntegerType::get(op->getContext(), 64));
  return sink.constant(DenseElementsAttr::get(type, values), name + "/ints");
}

static Attribute number(Type element, double value) {
  if (isa<FloatType>(element))
    return FloatAttr::get(element, value);
  return IntegerAttr::get(element, static_cast<int64_t>(value));
}

Tensor NodeWriter::scalar(Type element, double value) {
  auto type = RankedTensorType::get({}, element);
  return sink.constant(DenseElementsAttr::get(type, number(element, value)),
                       name + "/number");
}

Tensor NodeWriter::floats(RankedTensorType type, ArrayRef<double> values) {
  SmallVector<Attribute> elements;
  for (double value : values)
    elements.push_back(number(type.getElementType(), value));
  return sink.constant(DenseElementsAttr::get(type, elements),
                       name + "/numbers");
}

Tensor NodeWriter::packed(TypedAttr bytes) {
  return sink.packedConstant(bytes, type(), name + "/packed");
}

void NodeWriter::finish(const Tensor &result) {
  if (!last || last->output(0) != result.name)
    node("Identity", result);
  last->set_name(name);
  last->set_output(0, name);
}

} // namespace tinh::onnx
