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

/// Puts each node after those that it depends on, else keeps the order. False
/// with an error if a tensor is made twice or by no node (and is not
/// `available`), or nodes depend on each other in a cycle.
bool sortGraph(llvm::ArrayRef<SortNode> nodes,
               llvm::function_ref<bool(llvm::StringRef)> available,
               std::vector<unsigned> &order, std::string &error);

} // namespace tinh

#endif // TINH_COMPILER_IMPORT_SORTGRAPH_H
