//===- Scan.cpp - Scan nodes ------------------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// graph.scan goes along the first dimension, forwards: tensors that are scanned
// otherwise are transposed or reversed before, and results after it.
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/onnx/control_flow/ControlFlow.h"

using namespace mlir;

namespace tinh::onnx {

/// `x` with a dimension at another place.
static Value moveAxis(NodeBuilder &b, Value x, int64_t from, int64_t to) {
  if (!x || from == to)
    return x;
  SmallVector<int64_t> permutation;
  for (int64_t i = 0; i < b.rank(x); ++i)
    if (i != from)
      permutation.push_back(i);
  permutation.insert(permutation.begin() + to, from);
  return b.transpose(x, permutation);
}

/// An attribute with a number for each of `count` tensors, 0 if not there.
static std::optional<Ints> perTensor(NodeBuilder &b, StringRef name,
                                     size_t count) {
  Ints values = b.intsAttribute(name, Ints(count, 0));
  if (values.size() == count)
    return values;
  b.fail("attribute " + name + ": expected " + Twine(count) +
         " numbers, found " + Twine(values.size()));
  return std::nullopt;
}

/// Makes the block of a scan's body, and builds there: its arguments are the
/// iteration, the carried values, and a row of each of `xs`.
static SmallVector<Value> startBody(NodeBuilder &b, Region &body,
                                    ValueRange carried, ValueRange xs) {
  Location loc = b.graph.location();
  Block *block = b.graph.raw().createBlock(&body);
  block->addArgument(graph::countType(b.graph.context()), loc);
  SmallVector<Value> arguments;
  for (Value value : carried)
    arguments.push_back(block->addArgument(value.getType(), loc));
  for (Value x : xs) {
    arguments.push_back(block->addArgument(graph::rowType(x.getType()), loc));
    auto ofRow = b.graph.boundedDimensions(x);
    ofRow >>= 1;
    ofRow.resize(ofRow.size() - 1);
    b.graph.markBounded(arguments.back(), ofRow);
  }
  return arguments;
}

/// A scan over the first dimension of `xs`; its last carried values and its
/// stacked rows.
static Results scanRows(NodeBuilder &b, const GraphProto &graph,
                        ValueRange initial, ValueRange xs,
                        SubgraphBuilder buildSubgraph) {
  OpBuilder &raw = b.graph.raw();
  Location loc = b.graph.location();
  int64_t length = b.shape(xs.front())[0];
  for (Value x : xs)
    if (b.shape(x)[0] != length)
      return {b.fail("the scanned tensors have " + Twine(length) + " and " +
                     Twine(b.shape(x)[0]) + " rows")};
  Region region;
  Results outputs;
  {
    OpBuilder::InsertionGuard guard(raw);
    SmallVector<Value> inputs = startBody(b, region, initial, xs);
    if (!buildTensors(b, graph, inputs, outputs, buildSubgraph))
      return {Value()};
    graph::YieldOp::create(raw, loc, outputs);
  }
  ValueRange next = ValueRange(outputs).take_front(initial.size()),
             rows = ValueRange(outputs).drop_front(initial.size());
  if (!checkCarried(b, initial, next))
    return {Value()};
  SmallVector<Type> types(initial.getTypes());
  if (!addStacked(b, rows, length, types))
    return {Value()};
  auto scan = graph::ScanOp::create(raw, loc, types, length, Value(), Value(),
                                    initial, xs);
  scan.getBody().takeBody(region);
  bool endsEarly =
      llvm::any_of(xs, [&](Value x) { return b.graph.isBounded(x, 0); });
  for (Value stacked : scan.getOutputs().drop_front(initial.size())) {
    llvm::SmallBitVector bounded(b.rank(stacked));
    bounded[0] = endsEarly;
    b.graph.markBounded(stacked, bounded);
  }
  return Results(scan.getOutputs());
}

/// Moves the scanned dimensions to the front, in the order of the iterations.
static bool orderInputs(NodeBuilder &b, MutableArrayRef<Value> xs,
                        bool hasAxes) {
  auto axes = perTensor(b, "scan_input_axes", hasAxes ? xs.size() : 0);
  auto directions =
      perTensor(b, hasAxes ? "scan_input_directions" : "directions", xs.size());
  for (size_t i = 0; axes && directions && i < xs.size() && !b.failed(); ++i) {
    if (b.rank(xs[i]) == 0) {
      b.fail("a tensor of rank 0 cannot be scanned");
      return false;
    }
    auto axis = b.axis(hasAxes ? (*axes)[i] : 0, b.rank(xs[i]));
    if (!axis)
      return false;
    xs[i] = moveAxis(b, xs[i], *axis, 0);
    if ((*directions)[i])
      xs[i] = b.reverseRows(xs[i]);
  }
  return !b.failed();
}

/// Moves stacked rows to where the node says.
static bool orderOutputs(NodeBuilder &b, MutableArrayRef<Value> stacked) {
  auto axes = perTensor(b, "scan_output_axes", stacked.size());
  auto directions = perTensor(b, "scan_output_directions", stacked.size());
  for (size_t i = 0; axes && directions && i < stacked.size(); ++i) {
    auto axis = b.axis((*axes)[i], b.rank(stacked[i]));
    if (!axis)
      return false;
    if ((*directions)[i])
      stacked[i] = b.reverseRows(stacked[i]);
    stacked[i] = moveAxis(b, stacked[i], 0, *axis);
  }
  return !b.failed();
}

/// Up to operator set 8 everything has a batch dimension in front: a scan over
/// its elements of scans.
static Results buildBatchedScan(NodeBuilder &b, const GraphProto &graph,
                                ArrayRef<Value> inputs, size_t carried,
                                SubgraphBuilder buildSubgraph) {
  OpBuilder &raw = b.graph.raw();
  Location loc = b.graph.location();
  for (Value input : inputs)
    if (b.rank(input) == 0 || b.shape(input)[0] != b.shape(inputs.front())[0])
      return {b.fail("the inputs must have the same first dimension, that of "
                     "the batch")};
  int64_t batch = b.shape(inputs.front())[0];
  Region region;
  Results results;
  {
    OpBuilder::InsertionGuard guard(raw);
    SmallVector<Value> elements = startBody(b, region, {}, inputs);
    MutableArrayRef<Value> xs =
        MutableArrayRef<Value>(elements).drop_front(carried);
    if (!orderInputs(b, xs, /*hasAxes=*/false))
      return {Value()};
    results = scanRows(b, graph, ArrayRef(elements).take_front(carried), xs,
                       buildSubgraph);
    if (llvm::is_contained(results, Value()))
      return {Value()};
    graph::YieldOp::create(raw, loc, results);
  }
  SmallVector<Type> types;
  if (!addStacked(b, results, batch, types))
    return {Value()};
  auto scan = graph::ScanOp::create(raw, loc, types, batch, Value(), Value(),
                                    ValueRange(), inputs);
  scan.getBody().takeBody(region);
  return Results(scan.getOutputs());
}

Results buildScan(NodeBuilder &b, SubgraphBuilder buildSubgraph) {
  bool isBatched = b.opset() < 9;
  if (isBatched && b.has(0))
    return {b.fail("input 0 (sequence_lens) is not supported")};
  SmallVector<Value> inputs;
  for (int i = isBatched ? 1 : 0; i < b.numInputs() && !b.failed(); ++i)
    inputs.push_back(b.input(i));
  int64_t scanned = b.intAttribute("num_scan_inputs", 0);
  auto count = static_cast<int64_t>(inputs.size());
  if (!b.failed() && (scanned < 1 || scanned > count))
    b.fail("attribute num_scan_inputs: expected 1 to " + Twine(count) +
           ", found " + Twine(scanned));
  const GraphProto *graph =
      b.failed() ? nullptr : getSubgraph(b, "body", static_cast<int>(count));
  if (!graph)
    return {Value()};
  size_t carried = inputs.size() - scanned;
  if (graph->output_size() < static_cast<int>(carried))
    return {b.fail("attribute body: expected a graph of " + Twine(carried) +
                   " outputs or more, found " + Twine(graph->output_size()))};
  if (isBatched)
    return buildBatchedScan(b, *graph, inputs, carried, buildSubgraph);
  MutableArrayRef<Value> xs =
      MutableArrayRef<Value>(inputs).drop_front(carried);
  if (!orderInputs(b, xs, /*hasAxes=*/true))
    return {Value()};
  Results results = scanRows(b, *graph, ArrayRef(inputs).take_front(carried),
                             xs, buildSubgraph);
  if (llvm::is_contained(results, Value()) ||
      !orderOutputs(b, MutableArrayRef<Value>(results).drop_front(carried)))
    return {Value()};
  return results;
}

} // namespace tinh::onnx
