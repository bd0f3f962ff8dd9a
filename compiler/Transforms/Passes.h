//===- Passes.h - Passes from graph to graph --------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each pass is a thin wrapper around a function declared here.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_TRANSFORMS_PASSES_H
#define TINH_COMPILER_TRANSFORMS_PASSES_H

#include "dialects/graph/Graph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

#include <string>
#include <vector>

namespace tinh::transforms {

#define GEN_PASS_DECL
#include "compiler/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "compiler/Transforms/Passes.h.inc"

/// Gives the argument whose graph.name is `name` another shape; failure after a
/// diagnostic if there is none. Types are to be inferred again then.
llvm::LogicalResult setInputShape(mlir::func::FuncOp function,
                                  llvm::StringRef name,
                                  llvm::ArrayRef<int64_t> shape);

/// Infers result types again from the arguments' types on; returns how many
/// ops changed, or failure after a diagnostic at the op that does not fit.
llvm::FailureOr<int64_t> inferShapes(mlir::func::FuncOp function);

/// Makes ops on whole tensors of those on tensors of which a part is used, and
/// results of the sizes of results; returns how many ops had one, or failure
/// after a diagnostic at an op that has no rule for that.
llvm::FailureOr<int64_t> resolveDimensionSizes(mlir::func::FuncOp function);

/// Canonicalises and removes arithmetic that computes nothing.
llvm::LogicalResult simplifyGraph(mlir::func::FuncOp function);

/// Evaluates ops on inline constants whose results have at most `maxElements`
/// elements; returns how many.
int64_t foldConstants(mlir::func::FuncOp function, int64_t maxElements);

struct BatchNormCounts {
  int64_t norms = 0, scaled = 0;
};
/// Folds batch norms and constant scales into constant weights.
llvm::FailureOr<BatchNormCounts> foldBatchNorm(mlir::func::FuncOp function);

struct CompositeCounts {
  int64_t gelu = 0, layerNorm = 0, softmax = 0, attention = 0;
};
/// Finds GELU, layer norm, softmax and attention in their parts.
llvm::FailureOr<CompositeCounts>
recognizeComposites(mlir::func::FuncOp function);

/// Gives what dropouts give in a model that is run, their operand.
void forgetDropout(mlir::func::FuncOp function);

/// Drops what only gradients need to know: stop_gradient, custom_gradient.
void forgetGradients(mlir::func::FuncOp function);

/// Rewrites variances as means of squared distances; returns how many.
int64_t decomposeVariance(mlir::func::FuncOp function);

/// What the arithmetic that costs most computes in.
struct Precision {
  std::string type; ///< "f32", "bf16" or "f16"; empty: f32.
  /// Patterns of the names of ops, or of the model's nodes, that stay in f32.
  std::vector<std::string> keepF32;
  /// Only constant factors of products have the type, and what is computed is
  /// f32: for machines that would convert all that they multiply.
  bool weightsAlone = false;
  /// The module is a part of a model, in which there may be nothing to lower.
  bool isOfPart = false;
};
/// Gives ops that may lose precision (dialects/graph/OpFacts.h) floats of the
/// lower one in the place of f32; returns how many. Arguments and results of
/// functions keep their types. Fails, with a message, if there is no
/// such precision, a pattern fits nothing, or nothing changes. `read` gives the
/// bytes of a constant that lies in a file, or none if it cannot be read: it
/// stays f32 then where it is added.
llvm::FailureOr<int64_t> lowerPrecision(
    mlir::ModuleOp module, const Precision &precision,
    llvm::function_ref<llvm::ArrayRef<char>(graph::ExternalAttr)> read = {});

struct LayoutCounts {
  int64_t converted = 0, transposes = 0;
};
/// Converts image-like ops to the channels-last layout.
llvm::FailureOr<LayoutCounts>
convertToChannelsLast(mlir::func::FuncOp function);

/// Rewrites transposed convolutions as convolutions; returns how many.
int64_t decomposeConvTranspose(mlir::func::FuncOp function);

/// Repeats cheap ops for each of their readers; returns how many times.
int64_t repeatCheapOps(mlir::func::FuncOp function);

struct Rematerialisation {
  /// What is live at most, as estimated.
  uint64_t peak = 0;
  /// Kernels that are repeated.
  int64_t repeated = 0;
  uint64_t arithmeticBefore = 0, arithmetic = 0;
};
/// Repeats ops so that at most `limit` bytes of their kernels' results are live
/// at a time, or as few more as can be. The kernels are those of `fuse`.
Rematerialisation rematerialise(mlir::func::FuncOp function, uint64_t limit,
                                bool fuse);

struct KernelCounts {
  int64_t kernels = 0, constantKernels = 0;
};
/// Puts ops into kernels, one each without `fuse`.
KernelCounts formKernels(mlir::func::FuncOp function, bool fuse, bool remarks);

} // namespace tinh::transforms

#endif // TINH_COMPILER_TRANSFORMS_PASSES_H
