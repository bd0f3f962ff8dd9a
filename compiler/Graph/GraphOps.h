//===- GraphOps.h - Graph ops, as importers write them ----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Short names for what a builder of many ops needs. After a failure, nothing is
// built any more and values are null, so that one check at the end is enough.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_GRAPH_GRAPHOPS_H
#define TINH_COMPILER_GRAPH_GRAPHOPS_H

#include "compiler/Graph/GraphBuilder.h"

namespace tinh {

using Attributes = llvm::ArrayRef<mlir::NamedAttribute>;
using Ints = llvm::SmallVector<int64_t>;

/// How often a scan runs: `length` times, or less with the operands of
/// graph.scan of these names.
struct ScanLength {
  int64_t length = 0;
  mlir::Value tripCount = {};
  mlir::Value condition = {};
};

/// What an iteration of a scan has, and what it makes: of a scan with a
/// condition, whether the next one runs.
struct ScanArguments {
  mlir::Value index;
  llvm::SmallVector<mlir::Value> carried = {};
  llvm::SmallVector<mlir::Value> rows = {};
};
struct ScanResults {
  llvm::SmallVector<mlir::Value> carried = {};
  llvm::SmallVector<mlir::Value> rows = {};
  mlir::Value condition = {};
};

class GraphOps {
public:
  explicit GraphOps(GraphBuilder &graph) : graph(graph) {}

  GraphBuilder &graph;

  //===--- Errors ---------------------------------------------------------===//

  mlir::Value fail(const llvm::Twine &what);
  bool failed() const { return hasFailed; }
  /// The first error, if there was one.
  std::string takeError();

  //===--- Types ----------------------------------------------------------===//

  static mlir::RankedTensorType type(mlir::Value value);
  static llvm::ArrayRef<int64_t> shape(mlir::Value value);
  static mlir::Type element(mlir::Value value);
  static int64_t rank(mlir::Value value) { return shape(value).size(); }
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

  /// With `saturate`, what is beyond the range of a float of 8 or 4 bits is
  /// limited.
  mlir::Value cast(mlir::Value x, mlir::Type element, bool saturate = false);
  /// The same to f8E8M0FNU, rounded in a direction.
  mlir::Value castToPower(mlir::Value x, graph::Rounding rounding,
                          bool saturate);
  mlir::Value reshape(mlir::Value x, llvm::ArrayRef<int64_t> shape);
  mlir::Value broadcast(mlir::Value x, llvm::ArrayRef<int64_t> shape);
  mlir::Value transpose(mlir::Value x, llvm::ArrayRef<int64_t> permutation);
  /// Elements start … start + size - 1 of one dimension.
  mlir::Value sliceAxis(mlir::Value x, int64_t axis, int64_t start,
                        int64_t size);
  /// `x` with its first dimension in the opposite order.
  mlir::Value reverseRows(mlir::Value x);
  /// start, start + step …: `size` of them, i64.
  mlir::Value iota(int64_t size, int64_t start = 0, int64_t step = 1);
  /// `x` with `outside`, a scalar, around it; negative amounts cut.
  mlir::Value pad(mlir::Value x, mlir::Value outside,
                  llvm::ArrayRef<int64_t> low, llvm::ArrayRef<int64_t> high);
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
  /// Between bounds, either of which may be null. At them x has the gradient.
  mlir::Value clamp(mlir::Value x, mlir::Value low, mlir::Value high) {
    if (low)
      x = create<graph::MaxOp>({x, low}, {unit("bound")});
    return high ? create<graph::MinOp>({x, high}, {unit("bound")}) : x;
  }
  mlir::Value dimensionSize(mlir::Value x, int64_t dimension) {
    return x ? check(graph.dimensionSize(x, dimension)) : mlir::Value();
  }
  mlir::Value setDimensionSize(mlir::Value x, int64_t dimension,
                               mlir::Value size) {
    return x && size ? check(graph.setDimensionSize(x, dimension, size))
                     : mlir::Value();
  }
  mlir::Value where(mlir::Value condition, mlir::Value a, mlir::Value b) {
    return create<graph::WhereOp>({condition, a, b});
  }
  /// A loop over the rows of `xs`, whose iterations `body` builds: the last
  /// values carried, and all rows made, stacked. After a failure the former are
  /// null, and there are no rows.
  ScanResults scan(const ScanLength &length, mlir::ValueRange initial,
                   mlir::ValueRange xs,
                   llvm::function_ref<ScanResults(const ScanArguments &)> body);

private:
  /// x by an op that gives it a shape; x itself if it has that.
  template <typename OpTy>
  mlir::Value shaped(mlir::Value x, llvm::ArrayRef<int64_t> to);

protected:
  mlir::Value check(mlir::Value value) {
    hasFailed |= !value;
    return value;
  }

  std::string message;
  bool hasFailed = false;
};

} // namespace tinh

#endif // TINH_COMPILER_GRAPH_GRAPHOPS_H
