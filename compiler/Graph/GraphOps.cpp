//===- GraphOps.cpp - Graph ops, as importers write them --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Graph/GraphOps.h"

using namespace mlir;

namespace tinh {

Value GraphOps::fail(const Twine &what) {
  if (!hasFailed)
    message = what.str();
  hasFailed = true;
  return {};
}

std::string GraphOps::takeError() {
  std::string created = graph.takeError();
  return message.empty() ? created : std::exchange(message, {});
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

RankedTensorType GraphOps::type(Value value) {
  return llvm::cast<RankedTensorType>(value.getType());
}

ArrayRef<int64_t> GraphOps::shape(Value value) {
  return type(value).getShape();
}

Type GraphOps::element(Value value) { return type(value).getElementType(); }

std::optional<int64_t> GraphOps::axis(int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank) {
    fail("axis " + Twine(axis) + " is outside a tensor of rank " + Twine(rank));
    return std::nullopt;
  }
  return axis < 0 ? axis + rank : axis;
}

std::optional<Ints> GraphOps::axes(ArrayRef<int64_t> axes, int64_t rank) {
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

NamedAttribute GraphOps::channelsFirst() {
  return attr("layout", graph::LayoutAttr::get(graph.context(),
                                               graph::Layout::ChannelsFirst));
}

Value GraphOps::scalar(Type element, double value) {
  return constantFloats(element, {}, value);
}

Value GraphOps::scalarLike(Value value, double number) {
  return value ? scalar(element(value), number) : Value();
}

Value GraphOps::constantInts(ArrayRef<int64_t> shape,
                             ArrayRef<int64_t> values) {
  if (hasFailed)
    return {};
  auto type = RankedTensorType::get(shape, graph.raw().getI64Type());
  return graph.constant(DenseElementsAttr::get(type, values));
}

Value GraphOps::constantFloats(Type element, ArrayRef<int64_t> shape,
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

Value GraphOps::cast(Value x, Type to, bool saturate) {
  if (!x || !to || element(x) == to)
    return x;
  SmallVector<NamedAttribute, 1> attributes;
  if (saturate && graph::isStorageFloat(to))
    attributes.push_back(attr("saturate", graph.raw().getUnitAttr()));
  return create<graph::CastOp>({x}, attributes,
                               RankedTensorType::get(shape(x), to));
}

Value GraphOps::castToPower(Value x, graph::Rounding rounding, bool saturate) {
  Type to = Float8E8M0FNUType::get(graph.context());
  if (!x || element(x) == to)
    return x;
  SmallVector<NamedAttribute, 2> attributes = {
      attr("rounding", graph::RoundingAttr::get(graph.context(), rounding))};
  if (saturate)
    attributes.push_back(attr("saturate", graph.raw().getUnitAttr()));
  return create<graph::CastOp>({x}, attributes,
                               RankedTensorType::get(shape(x), to));
}

template <typename OpTy> Value GraphOps::shaped(Value x, ArrayRef<int64_t> to) {
  if (!x || shape(x) == to)
    return x;
  if (!countElements(to))
    return fail("the shape " + formatShape(to) +
                " is negative or beyond any memory");
  return create<OpTy>({x}, {}, RankedTensorType::get(to, element(x)));
}

Value GraphOps::reshape(Value x, ArrayRef<int64_t> to) {
  return shaped<graph::ReshapeOp>(x, to);
}

Value GraphOps::broadcast(Value x, ArrayRef<int64_t> to) {
  return shaped<graph::BroadcastOp>(x, to);
}

Value GraphOps::transpose(Value x, ArrayRef<int64_t> permutation) {
  return create<graph::TransposeOp>({x}, {attr("permutation", permutation)});
}

Value GraphOps::pad(Value x, Value outside, ArrayRef<int64_t> low,
                    ArrayRef<int64_t> high) {
  auto mode =
      graph::PadModeAttr::get(graph.context(), graph::PadMode::Constant);
  return create<graph::PadOp>(
      {x, outside}, {attr("low", low), attr("high", high), attr("mode", mode)});
}

Value GraphOps::sliceAxis(Value x, int64_t axis, int64_t start, int64_t size) {
  if (!x)
    return {};
  Ints starts(rank(x), 0), sizes(shape(x)), steps(rank(x), 1);
  starts[axis] = start;
  sizes[axis] = size;
  return create<graph::SliceOp>(
      {x},
      {attr("starts", starts), attr("sizes", sizes), attr("steps", steps)});
}

Value GraphOps::reverseRows(Value x) {
  if (!x)
    return {};
  SmallVector<int64_t> sizes(shape(x)), starts(sizes.size(), 0),
      steps(sizes.size(), 1);
  starts[0] = std::max<int64_t>(sizes[0] - 1, 0);
  steps[0] = -1;
  return create<graph::SliceOp>(
      {x},
      {attr("starts", starts), attr("sizes", sizes), attr("steps", steps)});
}

Value GraphOps::iota(int64_t size, int64_t start, int64_t step) {
  return create<graph::IotaOp>(
      {}, {attr("start", start), attr("step", step)},
      RankedTensorType::get({size}, graph.raw().getI64Type()));
}

Value GraphOps::gather(Value x, Value indices, int64_t axis) {
  return create<graph::GatherOp>({x, indices}, {attr("axis", axis)});
}

Value GraphOps::gather(Value x, ArrayRef<int64_t> indices, int64_t axis) {
  return gather(x, constantInts(static_cast<int64_t>(indices.size()), indices),
                axis);
}

Value GraphOps::concat(ValueRange parts, int64_t axis) {
  return parts.size() == 1
             ? parts.front()
             : create<graph::ConcatOp>(parts, {attr("axis", axis)});
}

Value GraphOps::matmul(Value a, Value b, bool transposeB) {
  SmallVector<NamedAttribute> attributes;
  if (transposeB)
    attributes.push_back(unit("transpose_b"));
  return create<graph::MatmulOp>({a, b}, attributes);
}

Value GraphOps::reduce(graph::ReduceKind kind, Value x, ArrayRef<int64_t> axes,
                       bool keepdims) {
  SmallVector<NamedAttribute> attributes = {
      attr("kind", graph::ReduceKindAttr::get(graph.context(), kind)),
      attr("axes", axes)};
  if (keepdims)
    attributes.push_back(unit("keepdims"));
  return create<graph::ReduceOp>({x}, attributes);
}

Value GraphOps::compare(graph::ComparePredicate predicate, Value a, Value b) {
  return create<graph::CompareOp>(
      {a, b}, {attr("predicate", graph::ComparePredicateAttr::get(
                                     graph.context(), predicate))});
}

Value GraphOps::perChannel(Value vector, int64_t rank) {
  if (!vector)
    return {};
  if (GraphOps::rank(vector) != 1)
    return fail("expected a vector over the channels, found " +
                graph::shapeToString(vector.getType()));
  Ints to(rank - 1, 1);
  to[0] = shape(vector)[0];
  return reshape(vector, to);
}

/// The arguments of a scan's region, which they are made for.
static ScanArguments addArguments(Block *block, ValueRange initial,
                                  ValueRange xs, Location loc) {
  ScanArguments arguments{
      block->addArgument(graph::countType(loc.getContext()), loc)};
  for (Value value : initial)
    arguments.carried.push_back(block->addArgument(value.getType(), loc));
  for (Value x : xs)
    arguments.rows.push_back(
        block->addArgument(graph::rowType(x.getType()), loc));
  return arguments;
}

ScanResults
GraphOps::scan(const ScanLength &length, ValueRange initial, ValueRange xs,
               llvm::function_ref<ScanResults(const ScanArguments &)> body) {
  ScanResults results;
  results.carried.resize(initial.size());
  if (hasFailed)
    return results;
  OpBuilder &builder = graph.raw();
  Location loc = graph.location();
  Region region;
  ScanResults made;
  {
    OpBuilder::InsertionGuard guard(builder);
    Block *block = builder.createBlock(&region);
    made = body(addArguments(block, initial, xs, loc));
    if (hasFailed)
      return results;
    SmallVector<Value> yielded;
    if (made.condition)
      yielded.push_back(made.condition);
    llvm::append_range(yielded, made.carried);
    llvm::append_range(yielded, made.rows);
    graph::YieldOp::create(builder, loc, yielded);
  }
  SmallVector<Type> types(initial.getTypes());
  for (Value row : made.rows)
    types.push_back(graph::stackedType(row.getType(), length.length));
  auto scan =
      graph::ScanOp::create(builder, loc, types, length.length,
                            length.tripCount, length.condition, initial, xs);
  scan.getBody().takeBody(region);
  results.carried.assign(scan.getFinals().begin(), scan.getFinals().end());
  results.rows.assign(scan.getStacked().begin(), scan.getStacked().end());
  return results;
}

} // namespace tinh
