//===- GraphImporter.h - One ONNX graph into a function ---------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_IMPORT_ONNX_GRAPHIMPORTER_H
#define TINH_COMPILER_IMPORT_ONNX_GRAPHIMPORTER_H

#include "compiler/Import/onnx/NodeBuilder.h"

#include "llvm/ADT/StringMap.h"

namespace tinh::onnx {

/// Builds the nodes of a graph, or of an If's branch, which sees the tensors
/// of the graph around it.
class GraphImporter {
public:
  GraphImporter(const ::onnx::ModelProto &model,
                const ::onnx::GraphProto &proto, const Opsets &opsets,
                const ModelFile &file, GraphBuilder &builder,
                GraphImporter *parent = nullptr);

  void define(llvm::StringRef name, mlir::Value value) { values[name] = value; }

  /// Builds all nodes. False if that is impossible: `error` then says why and
  /// `errorNode` where, if at one node.
  bool build();

  /// The value of a tensor; null, with an error, if there is none.
  mlir::Value lookup(llvm::StringRef name);

  std::string error;
  std::string errorNode;

private:
  bool knows(llvm::StringRef name) const;
  bool fail(const Node &node, const llvm::Twine &what);
  bool checkSupported(const NodeList &list);
  bool buildNode(const Node &node);
  bool buildIf(const Node &node);

  const ::onnx::ModelProto &model;
  const ::onnx::GraphProto &proto;
  const Opsets &opsets;
  const ModelFile &file;
  GraphBuilder &builder;
  GraphImporter *parent;
  llvm::StringMap<mlir::Value> values;
  llvm::StringMap<const ::onnx::TensorProto *> initializers;
};

} // namespace tinh::onnx

#endif // TINH_COMPILER_IMPORT_ONNX_GRAPHIMPORTER_H
