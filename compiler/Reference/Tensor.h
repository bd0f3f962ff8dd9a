//===- Tensor.h - Tensors of the reference interpreter ----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tensor holds its elements' values as doubles or as wide integers, which
// have every value of every element type. Ops compute on those, and
// `roundElements` makes them values of the element type again.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_REFERENCE_TENSOR_H
#define TINH_COMPILER_REFERENCE_TENSOR_H

#include "dialects/graph/Graph.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

#include <array>
#include <vector>

namespace tinh::reference {

/// Wide enough for the sums and differences of all integer types; arithmetic
/// modulo 2^128 is right modulo 2^64.
using Integer = __int128;

inline Integer multiply(Integer a, Integer b) {
  using Unsigned = unsigned __int128;
  return static_cast<Integer>(static_cast<Unsigned>(a) *
                              static_cast<Unsigned>(b));
}
inline double multiply(double a, double b) { return a * b; }

struct Tensor {
  mlir::RankedTensorType type;
  std::vector<double> floats;    // If the element type is a float,
  std::vector<Integer> integers; // else these; booleans are 0 and 1.

  Tensor() = default;
  /// All elements 0.
  explicit Tensor(mlir::Type tensorType);

  mlir::Type element() const { return type.getElementType(); }
  llvm::ArrayRef<int64_t> shape() const { return type.getShape(); }
  int64_t rank() const { return type.getRank(); }
  int64_t size() const { return type.getNumElements(); }
  bool isFloat() const { return mlir::isa<mlir::FloatType>(element()); }

  /// `floats` or `integers`.
  template <typename T> std::vector<T> &elements() {
    if constexpr (std::is_same_v<T, double>)
      return floats;
    else
      return integers;
  }
  template <typename T> const std::vector<T> &elements() const {
    return const_cast<Tensor *>(this)->elements<T>();
  }
};

/// Calls `function`, a generic lambda, with a value of the type that the
/// elements of `x` are held in.
template <typename F> auto visitElements(const Tensor &x, F function) {
  return x.isFloat() ? function(double()) : function(Integer());
}

/// Makes each element a value of the element type: floats are rounded to
/// nearest, integers wrap, and booleans are 1 if they are not 0.
void roundElements(Tensor &x);

/// Limits floats to the finite ones of the element type; NaN stays.
void limitElements(Tensor &x);

/// Makes of floats, as f32, the powers of two that f8E8M0FNU has, or NaN.
void roundToPowers(Tensor &x, graph::Rounding rounding, bool saturate);

/// From and to dense row-major little-endian elements, a boolean in a byte:
/// the form of the runtime's buffers.
Tensor fromBytes(mlir::RankedTensorType type, llvm::ArrayRef<char> bytes);
std::vector<char> toBytes(const Tensor &x);

Tensor fromAttribute(mlir::DenseElementsAttr value);

/// The largest difference of two tensors of one type, absolute and as a part
/// of the largest finite element of `expected`. Two NaNs, and two equal
/// infinities, do not differ; against anything else they differ infinitely.
struct Difference {
  double absolute = 0, relative = 0;
  /// Where the first one is, row by row, and the elements there.
  int64_t index = 0;
  double found = 0, expected = 0;
};
Difference largestDifference(const Tensor &found, const Tensor &expected);

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

/// How far apart neighbours of each dimension are.
using Strides = llvm::SmallVector<int64_t>;

Strides rowMajorStrides(llvm::ArrayRef<int64_t> shape);

/// Strides that read a tensor of `shape` as NumPy broadcasts it to `to`.
Strides broadcastStrides(llvm::ArrayRef<int64_t> shape,
                         llvm::ArrayRef<int64_t> to);

/// Calls `visit` for each index of `shape`, row by row, with the offsets that
/// the index has by each of `strides`.
template <size_t N, typename Visit>
void walk(llvm::ArrayRef<int64_t> shape, const std::array<Strides, N> &strides,
          Visit visit) {
  if (llvm::is_contained(shape, 0))
    return;
  llvm::SmallVector<int64_t> index(shape.size(), 0);
  std::array<int64_t, N> at = {};
  for (;;) {
    visit(at);
    int64_t d = static_cast<int64_t>(shape.size()) - 1;
    for (; d >= 0; --d) {
      for (size_t i = 0; i < N; ++i)
        at[i] += strides[i][d];
      if (++index[d] < shape[d])
        break;
      for (size_t i = 0; i < N; ++i)
        at[i] -= shape[d] * strides[i][d];
      index[d] = 0;
    }
    if (d < 0)
      return;
  }
}

} // namespace tinh::reference

#endif // TINH_COMPILER_REFERENCE_TENSOR_H
