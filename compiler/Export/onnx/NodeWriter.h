//===- NodeWriter.h - What the writers of graph ops work with ---*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A writer function turns one graph op into ONNX nodes, the reverse of
// compiler/Import/onnx/NodeBuilder.h. It makes them one by one and returns the
// tensor that is the op's result.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_EXPORT_ONNX_NODEWRITER_H
#define TINH_COMPILER_EXPORT_ONNX_NODEWRITER_H

#include "compiler/Import/onnx/onnx.pb.h"
#include "dialects/graph/Graph.h"

#include <string>
#include <vector>

namespace tinh::onnx {

using Ints = llvm::SmallVector<int64_t>;
using Attributes = std::vector<::onnx::AttributeProto>;

::onnx::AttributeProto attribute(llvm::StringRef name, int64_t value);
::onnx::AttributeProto attribute(llvm::StringRef name, double value);
::onnx::AttributeProto attribute(llvm::StringRef name, llvm::StringRef value);
::onnx::AttributeProto attribute(llvm::StringRef name,
                                 llvm::ArrayRef<int64_t> values);

/// A tensor of the ONNX graph.
struct Tensor {
  std::string name;
  mlir::RankedTensorType type;

  mlir::Type element() const { return type.getElementType(); }
  llvm::ArrayRef<int64_t> shape() const { return type.getShape(); }
  int64_t rank() const { return type.getRank(); }
  bool isBool() const { return element().isInteger(1); }
  bool isUnsigned() const { return element().isUnsignedInteger(); }
  bool isFloat() const { return llvm::isa<mlir::FloatType>(element()); }
};

inline mlir::RankedTensorType withElement(mlir::RankedTensorType type,
                                          mlir::Type element) {
  return mlir::RankedTensorType::get(type.getShape(), element);
}

/// What the nodes of one graph are added to.
class GraphSink {
public:
  virtual ~GraphSink() = default;
  /// The tensor of a value.
  virtual Tensor tensor(mlir::Value value) = 0;
  /// Adds a constant and gives its tensor.
  virtual Tensor constant(mlir::TypedAttr value, llvm::StringRef name) = 0;
  /// The elements of the constant `of` in another shape, once for all readers.
  virtual Tensor reshapedConstant(mlir::Value of, mlir::TypedAttr value,
                                  llvm::StringRef name) = 0;
  /// Adds a constant of numbers of 4 bits, of the bytes that hold two each.
  virtual Tensor packedConstant(mlir::TypedAttr bytes,
                                mlir::RankedTensorType type,
                                llvm::StringRef name) = 0;
  virtual ::onnx::NodeProto &addNode() = 0;
  /// Says that a node is of no operator set before this one.
  virtual void needOpset(int64_t opset) = 0;
  virtual std::string freshName(llvm::StringRef wanted) = 0;
  virtual void refuse(mlir::Operation *op, const llvm::Twine &why) = 0;
};

class NodeWriter {
public:
  /// `onnx` is the ONNX op that the table of writers names for `op`.
  NodeWriter(GraphSink &sink, mlir::Operation *op, llvm::StringRef onnx)
      : op(op), onnx(onnx), sink(sink),
        name(sink.tensor(op->getResult(0)).name) {}

  mlir::Operation *const op;
  const llvm::StringRef onnx;

  //===--- The op ---------------------------------------------------------===//

  Tensor operand(unsigned i) { return sink.tensor(op->getOperand(i)); }
  std::vector<Tensor> operands();
  /// A value in another shape, which a constant is written in.
  Tensor reshaped(mlir::Value value, llvm::ArrayRef<int64_t> shape,
                  llvm::StringRef role);
  mlir::RankedTensorType type() const {
    return llvm::cast<mlir::RankedTensorType>(op->getResult(0).getType());
  }
  /// The same with other elements.
  mlir::RankedTensorType typeOf(mlir::Type element) const {
    return withElement(type(), element);
  }
  /// Reports that ONNX cannot express the op; what is returned is no tensor.
  Tensor refuse(const llvm::Twine &why);

  //===--- Nodes ----------------------------------------------------------===//

