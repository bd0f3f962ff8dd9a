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

#include "compiler/Import/GraphBuilder.h"
#include "compiler/Import/onnx/Nodes.h"
#include "compiler/Import/onnx/Tensors.h"

namespace tinh::onnx {

using Attributes = llvm::ArrayRef<mlir::NamedAttribute>;
using Ints = llvm::SmallVector<int64_t>;
using Results = llvm::SmallVector<mlir::Value, 1>;

class NodeBuilder {
public:
  NodeBuilder(GraphBuilder &graph, const Node &node, const ModelFile &file,
              llvm::function_ref<mlir::Value(llvm::StringRef)> lookup)
      : graph(graph), node(node), file(file), lookup(lookup) {}

  GraphBuilder &graph;
  const Node &node;
  const ModelFile &file;

  int64_t opset() const { return node.opset(); }
  llvm::StringRef op() const { return node.proto->op_type(); }

  //===--- Errors ---------------------------------------------------------===//

  mlir::Value fail(const llvm::Twine &what);
  bool failed() const { return hasFailed; }
  /// The first error, if there was one.
  std::string takeError();

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
  /// Reports outputs from `first` on, which the op does not have here.
  bool refuseOutputs(int first);

  /// The elements of an input that must be a constant. Nothing, with an
  /// error, if it is not.
  std::optional<Ints> ints(int i, llvm::StringRef what);
  std::optional<double> number(int i, llvm::StringRef what);
  std::optional<llvm::SmallVector<double>> numbers(int i, llvm::StringRef what);

  //===--- Attributes -----------------------------------------------------===//

  bool hasAttribute(llvm::StringRef name) const;
  int64_t intAttribute(llvm::StringRef name, int64_t otherwise);
  double floatAttribute(llvm::StringRef name, double otherwise);
  std::string stringAttribute(llvm::StringRef name, llvm::StringRef otherwise);
  Ints intsAttribute(llvm::StringRef name, Ints otherwise = {});
  const ::onnx::AttributeProto *attribute(llvm::StringRef name, int type);

  //===--- Types ----------------------------------------------------------===//

  static mlir::RankedTensorType type(mlir::Value value);
  static llvm::ArrayRef<int64_t> shape(mlir::Value value);
  static mlir::Type element(mlir::Value value);
  static int64_t rank(mlir::Value value) { return shape(value).size(); }
  mlir::Type elementType(int64_t onnxType);
  /// An axis counted from the start; nothing, with an error, if outside.
  std::optional<int64_t> axis(int64_t axis, int64_t rank);
  /// Distinct axes, ascending.
  std::optional<Ints> axes(llvm::ArrayRef<int64_t> axes, int64_t rank);

  //===--- Ops ------------------------------------------------------------===//

  template <typename OpTy>
  mlir::Value create(mlir::ValueRange operands, Attributes attributes = {},
                     mlir::Type result = {}) {
    return hasFailed ? mlir::Value()
                     : check(graph.create<OpTy>(operands, attributes, result));
  }
  mlir::NamedAttribute attr(llvm::StringRef name, llvm::ArrayRef<int64_t> v) {
    return graph.attribute(name, v);
  }
  mlir::NamedAttribute attr(llvm::StringRef name, int64_t v) {
    return graph.attribute(name, v);
  }
  mlir::NamedAttribute attr(llvm::StringRef name, double v) {
    return graph.attribute(name, v);
  }
  mlir::NamedAttribute attr(llvm::StringRef name, mlir::Attribute v) {
    return graph.attribute(name, v);
  }
  mlir::NamedAttribute unit(llvm::StringRef name) {
    return graph.attribute(name, graph.raw().getUnitAttr());
  }
  mlir::NamedAttribute channelsFirst();

  /// A constant of rank 0.
  mlir::Value scalar(mlir::Type element, double value);
  mlir::Value scalarLike(mlir::Value value, double number);
  /// A constant of integers, i64.
  mlir::Value constantInts(llvm::ArrayRef<int64_t> shape,
                           llvm::ArrayRef<int64_t> values);
  mlir::Value constantFloats(mlir::Type element, llvm::ArrayRef<int64_t> shape,
                             llvm::ArrayRef<double> values);
  mlir::Value tensor(const ::onnx::TensorProto &tensor);

