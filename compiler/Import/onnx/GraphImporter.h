//===- GraphImporter.h - One ONNX graph into a function ---------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_IMPORT_ONNX_GRAPHIMPORTER_H
#define TINH_COMPILER_IMPORT_ONNX_GRAPHIMPORTER_H

#include "compiler/Import/onnx/OpTable.h"
#include "compiler/Import/onnx/Problems.h"

#include "llvm/ADT/StringMap.h"

namespace tinh::onnx {

struct Loop;

/// Builds the nodes of a graph, or of a branch or a loop's body, which sees the
/// tensors of the graph around it.
class GraphImporter {
public:
  GraphImporter(const ModelProto &model, const GraphProto &proto,
                const Opsets &opsets, const ModelFile &file,
                GraphBuilder &builder, GraphImporter *parent = nullptr);

  void define(llvm::StringRef name, Operand value) {
    if (value.tensor && !value.isString)
      values[name] = value.tensor;
    else
      others[name] = std::move(value);
  }

  /// A tensor that is wrong, which has been said.
  void defineUnknown(llvm::StringRef name) { unknown.insert(name); }

  /// Builds all nodes but those that read what is unknown. False if there are
  /// such, or some are wrong.
  bool build();

  /// Whether a tensor has no value because of a problem that has been noted.
  bool isUnknown(llvm::StringRef name) const;
  /// The value of a tensor; null, with an error, if there is none.
  mlir::Value lookup(llvm::StringRef name);
  /// The same of what may be no tensor.
  std::optional<Operand> find(llvm::StringRef name);

  /// What is wrong with the nodes, in the order of the file.
  Problems problems;
  /// Why the last lookup found nothing.
  std::string error;

private:
  bool knows(llvm::StringRef name) const;
  int declaredType(llvm::StringRef name) const;
  int knownType(llvm::StringRef name) const;
  bool isReadable(llvm::StringRef name);
  const Operand *findOther(llvm::StringRef name) const;
  bool fail(const Node &node, const llvm::Twine &what);
  bool checkSupported(const NodeList &list);
  void reportUnsupported();
  bool readsUnknown(const Node &node) const;
  bool buildKnown(const Node &node);
  bool buildNode(const Node &node);
  bool defineResults(const NodeBuilder &node, const Results &results);
  std::optional<OpEntry> findEntry(const Node &node) const;
  bool checkInputs(const NodeBuilder &builder, const OpEntry &entry);
  bool checkTypes(const Node &node);

  // ControlFlow.cpp, Loop.cpp: nodes with subgraphs. The results
  // have a null, after an error, if one cannot be built.
  Results buildControlFlow(NodeBuilder &node);
  Results buildIf(NodeBuilder &node);
  Results buildBranches(NodeBuilder &node, mlir::Value condition);
  Results buildLoop(NodeBuilder &node);
  bool buildBody(NodeBuilder &node, const GraphProto &graph, Loop &loop);
  /// Builds the nodes of a graph of `node` where ops are created now. False if
  /// that is impossible, which then has been said. A copy has nodes of this
  /// graph itself, whose names stand for what it makes, within it.
  bool buildSubgraph(NodeBuilder &node, const GraphProto &graph,
                     llvm::ArrayRef<Operand> inputs,
                     llvm::SmallVectorImpl<Operand> &outputs,
                     bool isCopy = false);
  /// The same of nodes of this graph itself, for their gradients.
  bool buildCopy(NodeBuilder &node, const GraphProto &graph,
                 llvm::ArrayRef<Operand> inputs,
                 llvm::SmallVectorImpl<Operand> &outputs);
  /// The same of one iteration of a loop that becomes all of them.
  bool buildIteration(NodeBuilder &node, const GraphProto &graph,
                      llvm::ArrayRef<Operand> inputs,
                      llvm::SmallVectorImpl<Operand> &outputs);

  const ModelProto &model;
  const GraphProto &proto;
  const Opsets &opsets;
  const ModelFile &file;
  GraphBuilder &builder;
  GraphImporter *parent;
  /// What unrolled loops and copies for gradients have become, all together.
  uint64_t nodes = 0;
  uint64_t &expandedNodes = parent ? parent->expandedNodes : nodes;
  bool isCopy = false; ///< Its nodes are those of the parent, built again.
  /// Whether a subgraph of the node, not the node itself, is wrong.
  bool failedInside = false;
  /// Whether all ops that are not supported have been listed.
  bool hasListedOps = false;
  mlir::Block *block; ///< Where its nodes are built.
  llvm::StringMap<mlir::Value> values;
  /// What is no tensor of numbers.
  llvm::StringMap<Operand> others;
  llvm::StringSet<> unknown;
  llvm::StringMap<int> declaredTypes;
  llvm::StringMap<const TensorProto *> initializers;
};

} // namespace tinh::onnx

#endif // TINH_COMPILER_IMPORT_ONNX_GRAPHIMPORTER_H
