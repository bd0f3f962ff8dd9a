//===- GraphImporter.h - The nodes of a JSON graph as ops -------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_IMPORT_JSON_GRAPHIMPORTER_H
#define TINH_COMPILER_IMPORT_JSON_GRAPHIMPORTER_H

#include "compiler/Graph/GraphBuilder.h"
#include "compiler/Import/json/Nodes.h"

namespace tinh::json {

/// Builds the nodes of a graph, or of a branch or a loop's body, which sees the
/// tensors of the graph around it.
class GraphImporter {
public:
  using Weights = llvm::StringMap<mlir::TypedAttr>;
  using Values = llvm::SmallVector<mlir::Value>;

  GraphImporter(GraphBuilder &builder, const Weights &weights,
                const Scope &scope, GraphImporter *parent = nullptr)
      : builder(builder), weights(weights), scope(scope), parent(parent),
        block(builder.raw().getInsertionBlock()) {}

  void define(llvm::StringRef name, mlir::Value value) { values[name] = value; }

  /// Builds the nodes, which are sorted; `outputs` are the graph's. What is
  /// wrong with one is noted, and what depends on it left out: false if there
  /// is any.
  bool build(const Graph &graph, llvm::SmallVectorImpl<mlir::Value> &outputs);

private:
  Scope scopeOf(const Node &node) const {
    return scope.within(node.describe(), node.name);
  }
  bool fail(const Node &node, const llvm::Twine &what);
  mlir::Value lookup(llvm::StringRef name);
  bool buildNode(const Node &node);
  bool buildControlFlow(const Node &node, llvm::ArrayRef<mlir::Value> inputs);
  bool buildRegion(const Node &node, unsigned index, mlir::TypeRange inputs,
                   mlir::Region &region, Values &outputs);
  bool readScan(const Node &node, llvm::ArrayRef<mlir::Value> inputs,
                mlir::OperationState &state,
                llvm::SmallVectorImpl<mlir::Type> &bodyTypes);
  bool addResults(const Node &node, llvm::ArrayRef<mlir::Value> inputs,
                  llvm::ArrayRef<mlir::Value> outputs,
                  mlir::OperationState &state);

  GraphBuilder &builder;
  const Weights &weights;
  Scope scope;
  GraphImporter *parent;
  /// Where its nodes are built.
  mlir::Block *block;
  llvm::StringMap<mlir::Value> values;
};

} // namespace tinh::json

#endif // TINH_COMPILER_IMPORT_JSON_GRAPHIMPORTER_H
