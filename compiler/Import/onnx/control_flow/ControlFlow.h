//===- ControlFlow.h - What nodes with subgraphs share ----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_IMPORT_ONNX_CONTROL_FLOW_CONTROLFLOW_H
#define TINH_COMPILER_IMPORT_ONNX_CONTROL_FLOW_CONTROLFLOW_H

#include "compiler/Import/onnx/GraphImporter.h"

namespace tinh::onnx {

/// Builds a subgraph of a node where ops are created now, given its inputs, and
/// gives what it makes. False if that is impossible, which then has been said.
using SubgraphBuilder =
    llvm::function_ref<bool(const GraphProto &, llvm::ArrayRef<Operand>,
                            llvm::SmallVectorImpl<Operand> &)>;

/// The same of a graph of tensors alone.
bool buildTensors(NodeBuilder &b, const GraphProto &graph,
                  mlir::ValueRange inputs, Results &outputs,
                  SubgraphBuilder buildSubgraph);

// Scan.cpp, FlexAttention.cpp, Gradient.cpp. The results have a null, after an
// error, if one cannot be built.
Results buildScan(NodeBuilder &b, SubgraphBuilder buildSubgraph);
Results buildFlexAttention(NodeBuilder &b, SubgraphBuilder buildSubgraph);
/// Of a node of `graph`, nodes of which are built again.
Results buildGradient(NodeBuilder &b, const GraphProto &graph,
                      SubgraphBuilder buildCopy);

/// A Loop over sequences, and a SequenceMap, as their iterations (Unroll.cpp).
Results unrollLoop(NodeBuilder &b, llvm::ArrayRef<Operand> initial,
                   SubgraphBuilder buildSubgraph);
Results buildSequenceMap(NodeBuilder &b, SubgraphBuilder buildSubgraph);

/// The subgraph in an attribute; null, with an error, if there is none with so
/// many inputs.
const GraphProto *getSubgraph(NodeBuilder &b, llvm::StringRef name, int inputs);

/// An input of one element as a tensor of rank 0; null if it is not there, or,
/// with an error, if it has another type.
mlir::Value scalarInput(NodeBuilder &b, int i, unsigned width,
                        llvm::StringRef what);

/// What a body reads, in the shape that it declares: a scalar or [1].
mlir::Value asDeclared(NodeBuilder &b, mlir::Value value,
                       const ::onnx::ValueInfoProto &info);

/// The one integer or boolean of a constant.
std::optional<int64_t> constantScalar(NodeBuilder &b, mlir::Value value);

/// Whether what a loop's body makes can be carried on; reports if not.
bool checkCarried(NodeBuilder &b, mlir::ValueRange initial,
                  mlir::ValueRange next);

/// Adds the types of `length` rows like each of `rows`; reports one that is too
/// large.
bool addStacked(NodeBuilder &b, mlir::ValueRange rows, int64_t length,
                llvm::SmallVectorImpl<mlir::Type> &types);

} // namespace tinh::onnx

#endif // TINH_COMPILER_IMPORT_ONNX_CONTROL_FLOW_CONTROLFLOW_H
