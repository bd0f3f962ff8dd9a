//===- Nodes.h - The flat, sorted nodes of an ONNX graph --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_IMPORT_ONNX_NODES_H
#define TINH_COMPILER_IMPORT_ONNX_NODES_H

#include "compiler/Import/onnx/onnx.pb.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/StringSet.h"

#include <deque>
#include <map>
#include <string>
#include <vector>

namespace tinh::onnx {

using ::onnx::AttributeProto;
using ::onnx::FunctionProto;
using ::onnx::GraphProto;
using ::onnx::ModelProto;
using ::onnx::NodeProto;

/// The version of each imported operator set, by domain; ONNX's own is "".
using Opsets = std::map<std::string, int64_t>;

struct Node {
  const NodeProto *proto = nullptr;
  const Opsets *opsets = nullptr;
  /// Its name, or that of its first output if it has none.
  std::string name;
  /// What is wrong with it, in whole sentences, so that it cannot be built.
  std::vector<std::string> problems = {};
  /// Its place in the file.
  unsigned position = 0;

  std::string domain() const;
  /// The version of its operator set; 0 if the model does not import it.
  int64_t opset() const;
};

/// "ai.onnx" is another name for "".
std::string normaliseDomain(llvm::StringRef domain);

template <typename Imports> Opsets readOpsets(const Imports &imports) {
  Opsets result;
  for (const auto &import : imports)
    result[normaliseDomain(import.domain())] = import.version();
  return result;
}

/// The name of a node, or that of its first output if it has none.
std::string nodeName(const NodeProto &node);

/// A model's own functions.
class FunctionTable {
public:
  explicit FunctionTable(const ModelProto &model);

  /// The one that `node` calls; null if it calls none.
  const FunctionProto *find(const NodeProto &node) const;

private:
  llvm::StringMap<const FunctionProto *> functions;
};

/// Nodes and what they point to where that is not part of the model.
struct NodeList {
  std::vector<Node> nodes;
  std::deque<NodeProto> owned;
  std::deque<Opsets> opsets;
  /// Tensors that are read, and that no node of the list makes.
  llvm::StringSet<> unknown;
};

/// Appends the nodes of a graph to `list`, calls of the model's functions
/// replaced by the functions' nodes: checkFunctions has found that they can be.
void expandFunctions(const google::protobuf::RepeatedPtrField<NodeProto> &nodes,
                     const Opsets &opsets, const ModelProto &model,
                     NodeList &list);

/// The tensors that a node needs: its inputs, what its graphs take from those
/// around them, and the one that a Gradient is of.
std::vector<std::string> readNames(const NodeProto &node);

/// Puts each node after those that it depends on, else keeps the order; those
/// that depend on each other in a cycle come last. Notes, of a node, that one
/// of its tensors is made twice or by no node (and is not `available`).
void sortNodes(NodeList &list,
               llvm::function_ref<bool(llvm::StringRef)> available);

} // namespace tinh::onnx

#endif // TINH_COMPILER_IMPORT_ONNX_NODES_H
