//===- ModelWriter.h - A module as an ONNX model ----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_EXPORT_ONNX_MODELWRITER_H
#define TINH_COMPILER_EXPORT_ONNX_MODELWRITER_H

#include "compiler/Export/GraphNames.h"
#include "compiler/Export/Refusals.h"
#include "compiler/Export/WeightFile.h"
#include "compiler/Export/onnx/NodeWriter.h"

#include "llvm/ADT/DenseSet.h"

namespace tinh::onnx {

/// Programs that map weights want them at the begin of a page.
inline constexpr uint64_t kWeightAlignment = 4096;

/// What is written unless a node is of a later operator set.
inline constexpr int64_t kLeastOpset = 23;

class ModelWriter : public GraphSink {
public:
  ModelWriter(mlir::ModuleOp module, mlir::func::FuncOp main,
              MappedFiles &sources)
      : module(module), main(main), sources(sources) {}

  /// Fills `model`. `weightsFile` is the name of the file of weights.
  mlir::LogicalResult build(llvm::StringRef weightsFile);

  ::onnx::ModelProto model;
  WeightFile weightFile{kWeightAlignment};

  Tensor tensor(mlir::Value value) override;
  Tensor constant(mlir::TypedAttr value, llvm::StringRef wanted) override;
  Tensor reshapedConstant(mlir::Value of, mlir::TypedAttr value,
                          llvm::StringRef wanted) override;
  Tensor packedConstant(mlir::TypedAttr bytes, mlir::RankedTensorType type,
                        llvm::StringRef wanted) override;
  ::onnx::NodeProto &addNode() override { return *current->add_node(); }
  void needOpset(int64_t version) override { opset = std::max(opset, version); }
  std::string freshName(llvm::StringRef wanted) override {
    return names.fresh(wanted);
  }
  void refuse(mlir::Operation *op, const llvm::Twine &why) override {
    refusals.add(op, names.node(op), why);
  }

private:
  void describeModel();
  void addConstant(llvm::StringRef name, mlir::TypedAttr value);
  void addRepeated(llvm::StringRef name, mlir::DenseElementsAttr value);
  void addInitializer(llvm::StringRef name, mlir::RankedTensorType type,
                      mlir::TypedAttr value);
  void writeBlock(mlir::Block &block);
  void writeOp(mlir::Operation *op);
  /// A node that gives a tensor another name.
  void addIdentity(llvm::StringRef from, llvm::StringRef to);
  void addOutputs();

  //===--- Branches and loops (ControlFlow.cpp) ---------------------------===//

  /// Writes what `fill` does into another graph.
  void withGraph(::onnx::GraphProto &other, llvm::function_ref<void()> fill);
  /// Graphs of a node by attribute.
  using Graphs = std::vector<std::pair<llvm::StringRef, ::onnx::GraphProto>>;
  /// A graph that is filled as above, for the attribute `body`.
  Graphs bodyOf(llvm::function_ref<void()> fill);
  void addInput(const Tensor &tensor);
  /// Adds an output of the current graph: a tensor that `block`, whose graph it
  /// is, makes, or a copy of another one.
  void addOutput(mlir::Value value, mlir::Block *block);
  void addCopiedOutput(const Tensor &tensor);
  /// Adds a node for control flow and its graphs, by attribute.
  void addControlFlow(mlir::Operation *op, llvm::StringRef type,
                      llvm::ArrayRef<std::string> inputs,
                      mlir::ValueRange outputs, Graphs graphs,
                      Attributes attributes = {});
  bool writeControlFlow(mlir::Operation *op);
  /// What it computes, without its gradient.
  void writeCustomGradient(graph::CustomGradientOp op);
  void writeIf(graph::IfOp op);
  void writeWhile(graph::WhileOp op);
  void writeScan(graph::ScanOp op);
  void writeCountedLoop(graph::ScanOp op);
  /// The inputs of a scan's body as a loop, and nodes that gather its rows.
  void addLoopInputs(graph::ScanOp op);
  /// A condition that lets a loop go on.
  void addTrueOutput(mlir::Operation *op);
  void writeLimitedLoop(graph::ScanOp op);
  /// The condition of a loop for these values.
  Tensor writeCondition(graph::WhileOp op, mlir::ValueRange values);

  mlir::ModuleOp module;
  mlir::func::FuncOp main;
  MappedFiles &sources;
  std::string weightsName;
  int64_t opset = kLeastOpset;
  GraphNames names;
  /// The names of values of regions that are written again.
  llvm::DenseMap<mlir::Value, std::string> renamed;
  llvm::DenseSet<mlir::Operation *> writtenConstants;
  llvm::DenseMap<std::pair<mlir::Value, mlir::Type>, Tensor> reshapedConstants;
  /// Where nodes go now: the model's graph, which has all constants, or one
  /// in it.
  ::onnx::GraphProto *current = nullptr;
  Refusals refusals;
  std::string error;
};

/// Describes an input or output.
void setType(::onnx::ValueInfoProto &info, llvm::StringRef name,
             mlir::Type type);

} // namespace tinh::onnx

#endif // TINH_COMPILER_EXPORT_ONNX_MODELWRITER_H
