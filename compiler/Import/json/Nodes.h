//===- Nodes.h - The nodes of a JSON graph ----------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_IMPORT_JSON_NODES_H
#define TINH_COMPILER_IMPORT_JSON_NODES_H

#include "compiler/Import/json/JsonValues.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/StringSet.h"

#include <string>
#include <vector>

namespace tinh::json {

struct Node;

/// The nodes of the model, or of a branch or a loop's body.
struct Graph {
  std::vector<std::string> inputs; ///< Of a body.
  std::vector<Node> nodes;
  std::vector<std::string> outputs;
};

struct Node {
  std::string name, op;
  std::vector<std::string> inputs, outputs;
  const Json *attributes = nullptr;
  /// Of a scan: what may end it, or empty.
  std::string tripCount, condition;
  /// The regions of a branch or a loop, in the op's order.
  std::vector<Graph> graphs;

  std::string describe() const { return "node \"" + name + "\" (" + op + ")"; }
};

/// The keys under which a node of this op has graphs, in their order.
llvm::ArrayRef<llvm::StringLiteral> graphKeys(llvm::StringRef op);

/// A list of names. False, with the reason in `error`, if it is none.
bool readNames(const Json &json, llvm::StringRef key,
               std::vector<std::string> &names, std::string &error);

/// The nodes and outputs of a graph, not sorted.
bool readGraph(const Json &json, Graph &graph, std::string &error);

/// All ops of a graph and those within that the format does not know, in a
/// message; empty if there are none.
std::string describeUnknownOps(const Graph &graph, mlir::MLIRContext &context);

/// Puts each node after those that it depends on, here and in the graphs
/// within. False, with the reason in `error`, if a name is defined twice or not
/// at all, or nodes depend on one another. `known` are the tensors from around.
bool sortNodes(Graph &graph, const llvm::StringSet<> &known,
               std::string &error);

} // namespace tinh::json

#endif // TINH_COMPILER_IMPORT_JSON_NODES_H
