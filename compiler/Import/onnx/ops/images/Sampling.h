//===- Sampling.h - Images at computed positions ----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_IMPORT_ONNX_OPS_IMAGES_SAMPLING_H
#define TINH_COMPILER_IMPORT_ONNX_OPS_IMAGES_SAMPLING_H

#include "compiler/Import/onnx/NodeBuilder.h"

namespace tinh::onnx {

/// What lies around an image.
enum class Surrounding { Zeros, Border, Reflection };

/// One of the dimensions that are sampled.
struct SampledDimension {
  int64_t extent, stride;
  mlir::Value at; ///< Positions in elements, [batch, points].
};

/// An element that contributes to each point, by its indices in all dimensions.
struct Contribution {
  mlir::Value index;   ///< Into the flat image, i64.
  mlir::Value weight;  ///< Null: 1.
  mlir::Value outside; ///< Where it is no element; null: nowhere.
};

struct Sampler {
  NodeBuilder &b;
  bool alignCorners;
  Surrounding surrounding;

  mlir::Value reflect(mlir::Value at, int64_t extent);
  mlir::Value wrap(mlir::Value at, int64_t extent);
  mlir::Value position(mlir::Value normalised, int64_t extent);

  /// The elements that contribute, one list for each; 1, 2 or 4 a dimension, by
  /// the mode: nearest, linear or cubic.
  llvm::SmallVector<Contribution>
  contributions(llvm::ArrayRef<SampledDimension> dimensions,
                llvm::StringRef mode);

private:
  mlir::Value number(mlir::Value like, double value) {
    return b.scalarLike(like, value);
  }
  void add(Contribution &to, const SampledDimension &dimension,
           mlir::Value element, mlir::Value weight);
};

/// Σ x[index] · weight over flat images [batch, channels, elements].
mlir::Value sumContributions(NodeBuilder &b, mlir::Value flat, int64_t points,
                             llvm::ArrayRef<Contribution> all);

} // namespace tinh::onnx

#endif // TINH_COMPILER_IMPORT_ONNX_OPS_IMAGES_SAMPLING_H
