//===- Quantization.h - A model in f32 becomes one in int8 ------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Products with constant weights read bytes: weights are symmetric i8 with a
// scale for each output channel, activations ui8 with one scale and zero point,
// from a range that runs of the compiled model on samples give. Sums, biases
// and all else stay floats; compiled code finds what can be integers from there
// (compiler/Transforms/Quantization/PropagateQuantization.cpp).
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_QUANTIZATION_QUANTIZATION_H
#define TINH_COMPILER_QUANTIZATION_QUANTIZATION_H

#include "compiler/Calibration/Probe.h"
#include "compiler/Quantization/Ranges.h"

#include <optional>
#include <string>
#include <vector>

namespace tinh::quantization {

using calibration::Samples;

struct QuantizeOptions {
  Method method = Method::Mse;
  /// Patterns of the names of layers that stay in f32.
  std::vector<std::string> keep;
  /// What the outputs have to be, in dB; layers that lose most stay in f32.
  std::optional<double> minSqnr;
  /// The share of decisions, largest elements of rows of the first output, that
  /// may become others; likewise.
  std::optional<double> maxTop1Mismatch;
  /// Weights stay floats, which the model makes bytes of, so that it can be
  /// trained.
  bool floatWeights = false;
};

/// A product with constant weights.
struct LayerReport {
  std::string name, op;
  /// Its result against that of the same product of floats, on equal inputs.
  double sqnr = 0;
  /// Why it stays in f32; empty: it does not.
  std::string kept;
};

/// How near a model is to the one it was made of, on all samples.
struct Agreement {
  double sqnr = 0;    ///< Of all outputs, the lowest.
  double changed = 0; ///< The share of decisions that are others.
};

struct QuantizeReport {
  std::vector<LayerReport> layers;
  /// Activations whose channels were equalised.
  size_t equalized = 0;
  Agreement agreement;
};

/// The quantised form of `module`, which is in phase normalised. Null after a
/// diagnostic.
mlir::OwningOpRef<mlir::ModuleOp> quantize(mlir::ModuleOp module,
                                           const Samples &samples,
                                           const QuantizeOptions &options,
                                           const CompileOptions &compile,
                                           QuantizeReport &report);

} // namespace tinh::quantization

#endif // TINH_COMPILER_QUANTIZATION_QUANTIZATION_H
