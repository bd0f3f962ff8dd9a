//===- NodeBuilder.h - What the builders of ONNX ops work with --*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A builder function turns one ONNX node into graph ops. The first error
// sticks: what is created after it is null, and whatever has a null
// operand is null too, so that builders need not check each step.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_IMPORT_ONNX_NODEBUILDER_H
#define TINH_COMPILER_IMPORT_ONNX_NODEBUILDER_H

#include "compiler/Graph/GraphOps.h"
#include "compiler/Import/onnx/Nodes.h"
#include "compiler/Import/onnx/Tensors.h"

namespace tinh::onnx {

using Kind = graph::ReduceKind;
using Predicate = graph::ComparePredicate;
using Results = llvm::SmallVector<mlir::Value, 1>;

/// A sequence of ONNX whose tensors are known one by one. Graphs have tensors
/// alone.
using Sequence = llvm::SmallVector<mlir::Value, 0>;

/// What a name of a model stands for: a tensor, a sequence or, as an optional
/// that has nothing, neither. An optional that has something is that.
struct Operand {
  mlir::Value tensor;
  std::optional<Sequence> sequence;
  /// Whether its tensors are the bytes of strings, as strings/Strings.h has
  /// them.
  bool isString = false;

  bool isAbsent() const { return !tensor && !sequence; }
  /// "2x3xf32", "a sequence of 2 tensors": for messages.
  std::string describe() const;
};

/// Extents that a model computes: the largest that they may be and, of those
/// that the run decides, what they are (tensor<i64>); null of constants.
struct Extents {
  Ints bounds;
  llvm::SmallVector<mlir::Value> sizes;

  static Extents constants(Ints bounds) {
    size_t count = bounds.size();
    return {std::move(bounds), llvm::SmallVector<mlir::Value>(count)};
  }
};

class NodeBuilder : public GraphOps {
public:
  NodeBuilder(
      GraphBuilder &graph, const Node &node, const ModelFile &file,
      llvm::function_ref<mlir::Value(llvm::StringRef)> lookup,
      llvm::function_ref<std::optional<Operand>(llvm::StringRef)> findOperand,
      llvm::function_ref<int(llvm::StringRef)> findType)
      : GraphOps(graph), node(node), file(file), lookup(lookup),
        findOperand(findOperand), findType(findType) {}

  const Node &node;
  const ModelFile &file;

  int64_t opset() const { return node.opset(); }
  llvm::StringRef op() const { return node.proto->op_type(); }

  //===--- Inputs and outputs ---------------------------------------------===//

  int numInputs() const { return node.proto->input_size(); }
  int numOutputs() const { return node.proto->output_size(); }
  /// Whether an optional input is there.
  bool has(int i) const;
  /// Whether the model has a use for an output.
  bool wants(int i) const;
  /// Null only if the input is not there.
  mlir::Value input(int i);
  llvm::SmallVector<mlir::Value> inputs();
  /// The TensorProto.DataType of an input that the model gives one; else 0.
  int inputType(int i) const;
  /// Nothing, with an error, if the input is no sequence.
  std::optional<Sequence> sequence(int i);
  /// Whether an input is a tensor of strings, and their bytes; null, with an
  /// error, if it is none.
  bool isString(int i);
  mlir::Value strings(int i);
  /// Nothing only after an error; an optional that is not given is absent.
  std::optional<Operand> operand(int i);
  /// What is given in place of results by ops that do not make tensors alone.
  std::optional<llvm::SmallVector<Operand, 1>> operandResults;
  /// Reports outputs from `first` on, which the op does not have here.
  bool refuseOutputs(int first);

  /// The elements of an input that must be a constant. Nothing, with an
  /// error, if it is not.
  std::optional<Ints> ints(int i, llvm::StringRef what);
  std::optional<double> number(int i, llvm::StringRef what);
  /// Integers that must be constants, or follow from sizes of dimensions that
  /// the run decides.
  std::optional<Extents> extents(int i, llvm::StringRef what);
  /// `y`, of the shape of their bounds, with the sizes that the run decides.
  mlir::Value withSizes(mlir::Value y, const Extents &extents);
  /// One integer, which may be written as a float.
  std::optional<int64_t> integer(int i, llvm::StringRef what);
  std::optional<llvm::SmallVector<double>> numbers(int i, llvm::StringRef what);

  //===--- Attributes -----------------------------------------------------===//

  bool hasAttribute(llvm::StringRef name) const;
  int64_t intAttribute(llvm::StringRef name, int64_t otherwise);
  double floatAttribute(llvm::StringRef name, double otherwise);
  std::string stringAttribute(llvm::StringRef name, llvm::StringRef otherwise);
  Ints intsAttribute(llvm::StringRef name, Ints otherwise = {});
  const AttributeProto *attribute(llvm::StringRef name, int type);

  //===--- Types and constants of ONNX ------------------------------------===//

  mlir::Type elementType(int64_t onnxType);
  mlir::Value tensor(const TensorProto &tensor);
  /// Whether the rank of `x`, which messages call `name`, is `least` or more;
  /// else the node has failed.
  bool hasRank(mlir::Value x, int64_t least, llvm::StringRef name);

private:
  std::optional<mlir::DenseElementsAttr> constantInput(int i,
                                                       llvm::StringRef what);

  llvm::function_ref<mlir::Value(llvm::StringRef)> lookup;
  llvm::function_ref<std::optional<Operand>(llvm::StringRef)> findOperand;
  llvm::function_ref<int(llvm::StringRef)> findType;
};

} // namespace tinh::onnx

#endif // TINH_COMPILER_IMPORT_ONNX_NODEBUILDER_H
