//===- ControlFlow.cpp - Branches and loops as ONNX nodes -------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Regions become graphs of nodes, which read the tensors of the graphs around
// them, as regions do:
//
//   graph.if                      -> If
//   graph.while                   -> Loop, with its condition computed before
//   it
//                                    and at the end of each iteration
//   graph.scan over rows          -> Scan
//   graph.scan with its index     -> Loop, which gathers the rows
//   graph.scan that may end early -> Loop, which carries the stacked results:
//                                    rows that it does not make must be zeros
//
//===----------------------------------------------------------------------===//
#include "compiler/Export/onnx/ModelWriter.h"

using namespace mlir;
using ::onnx::GraphProto;

namespace tinh::onnx {

void ModelWriter::withGraph(GraphProto &other,
                            llvm::function_ref<void()> fill) {
  GraphProto *outer = std::exchange(current, &other);
  fill();
  current = outer;
}

ModelWriter::Graphs ModelWriter::bodyOf(llvm::function_ref<void()> fill) {
  Graphs graphs(1);
  graphs[0].first = "body";
  withGraph(graphs[0].second, fill);
  return graphs;
}

void ModelWriter::addInput(const Tensor &tensor) {
  setType(*current->add_input(), tensor.name, tensor.type);
}

void ModelWriter::addCopiedOutput(const Tensor &tensor) {
  std::string name = names.fresh(tensor.name);
  addIdentity(tensor.name, name);
  setType(*current->add_output(), name, tensor.type);
}

void ModelWriter::addOutput(Value value, Block *block) {
  Operation *op = value.getDefiningOp();
  Tensor result = tensor(value);
  bool isTaken = llvm::any_of(current->output(), [&](const auto &output) {
    return output.name() == result.name;
  });
  if (!op || op->getBlock() != block || isa<graph::ConstantOp>(op) || isTaken)
    return addCopiedOutput(result);
  setType(*current->add_output(), result.name, result.type);
}

void ModelWriter::addControlFlow(Operation *op, StringRef type,
                                 ArrayRef<std::string> inputs,
                                 ValueRange outputs, Graphs graphs,
                                 Attributes attributes) {
  ::onnx::NodeProto &node = addNode();
  node.set_name(tensor(op->getResult(0)).name);
  node.set_op_type(type.str());
  for (const std::string &input : inputs)
    node.add_input(input);
  for (Value output : outputs)
    node.add_output(tensor(output).name);
  for (auto &[name, graph] : graphs) {
    ::onnx::AttributeProto &attribute = *node.add_attribute();
    attribute.set_name(name.str());
    attribute.set_type(::onnx::AttributeProto::GRAPH);
    graph.set_name(node.name() + "/" + name.str());
    attribute.mutable_g()->Swap(&graph);
  }
  for (::onnx::AttributeProto &attribute : attributes)
    node.add_attribute()->Swap(&attribute);
}

void ModelWriter::writeCustomGradient(graph::CustomGradientOp op) {
  Block &block = op.getForward().front();
  for (auto [argument, input] :
       llvm::zip_equal(block.getArguments(), op.getInputs()))
    renamed[argument] = tensor(input).name;
  writeBlock(block);
  for (auto [result, value] :
       llvm::zip_equal(op.getOutputs(), block.getTerminator()->getOperands()))
    addIdentity(tensor(value).name, tensor(result).name);
}

bool ModelWriter::writeControlFlow(Operation *op) {
  if (auto custom = dyn_cast<graph::CustomGradientOp>(op)) {
    writeCustomGradient(custom);
    return true;
  }
  if (auto stop = dyn_cast<graph::StopGradientOp>(op)) {
    addIdentity(tensor(stop.getX()).name, tensor(stop.getY()).name);
    return true;
  }
  if (!isa<graph::IfOp, graph::WhileOp, graph::ScanOp>(op))
    return false;
  if (op->getNumResults() == 0) // nothing can depend on it
    return true;
  if (auto branch = dyn_cast<graph::IfOp>(op))
    writeIf(branch);
  if (auto loop = dyn_cast<graph::WhileOp>(op))
    writeWhile(loop);
  if (auto scan = dyn_cast<graph::ScanOp>(op))
    writeScan(scan);
  return true;
}

void ModelWriter::writeIf(graph::IfOp op) {
  Graphs graphs;
  for (auto [name, region] : {std::pair("then_branch", &op.getThenBranch()),
                              std::pair("else_branch", &op.getElseBranch())}) {
    GraphProto &branch = graphs.emplace_back(name, GraphProto()).second;
    Block &block = region->front();
    withGraph(branch, [&] {
      writeBlock(block);
      for (Value value : block.getTerminator()->getOperands())
        addOutput(value, &block);
    });
  }
  addControlFlow(op, "If", tensor(op.getCondition()).name, op.getOutputs(),
                 std::move(graphs));
}

//===----------------------------------------------------------------------===//
// while
//===----------------------------------------------------------------------===//

/// The region is written once for each time: what it makes gets new names.
Tensor ModelWriter::writeCondition(graph::WhileOp op, ValueRange values) {
  Block &block = op.getCondition().front();
  for (auto [argument, value] : llvm::zip_equal(block.getArguments(), values))
    renamed[argument] = tensor(value).name;
  block.walk([&](Operation *inner) {
    if (isa<graph::ConstantOp>(inner))
      return;
    for (Value result : inner->getResults())
      renamed[result] = names.fresh(names.tensor(result));
    for (Region &region : inner->getRegions())
      for (BlockArgument argument : region.getArguments())
        renamed[argument] = names.fresh(names.tensor(argument));
  });
  writeBlock(block);
  return tensor(op.getConditionOp().getCondition());
}

void ModelWriter::writeWhile(graph::WhileOp op) {
  Block &block = op.getBody().front();
  std::vector<std::string> inputs = {"",
                                     writeCondition(op, op.getInitial()).name};
  for (Value value : op.getInitial())
    inputs.push_back(tensor(value).name);
  std::string name = tensor(op->getResult(0)).name;
  Graphs graphs = bodyOf([&] {
    MLIRContext *context = op.getContext();
    addInput({names.fresh(name + "/iteration"), graph::countType(context)});
    addInput({names.fresh(name + "/runs"), graph::conditionType(context)});
    for (BlockArgument argument : block.getArguments())
      addInput(tensor(argument));
    writeBlock(block);
    addCopiedOutput(writeCondition(op, op.getYield().getOperands()));
    for (Value value : op.getYield().getOperands())
      addOutput(value, &block);
  });
  addControlFlow(op, "Loop", inputs, op.getOutputs(), std::move(graphs));
}

//===----------------------------------------------------------------------===//
// scan
//===----------------------------------------------------------------------===//

void ModelWriter::writeScan(graph::ScanOp op) {
  if (!op.runsToEnd())
    return writeLimitedLoop(op);
  if (op.getXs().empty() || !op.getIndex().use_empty())
    return writeCountedLoop(op);
  Block &block = op.getBody().front();
  std::vector<std::string> inputs;
  for (Value value : op.getOperands())
    inputs.push_back(tensor(value).name);
  Graphs graphs = bodyOf([&] {
    for (BlockArgument argument : block.getArguments().drop_front())
      addInput(tensor(argument));
    writeBlock(block);
    for (Value value : op.getYield().getOperands())
      addOutput(value, &block);
  });
  addControlFlow(
      op, "Scan", inputs, op.getOutputs(), std::move(graphs),
      {attribute("num_scan_inputs", static_cast<int64_t>(op.getXs().size()))});
}

void ModelWriter::addLoopInputs(graph::ScanOp op) {
  Tensor index = tensor(op.getIndex());
  addInput(index);
  std::string runs = names.fresh(tensor(op->getResult(0)).name + "/runs");
  addInput({runs, graph::conditionType(op.getContext())});
  for (BlockArgument argument : op.getCarried())
    addInput(tensor(argument));
  for (auto [row, x] : llvm::zip_equal(op.getRows(), op.getXs())) {
    ::onnx::NodeProto &node = addNode();
    node.set_name(tensor(row).name);
    node.set_op_type("Gather"); // along the first dimension
    node.add_input(tensor(x).name);
    node.add_input(index.name);
    node.add_output(tensor(row).name);
  }
}

void ModelWriter::addTrueOutput(Operation *op) {
  auto value =
      DenseElementsAttr::get(graph::conditionType(op->getContext()), true);
  addCopiedOutput(constant(value, tensor(op->getResult(0)).name + "/true"));
}

void ModelWriter::writeCountedLoop(graph::ScanOp op) {
  NodeWriter w(*this, op, "");
  Type i64 = IntegerType::get(op.getContext(), 64);
  std::vector<std::string> inputs = {
      w.scalar(i64, static_cast<double>(op.getLength())).name, ""};
  for (Value value : op.getInitial())
    inputs.push_back(tensor(value).name);
  Block &block = op.getBody().front();
  Graphs graphs = bodyOf([&] {
    addLoopInputs(op);
    writeBlock(block);
    addTrueOutput(op);
    for (Value value : op.getYield().getOperands())
      addOutput(value, &block);
  });
  addControlFlow(op, "Loop", inputs, op.getOutputs(), std::move(graphs));
}

/// `stacked` with `row` in the place of an iteration.
static Tensor placeRow(NodeWriter &w, const Tensor &stacked, const Tensor &row,
                       const Tensor &index) {
  Ints shape(row.shape());
  shape.insert(shape.begin(), 1);
  return w.node("ScatterND",
                {stacked, w.reshape(index, {1, 1}), w.reshape(row, shape)});
}

void ModelWriter::writeLimitedLoop(graph::ScanOp op) {
  NodeWriter w(*this, op, "");
  Builder b(op.getContext());
  Tensor count = w.scalar(b.getI64Type(), static_cast<double>(op.getLength()));
  if (op.getTripCount())
    count = w.node("Min", {count, tensor(op.getTripCount())});
  std::vector<std::string> inputs = {
      count.name, op.getCondition() ? tensor(op.getCondition()).name : ""};
  for (Value value : op.getInitial())
    inputs.push_back(tensor(value).name);
  std::vector<Tensor> stacked; // as the body has them at first
  for (Value value : op.getStacked()) {
    Tensor result = tensor(value);
    auto zeros =
        DenseElementsAttr::get(result.type, b.getZeroAttr(result.element()));
    inputs.push_back(constant(zeros, result.name + "/zeros").name);
    stacked.push_back({names.fresh(result.name + "/rows"), result.type});
  }
  Block &block = op.getBody().front();
  Graphs graphs = bodyOf([&] {
    addLoopInputs(op);
    for (const Tensor &rows : stacked)
      addInput(rows);
    writeBlock(block);
    if (op.getCondition())
      addOutput(op.getNextCondition(), &block);
    else
      addTrueOutput(op);
    for (Value value : op.getNext())
      addOutput(value, &block);
    for (auto [rows, row] : llvm::zip_equal(stacked, op.getNextRows()))
      addCopiedOutput(placeRow(w, rows, tensor(row), tensor(op.getIndex())));
  });
  addControlFlow(op, "Loop", inputs, op.getOutputs(), std::move(graphs));
}

} // namespace tinh::onnx
