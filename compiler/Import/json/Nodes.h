//===- Nodes.h - The nodes of a JSON graph ----------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_IMPORT_JSON_NODES_H
#define TINH_COMPILER_IMPORT_JSON_NODES_H

#include "compiler/Import/json/Problems.h"

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
  const Json *json = nullptr;
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

/// The nodes and outputs of a graph, not sorted. False if that is not all of
/// them.
bool readGraph(const Json &json, Graph &graph, const Scope &scope);

/// Notes the ops of a graph and those within that the format does not know,
/// with all nodes of each.
void checkOps(const Graph &graph, mlir::MLIRContext &context,
              const Scope &scope);

/// Notes names that are defined twice or not at all, in `graph`, which is read
/// from `json`, and those within. `known` are the tensors from around.
bool checkNames(const Json &json, const Graph &graph,
                const llvm::StringSet<> &known, const Scope &scope);

/// Puts each node after those that it depends on, here and in the graphs
/// within, whose names are right. Gives the cycles of nodes that depend on one
/// another, which are left as they are.
std::vector<std::string> sortNodes(Graph &graph,
                                   const llvm::StringSet<> &known);

} // namespace tinh::json

#endif // TINH_COMPILER_IMPORT_JSON_NODES_H