  mlir::Value cast(mlir::Value x, mlir::Type element);
  mlir::Value reshape(mlir::Value x, llvm::ArrayRef<int64_t> shape);
  mlir::Value broadcast(mlir::Value x, llvm::ArrayRef<int64_t> shape);
  mlir::Value transpose(mlir::Value x, llvm::ArrayRef<int64_t> permutation);
  /// Elements start … start + size - 1 of one dimension.
  mlir::Value sliceAxis(mlir::Value x, int64_t axis, int64_t start,
                        int64_t size);
  /// start, start + step …: `size` of them, i64.
  mlir::Value iota(int64_t size, int64_t start = 0, int64_t step = 1);
  /// Slices of `x` along an axis.
  mlir::Value gather(mlir::Value x, mlir::Value indices, int64_t axis);
  mlir::Value gather(mlir::Value x, llvm::ArrayRef<int64_t> indices,
                     int64_t axis);
  mlir::Value concat(mlir::ValueRange parts, int64_t axis);
  mlir::Value matmul(mlir::Value a, mlir::Value b, bool transposeB = false);
  mlir::Value reduce(graph::ReduceKind kind, mlir::Value x,
                     llvm::ArrayRef<int64_t> axes, bool keepdims);
  mlir::Value compare(graph::ComparePredicate predicate, mlir::Value a,
                      mlir::Value b);
  /// A vector over channels, to be broadcast along x's other dimensions.
  mlir::Value perChannel(mlir::Value vector, int64_t rank);

  mlir::Value add(mlir::Value a, mlir::Value b) {
    return create<graph::AddOp>({a, b});
  }
  mlir::Value sub(mlir::Value a, mlir::Value b) {
    return create<graph::SubOp>({a, b});
  }
  mlir::Value mul(mlir::Value a, mlir::Value b) {
    return create<graph::MulOp>({a, b});
  }
  mlir::Value div(mlir::Value a, mlir::Value b) {
    return create<graph::DivOp>({a, b});
  }
  mlir::Value max(mlir::Value a, mlir::Value b) {
    return create<graph::MaxOp>({a, b});
  }
  mlir::Value min(mlir::Value a, mlir::Value b) {
    return create<graph::MinOp>({a, b});
  }
  mlir::Value where(mlir::Value condition, mlir::Value a, mlir::Value b) {
    return create<graph::WhereOp>({condition, a, b});
  }

private:
  mlir::Value check(mlir::Value value) {
    hasFailed |= !value;
    return value;
  }
  std::optional<mlir::DenseElementsAttr> constantInput(int i,
                                                       llvm::StringRef what);

  llvm::function_ref<mlir::Value(llvm::StringRef)> lookup;
  std::string message;
  bool hasFailed = false;
};

using BuildFunction = Results (*)(NodeBuilder &);

struct OpEntry {
  llvm::StringRef name;
  /// The first operator set in which the builder is right.
  int since;
  int minInputs;
  /// Negative: any number.
  int maxInputs;
  BuildFunction build;
};

llvm::ArrayRef<OpEntry> activationOps();
llvm::ArrayRef<OpEntry> attentionOps();
llvm::ArrayRef<OpEntry> constantOps();
llvm::ArrayRef<OpEntry> contractionOps();
llvm::ArrayRef<OpEntry> einsumOps();
llvm::ArrayRef<OpEntry> elementwiseOps();
llvm::ArrayRef<OpEntry> lossOps();
llvm::ArrayRef<OpEntry> movementOps();
llvm::ArrayRef<OpEntry> normalizationOps();
llvm::ArrayRef<OpEntry> poolingOps();
llvm::ArrayRef<OpEntry> quantizationOps();
llvm::ArrayRef<OpEntry> recurrentOps();
llvm::ArrayRef<OpEntry> reductionOps();
llvm::ArrayRef<OpEntry> resizeOps();
llvm::ArrayRef<OpEntry> samplingOps();
llvm::ArrayRef<OpEntry> scatterOps();
llvm::ArrayRef<OpEntry> selectionOps();
llvm::ArrayRef<OpEntry> shapeOps();
llvm::ArrayRef<OpEntry> signalOps();

/// How to build an op of an operator set; null if it is not supported.
const OpEntry *findOp(llvm::StringRef domain, llvm::StringRef name,
                      int64_t opset);

} // namespace tinh::onnx

#endif // TINH_COMPILER_IMPORT_ONNX_NODEBUILDER_H
