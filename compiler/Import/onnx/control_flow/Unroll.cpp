//===- Unroll.cpp - Loops over sequences ------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A sequence has other tensors, and another number of them, in each iteration.
// Graphs carry tensors of one shape: these loops become their iterations, one
// after the other, and so have to be as many in each run.
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/onnx/control_flow/ControlFlow.h"

using namespace mlir;

namespace tinh::onnx {

/// What the iterations of a loop have made, side by side in a new first
/// dimension.
static Value stackRows(NodeBuilder &b, ArrayRef<Value> rows) {
  SmallVector<Value> parts;
  for (Value row : rows) {
    Ints shape(b.shape(row));
    shape.insert(shape.begin(), 1);
    parts.push_back(b.reshape(row, shape));
    if (row.getType() != rows.front().getType())
      return b.fail("an iteration makes " +
                    graph::shapeToString(row.getType()) + ", and the first " +
                    graph::shapeToString(rows.front().getType()));
  }
  return parts.empty() ? b.fail("a loop without iterations makes no rows")
                       : b.concat(parts, 0);
}

/// How many iterations a Loop has at most; nothing, with an error, if that is
/// not known.
static std::optional<int64_t> tripCount(NodeBuilder &b) {
  if (!b.has(0))
    return std::numeric_limits<int64_t>::max();
  return b.integer(0, "the trip count of a loop over sequences");
}

Results unrollLoop(NodeBuilder &b, ArrayRef<Operand> initial,
                   SubgraphBuilder buildSubgraph) {
  const GraphProto *graph =
      getSubgraph(b, "body", static_cast<int>(initial.size()) + 2);
  std::optional<int64_t> count = tripCount(b), goesOn = 1;
  if (b.has(1))
    goesOn = b.integer(1, "the condition of a loop over sequences");
  if (!graph || !count || !goesOn)
    return {Value()};
  int stacked = graph->output_size() - 1 - static_cast<int>(initial.size());
  if (stacked < 0)
    return {b.fail("attribute body: expected a graph of " +
                   Twine(1 + initial.size()) + " outputs or more, found " +
                   Twine(graph->output_size()))};
  SmallVector<Operand> carried(initial);
  std::vector<SmallVector<Value>> rows(stacked);
  OpBuilder &raw = b.graph.raw();
  for (int64_t i = 0; i < *count && *goesOn; ++i) {
    Value index = b.constantInts({}, i);
    Value condition = b.scalar(raw.getI1Type(), 1);
    SmallVector<Operand> outputs,
        inputs = {{asDeclared(b, index, graph->input(0)), {}},
                  {asDeclared(b, condition, graph->input(1)), {}}};
    llvm::append_range(inputs, carried);
    if (!buildSubgraph(*graph, inputs, outputs))
      return {Value()};
    goesOn = constantScalar(b, outputs[0].tensor);
    if (!goesOn)
      return {b.fail("whether a loop over sequences goes on must follow from "
                     "constants")};
    auto made = ArrayRef<Operand>(outputs).drop_front();
    carried.assign(made.take_front(initial.size()));
    for (auto [row, operand] :
         llvm::zip_equal(rows, made.drop_front(initial.size()))) {
      if (!operand.tensor || operand.isString)
        return {b.fail("a loop stacks tensors of numbers, found " +
                       operand.describe())};
      row.push_back(operand.tensor);
    }
  }
  b.operandResults.emplace(carried);
  for (int i = 0; i < stacked; ++i) {
    bool isRead = b.wants(static_cast<int>(initial.size()) + i);
    b.operandResults->push_back({isRead ? stackRows(b, rows[i]) : Value(), {}});
  }
  return {};
}

/// A graph on the tensors of sequences at each position, and on tensors that
/// are the same for all.
Results buildSequenceMap(NodeBuilder &b, SubgraphBuilder buildSubgraph) {
  const GraphProto *graph = getSubgraph(b, "body", b.numInputs());
  std::optional<Sequence> first = b.sequence(0);
  if (!graph || !first)
    return {Value()};
  SmallVector<Operand> inputs;
  for (int i = 0; i < b.numInputs(); ++i) {
    std::optional<Operand> operand = b.operand(i);
    if (!operand)
      return {Value()};
    if (operand->isString)
      return {b.fail("input " + Twine(i) + ": expected numbers, found " +
                     operand->describe())};
    if (operand->isAbsent() ||
        (operand->sequence && operand->sequence->size() != first->size()))
      return {b.fail("input " + Twine(i) +
                     ": expected a tensor or a sequence "
                     "of " +
                     Twine(first->size()) + " as input 0 is, found " +
                     operand->describe())};
    inputs.push_back(*operand);
  }
  std::vector<Sequence> made(graph->output_size());
  for (size_t i = 0; i < first->size(); ++i) {
    SmallVector<Value> tensors;
    for (const Operand &input : inputs)
      tensors.push_back(input.sequence ? (*input.sequence)[i] : input.tensor);
    Results results;
    if (!buildTensors(b, *graph, tensors, results, buildSubgraph))
      return {Value()};
    for (auto [sequence, result] : llvm::zip_equal(made, results))
      sequence.push_back(result);
  }
  b.operandResults.emplace();
  for (Sequence &sequence : made)
    b.operandResults->push_back({{}, std::move(sequence)});
  return {};
}

} // namespace tinh::onnx
