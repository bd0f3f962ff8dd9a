//===- Emitter.h - Building linalg on tensors -------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The forms that kernel functions are made of (docs/architecture.md), so that
// every lowering writes them alike.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_LINALG_EMITTER_H
#define TINH_CODEGEN_LINALG_EMITTER_H

#include "compiler/Codegen/Linalg/Scalars.h"

#include "mlir/IR/AffineMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace tinh::codegen {

/// Computes one element of a generic's result from elements of its inputs; a
/// reduction's gets the accumulated value as its last argument.
using Body = llvm::function_ref<mlir::Value(Scalars &, mlir::ValueRange)>;
/// The same for several results, and so several accumulated values.
using Bodies = llvm::function_ref<llvm::SmallVector<mlir::Value>(
    Scalars &, mlir::ValueRange)>;

/// Shape and element type of a tensor value.
llvm::ArrayRef<int64_t> shapeOf(mlir::Value tensor);
mlir::Type elementOf(mlir::Value tensor);

/// A tensor without some dimensions of a larger one, and where in it the larger
/// one's indices lead.
struct Reduced {
  mlir::Value value;
  mlir::AffineMap map;
};

/// `shape`, of whose dimension `axis` is made [groups, rest].
llvm::SmallVector<int64_t> splitExtent(llvm::ArrayRef<int64_t> shape,
                                       int64_t axis, int64_t groups);

class Emitter {
public:
  using Value = mlir::Value;
  using Type = mlir::Type;
  using Shape = llvm::ArrayRef<int64_t>;
  using Maps = llvm::ArrayRef<mlir::AffineMap>;
  using Signs = std::array<bool, 2>;

  /// `isUnsigned` is the signedness of integers in bodies.
  Emitter(mlir::OpBuilder &builder, mlir::Location location,
          bool isUnsigned = false)
      : b(location, builder), isUnsigned(isUnsigned) {}

  mlir::ImplicitLocOpBuilder b;
  bool isUnsigned;

  Scalars scalars() { return Scalars(b, isUnsigned); }

  // Affine pieces.
  mlir::AffineExpr dim(int64_t i) { return b.getAffineDimExpr(i); }
  mlir::AffineExpr zero() { return b.getAffineConstantExpr(0); }
  mlir::AffineMap map(int64_t dims, llvm::ArrayRef<mlir::AffineExpr> results) {
    return mlir::AffineMap::get(dims, 0, results, b.getContext());
  }
  mlir::AffineMap identity(int64_t dims) {
    return b.getMultiDimIdentityMap(dims);
  }
  /// From indices of `to` to those of `from`, which broadcasts to it as in
  /// NumPy.
  mlir::AffineMap broadcast(Shape from, Shape to);

  // Where tensors start from.
  Value empty(Shape shape, Type element);
  Value fill(Shape shape, Value scalar);

  /// An element-wise generic: every input broadcasts to `shape` as in NumPy.
  Value elementwise(Shape shape, Type element, mlir::ValueRange inputs,
                    Body body);
  /// The same for a formula that works in the compute types of its operands'
  /// elements. A tensor that is one constant becomes a constant of the formula.
  Value formula(Type result, mlir::ValueRange operands, Body body);
  /// A generic that is parallel over the result's indices.
  Value parallel(Shape shape, Type element, mlir::ValueRange inputs, Maps maps,
                 Body body);
  /// A generic that combines into `init`; `maps` are those of the inputs, then
  /// that of the result. Dimensions that the result's map leaves out are
  /// reductions.
  Value reduce(Value init, mlir::ValueRange inputs, Maps maps, Body body);
  /// The same with several results, which have the same map.
  llvm::SmallVector<Value> reduceAll(mlir::ValueRange inits,
                                     mlir::ValueRange inputs, Maps maps,
                                     Bodies body);
  /// `inputs`, whose maps are from the indices of `full`, combined along `axes`
  /// of it.
  Reduced reduceAxes(Shape full, mlir::ValueRange inputs, Maps maps, Shape axes,
                     Value initial, Body body);
  /// Each element of `sum` divided by the same count.
  Value divideBy(Value sum, int64_t count);
  /// Σ of products of the two inputs in `accumulator`; the inputs' elements are
  /// extended to it, each as `unsignedElements` says of it. The sum has the
  /// type `accumulator`.
  Value multiplyAdd(Shape shape, Type accumulator, Value x, Value y, Maps maps,
                    Signs unsignedElements = {});

  /// `x`, of which the generic that computes it says that it was lowered from
  /// this (dialects/origin).
  Value withOrigin(Value x, mlir::Attribute origin);

  // Element types: the same value if it has it.
  Value convert(Value x, Type element);

  // Views and movement.
  Value reshape(Value x, Shape shape);
  Value split(Value x, int64_t axis, int64_t groups) {
    return reshape(x, splitExtent(shapeOf(x), axis, groups));
  }
  /// The elements of `x` that `from` leads to from the result's indices.
  Value move(Shape shape, Value x, mlir::AffineMap from);
  Value permute(Value x, llvm::ArrayRef<int64_t> permutation);
  /// Padding by amounts that are not negative; `x` itself if they are zero.
  Value pad(Value x, Shape low, Shape high, Value scalar);
  Value slice(Value x, Shape offsets, Shape sizes, Shape steps);

  /// Inside of a body: the loop index of a dimension, an element of a tensor.
  static Value index(Scalars &s, int64_t dimension);
  static Value extract(Scalars &s, Value tensor, mlir::ValueRange indices);
  /// An element of an index tensor as an index into a dimension of `extent`: a
  /// negative one counts from the end, and what is still outside is clamped, so
  /// that no index reaches foreign memory.
  static Value validIndex(Scalars &s, Value element, int64_t extent);

  /// The scalar that a one-element tensor holds, without reading it from
  /// memory if it is a constant.
  Value scalarOf(Value tensor);

  /// The value of a tensor that is one constant throughout.
  static mlir::TypedAttr constantOf(Value tensor);
};

} // namespace tinh::codegen

#endif // TINH_CODEGEN_LINALG_EMITTER_H
