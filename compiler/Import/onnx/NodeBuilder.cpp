//===- NodeBuilder.cpp - What the builders of ONNX ops work with ----------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/onnx/NodeBuilder.h"

#include "llvm/ADT/StringMap.h"

using namespace mlir;
using ::onnx::AttributeProto;

namespace tinh::onnx {

Value NodeBuilder::fail(const Twine &what) {
  if (!hasFailed)
    message = what.str();
  hasFailed = true;
  return {};
}

std::string NodeBuilder::takeError() {
  std::string created = graph.takeError();
  return message.empty() ? created : std::exchange(message, {});
}

//===----------------------------------------------------------------------===//
// Inputs and outputs
//===----------------------------------------------------------------------===//

bool NodeBuilder::has(int i) const {
  return i < node.proto->input_size() && !node.proto->input(i).empty();
}

bool NodeBuilder::wants(int i) const {
  return i < node.proto->output_size() && !node.proto->output(i).empty();
}

Value NodeBuilder::input(int i) {
  if (!has(i))
    return fail("input " + Twine(i) + " is missing");
  Value value = lookup(node.proto->input(i)); // which reports its errors
  hasFailed |= !value;
  return value;
}

SmallVector<Value> NodeBuilder::inputs() {
  SmallVector<Value> values;
  for (int i = 0; i < numInputs(); ++i)
    values.push_back(input(i));
  return values;
}

bool NodeBuilder::refuseOutputs(int first) {
  for (int i = first; i < numOutputs(); ++i)
    if (wants(i)) {
      fail("output " + Twine(i) + " (\"" + node.proto->output(i) +
           "\") is not supported");
      return true;
    }
  return false;
}

std::optional<DenseElementsAttr> NodeBuilder::constantInput(int i,
                                                            StringRef what) {
  Value value = input(i);
  if (!value)
    return std::nullopt;
  auto constant = graph.constantOf(value);
  if (!constant)
    fail(what + " (input \"" + node.proto->input(i) +
         "\") must be a constant: shapes are fixed when the model is compiled");
  return constant;
}

std::optional<Ints> NodeBuilder::ints(int i, StringRef what) {
  auto constant = constantInput(i, what);
  if (!constant)
    return std::nullopt;
  if (!isa<IntegerType>(constant->getElementType())) {
    fail(what + " must have integer elements");
    return std::nullopt;
  }
  return denseToInts(*constant);
}

std::optional<SmallVector<double>> NodeBuilder::numbers(int i, StringRef what) {
  auto constant = constantInput(i, what);
  if (!constant)
    return std::nullopt;
  return denseToDoubles(*constant);
}

std::optional<double> NodeBuilder::number(int i, StringRef what) {
  auto values = numbers(i, what);
  if (!values)
    return std::nullopt;
  if (values->size() != 1) {
    fail(what + " must be one number, found " + Twine(values->size()));
    return std::nullopt;
  }
  return values->front();
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

bool NodeBuilder::hasAttribute(StringRef name) const {
  return llvm::any_of(node.proto->attribute(), [&](const AttributeProto &a) {
    return a.name() == name;
  });
}

const AttributeProto *NodeBuilder::attribute(StringRef name, int type) {
  for (const AttributeProto &attribute : node.proto->attribute()) {
    if (attribute.name() != name)
      continue;
    // Files of IR version 1 leave the type out.
    if (attribute.type() == type ||
        attribute.type() == AttributeProto::UNDEFINED)
      return &attribute;
    fail("attribute " + name + ": expected " +
         AttributeProto::AttributeType_Name(
             static_cast<AttributeProto::AttributeType>(type)) +
         ", found " + AttributeProto::AttributeType_Name(attribute.type()));
  }
  return nullptr;
}

int64_t NodeBuilder::intAttribute(StringRef name, int64_t otherwise) {
  const AttributeProto *a = attribute(name, AttributeProto::INT);
  return a ? a->i() : otherwise;
}

double NodeBuilder::floatAttribute(StringRef name, double otherwise) {
  const AttributeProto *a = attribute(name, AttributeProto::FLOAT);
  return a ? a->f() : otherwise;
}

std::string NodeBuilder::stringAttribute(StringRef name, StringRef otherwise) {
  const AttributeProto *a = attribute(name, AttributeProto::STRING);
  return a ? a->s() : otherwise.str();
}

Ints NodeBuilder::intsAttribute(StringRef name, Ints otherwise) {
  const AttributeProto *a = attribute(name, AttributeProto::INTS);
  return a ? Ints(a->ints().begin(), a->ints().end()) : otherwise;
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

RankedTensorType NodeBuilder::type(Value value) {
  return llvm::cast<RankedTensorType>(value.getType());
}

ArrayRef<int64_t> NodeBuilder::shape(Value value) {
  return type(value).getShape();
}

Type NodeBuilder::element(Value value) { return type(value).getElementType(); }

Type NodeBuilder::elementType(int64_t onnxType) {
  Type type = convertElementType(static_cast<int>(onnxType), graph.context());
  if (!type)
    fail("element type " + elementTypeName(static_cast<int>(onnxType)) +
         " is not supported");
  return type;
}

std::optional<int64_t> NodeBuilder::axis(int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank) {
    fail("axis " + Twine(axis) + " is outside a tensor of rank " + Twine(rank));
    return std::nullopt;
  }
  return axis < 0 ? axis + rank : axis;
}

std::optional<Ints> NodeBuilder::axes(ArrayRef<int64_t> axes, int64_t rank) {
  Ints result;
  for (int64_t value : axes) {
    auto normalised = axis(value, rank);
    if (!normalised)
      return std::nullopt;
    if (llvm::is_contained(result, *normalised)) {
      fail("axes " + formatShape(axes) + " name a dimension twice");
      return std::nullopt;
    }
    result.push_back(*normalised);
  }
  llvm::sort(result);
  return result;
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

NamedAttribute NodeBuilder::channelsFirst() {
  return attr("layout", graph::LayoutAttr::get(graph.context(),
                                               graph::Layout::ChannelsFirst));
}

Value NodeBuilder::scalar(Type element, double value) {
  return constantFloats(element, {}, value);
}

Value NodeBuilder::scalarLike(Value value, double number) {
  return value ? scalar(element(value), number) : Value();
}

Value NodeBuilder::constantInts(ArrayRef<int64_t> shape,
                                ArrayRef<int64_t> values) {
  if (hasFailed)
    return {};
  auto type = RankedTensorType::get(shape, graph.raw().getI64Type());
  return graph.constant(DenseElementsAttr::get(type, values));
}

Value NodeBuilder::constantFloats(Type element, ArrayRef<int64_t> shape,
                                  ArrayRef<double> values) {
  if (hasFailed)
    return {};
  auto type = RankedTensorType::get(shape, element);
  if (auto floats = dyn_cast<FloatType>(element)) {
    SmallVector<APFloat> elements;
    for (double value : values) {
      elements.emplace_back(value);
      bool isInexact;
      elements.back().convert(floats.getFloatSemantics(),
                              APFloat::rmNearestTiesToEven, &isInexact);
    }
    return graph.constant(DenseElementsAttr::get(type, elements));
  }
  SmallVector<APInt> elements;
  for (double value : values)
    elements.emplace_back(element.getIntOrFloatBitWidth(),
                          static_cast<uint64_t>(static_cast<int64_t>(value)),
                          /*isSigned=*/true, /*implicitTrunc=*/true);
  return graph.constant(DenseElementsAttr::get(type, elements));
}

Value NodeBuilder::tensor(const ::onnx::TensorProto &tensor) {
  std::string error;
  TypedAttr value = convertTensor(tensor, file, graph.context(), error);
  if (!value)
    return fail(error);
  return graph.constant(value);
}

Value NodeBuilder::cast(Value x, Type to) {
  if (!x || !to || element(x) == to)
    return x;
  return create<graph::CastOp>({x}, {}, RankedTensorType::get(shape(x), to));
}

Value NodeBuilder::reshape(Value x, ArrayRef<int64_t> to) {
  if (!x || shape(x) == to)
    return x;
  if (!countElements(to))
    return fail("the shape " + formatShape(to) +
                " is negative or beyond any memory");
  return create<graph::ReshapeOp>({x}, {},
                                  RankedTensorType::get(to, element(x)));
}

Value NodeBuilder::broadcast(Value x, ArrayRef<int64_t> to) {
  if (!x || shape(x) == to)
    return x;
  if (!countElements(to))
    return fail("the shape " + formatShape(to) +
                " is negative or beyond any memory");
  return create<graph::BroadcastOp>({x}, {},
                                    RankedTensorType::get(to, element(x)));
}

Value NodeBuilder::transpose(Value x, ArrayRef<int64_t> permutation) {
  return create<graph::TransposeOp>({x}, {attr("permutation", permutation)});
}

Value NodeBuilder::sliceAxis(Value x, int64_t axis, int64_t start,
                             int64_t size) {
  if (!x)
    return {};
  Ints starts(rank(x), 0), sizes(shape(x)), steps(rank(x), 1);
  starts[axis] = start;
  sizes[axis] = size;
  return create<graph::SliceOp>(
      {x},
      {attr("starts", starts), attr("sizes", sizes), attr("steps", steps)});
}

Value NodeBuilder::iota(int64_t size, int64_t start, int64_t step) {
  return create<graph::IotaOp>(
      {}, {attr("start", start), attr("step", step)},
      RankedTensorType::get({size}, graph.raw().getI64Type()));
}

Value NodeBuilder::gather(Value x, Value indices, int64_t axis) {
  return create<graph::GatherOp>({x, indices}, {attr("axis", axis)});
}

Value NodeBuilder::gather(Value x, ArrayRef<int64_t> indices, int64_t axis) {
  return gather(x, constantInts(static_cast<int64_t>(indices.size()), indices),
                axis);
}

Value NodeBuilder::concat(ValueRange parts, int64_t axis) {
  return parts.size() == 1
             ? parts.front()
             : create<graph::ConcatOp>(parts, {attr("axis", axis)});
}

Value NodeBuilder::matmul(Value a, Value b, bool transposeB) {
  SmallVector<NamedAttribute> attributes;
  if (transposeB)
    attributes.push_back(unit("transpose_b"));
  return create<graph::MatmulOp>({a, b}, attributes);
}

Value NodeBuilder::reduce(graph::ReduceKind kind, Value x,
                          ArrayRef<int64_t> axes, bool keepdims) {
  SmallVector<NamedAttribute> attributes = {
      attr("kind", graph::ReduceKindAttr::get(graph.context(), kind)),
      attr("axes", axes)};
  if (keepdims)
    attributes.push_back(unit("keepdims"));
  return create<graph::ReduceOp>({x}, attributes);
}

Value NodeBuilder::compare(graph::ComparePredicate predicate, Value a,
                           Value b) {
  return create<graph::CompareOp>(
      {a, b}, {attr("predicate", graph::ComparePredicateAttr::get(
                                     graph.context(), predicate))});
}

Value NodeBuilder::perChannel(Value vector, int64_t rank) {
  if (!vector)
    return {};
  if (NodeBuilder::rank(vector) != 1)
    return fail("expected a vector over the channels, found " +
                graph::shapeToString(vector.getType()));
  Ints to(rank - 1, 1);
  to[0] = shape(vector)[0];
  return reshape(vector, to);
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

const OpEntry *findOp(StringRef domain, StringRef name, int64_t opset) {
  using Table = llvm::StringMap<SmallVector<const OpEntry *, 1>>;
  static const Table table = [] {
    Table result;
    for (ArrayRef<OpEntry> family :
         {activationOps(), attentionOps(), constantOps(), contractionOps(),
          einsumOps(), elementwiseOps(), lossOps(), movementOps(),
          normalizationOps(), poolingOps(), quantizationOps(), recurrentOps(),
          reductionOps(), resizeOps(), samplingOps(), scatterOps(),
          selectionOps(), shapeOps(), signalOps()})
      for (const OpEntry &entry : family)
        result[entry.name].push_back(&entry);
    return result;
  }();
  if (!domain.empty())
    return nullptr;
  const OpEntry *best = nullptr;
  auto it = table.find(name);
  if (it == table.end())
    return nullptr;
  for (const OpEntry *entry : it->second)
    if (entry->since <= opset && (!best || entry->since > best->since))
      best = entry;
  return best;
}

} // namespace tinh::onnx
