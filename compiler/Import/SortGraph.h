//===- SortGraph.h - An order in which nodes can be built -------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_IMPORT_SORTGRAPH_H
#define TINH_COMPILER_IMPORT_SORTGRAPH_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

#include <string>
#include <vector>

namespace tinh {

struct SortNode {
  /// For messages: node "conv1" (Conv).
  std::string description;
  /// Names of tensors.
  std::vector<std::string> inputs, outputs;
};

/// A sentence about a node of a graph.
struct SortProblem {
  unsigned node;
  std::string message;
  /// The tensor that no node makes, if it is about one.
  std::string missing = {};
};

/// Puts each node after those that it depends on, else keeps the order. Nodes
/// of a cycle, and those behind it, are left out. Gives what is wrong: each
/// tensor that is made twice or, where it is read first, by no node (and is not
/// `available`), and cycles, of those that share nodes at least one.
std::vector<SortProblem>
sortGraph(llvm::ArrayRef<SortNode> nodes,
          llvm::function_ref<bool(llvm::StringRef)> available,
          std::vector<unsigned> &order);

} // namespace tinh

#endif // TINH_COMPILER_IMPORT_SORTGRAPH_H
