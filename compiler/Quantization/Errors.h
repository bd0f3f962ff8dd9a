//===- Errors.h - What quantisation changes ---------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_QUANTIZATION_ERRORS_H
#define TINH_COMPILER_QUANTIZATION_ERRORS_H

#include "compiler/Quantization/Insert.h"
#include "compiler/Quantization/Quantization.h"

namespace tinh::quantization {

/// 10 log10 of the ratio of a signal's and its error's squares.
double decibels(double signal, double noise);

struct LayerError {
  /// What to add to each channel of the result so that it errs less on
  /// average.
  std::vector<float> correction;
  /// Of the corrected result.
  double sqnr = 0;
};

/// Computes each layer twice on equal inputs, of floats and of bytes.
mlir::FailureOr<std::vector<LayerError>>
measureErrors(const Model &model, llvm::ArrayRef<Layer> layers,
              llvm::ArrayRef<LayerPlan> plans, const RangeOf &ranges);

/// The outputs of a model on all samples.
class Outputs {
public:
  static mlir::FailureOr<Outputs> of(const Model &model);
  Agreement compare(const Outputs &expected) const;
  /// Whether rows of the first output have elements to choose from.
  bool haveDecisions() const { return rowSize > 1; }

private:
  std::vector<Results> values;
  size_t rowSize = 1; ///< Of the first output.
};

} // namespace tinh::quantization

#endif // TINH_COMPILER_QUANTIZATION_ERRORS_H