  /// The output of a new node. An input without a name is an absent one.
  Tensor node(llvm::StringRef op, llvm::ArrayRef<Tensor> inputs,
              mlir::RankedTensorType type, Attributes attributes = {});
  /// A node whose output has the first input's type.
  Tensor node(llvm::StringRef op, llvm::ArrayRef<Tensor> inputs) {
    return node(op, inputs, inputs[0].type);
  }
  /// A node for an element-wise op on broadcast operands.
  Tensor elementwise(llvm::StringRef op, const Tensor &a, const Tensor &b);
  /// The same with booleans as its output.
  Tensor compare(llvm::StringRef op, const Tensor &a, const Tensor &b);
  Tensor where(const Tensor &condition, const Tensor &a, const Tensor &b);

  Tensor cast(const Tensor &x, mlir::Type element);
  Tensor reshape(const Tensor &x, llvm::ArrayRef<int64_t> shape);
  Tensor expand(const Tensor &x, llvm::ArrayRef<int64_t> shape);
  Tensor transpose(const Tensor &x, llvm::ArrayRef<int64_t> permutation);
  /// Zeros or `value` around a tensor; negative numbers cut.
  Tensor pad(const Tensor &x, const Tensor &value, llvm::ArrayRef<int64_t> low,
             llvm::ArrayRef<int64_t> high, llvm::StringRef mode = "constant");
  /// Reduced dimensions stay as 1.
  Tensor reduce(llvm::StringRef op, const Tensor &x,
                llvm::ArrayRef<int64_t> axes);

  //===--- Layouts --------------------------------------------------------===//

  /// The type of the op's result in ONNX's order of dimensions: channels first.
  mlir::RankedTensorType typeInOrder(graph::Layout layout) const;
  /// A tensor of a layout in that order, and back.
  Tensor toOrder(const Tensor &x, graph::Layout layout);
  Tensor fromOrder(const Tensor &x, graph::Layout layout);

  //===--- Constants ------------------------------------------------------===//

  /// A list of integers, i64, as shapes and axes are.
  Tensor ints(llvm::ArrayRef<int64_t> values);
  /// A number of rank 0 in an element type.
  Tensor scalar(mlir::Type element, double value);
  Tensor scalarLike(const Tensor &x, double value) {
    return scalar(x.element(), value);
  }
  Tensor floats(mlir::RankedTensorType type, llvm::ArrayRef<double> values);
  /// The numbers of 4 bits of the result in a constant's bytes, two in each.
  Tensor packed(mlir::TypedAttr bytes);

  /// Gives the last node, or a new one, the name of the op and its result.
  void finish(const Tensor &result);

private:
  GraphSink &sink;
  const std::string name;
  ::onnx::NodeProto *last = nullptr;
};

using WriteFunction = Tensor (*)(NodeWriter &);

struct OpWriter {
  llvm::StringRef name;
  WriteFunction write;
  /// For writers of several ops; "" for the name that the op itself says.
  llvm::StringRef onnx = "";
};

/// The node that the entry names, on the op's operands: what writes all ops
/// that say what ONNX calls them, and have no entry.
Tensor same(NodeWriter &w);

template <auto write, typename OpTy>
OpWriter entry(Tensor (* /*write*/)(NodeWriter &, OpTy), llvm::StringRef onnx) {
  return {OpTy::getOperationName(),
          [](NodeWriter &w) { return write(w, llvm::cast<OpTy>(w.op)); }, onnx};
}
/// An entry for a writer that takes its op by its class.
template <auto write> OpWriter entry(llvm::StringRef onnx = "") {
  return entry<write>(write, onnx);
}
using OpWriters = std::vector<OpWriter>;

OpWriters contractionWriters();
OpWriters elementwiseWriters();
OpWriters movementWriters();
OpWriters normalizationWriters();
OpWriters poolingWriters();
OpWriters quantizationWriters();
OpWriters reductionWriters();

/// The addition of a constant for each channel that a Conv or a Gemm does, too:
/// what alone reads the result of `op`. Null if there is none.
graph::AddOp biasOf(mlir::Operation *op);

/// How to write an op; null if ONNX has nothing for it.
const OpWriter *findWriter(llvm::StringRef op);

/// A type for sums and products that engines have on few types of integers: one
/// whose lowest bits are the result's.
mlir::Type arithmeticType(mlir::Type element);

} // namespace tinh::onnx

#endif // TINH_COMPILER_EXPORT_ONNX_NODEWRITER_H
