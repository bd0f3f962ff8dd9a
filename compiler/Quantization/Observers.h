//===- Observers.h - What numbers activations hold --------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Observers are ops beside the model's, in a copy of it that is compiled and
// run on the samples.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_QUANTIZATION_OBSERVERS_H
#define TINH_COMPILER_QUANTIZATION_OBSERVERS_H

#include "compiler/Calibration/Probe.h"
#include "compiler/Quantization/Ranges.h"

#include "llvm/ADT/MapVector.h"

namespace tinh::quantization {

using calibration::Model;
using calibration::Probe;
using calibration::Results;

using RangeOf = llvm::MapVector<mlir::Value, Range>;

/// The range of bytes for each of `values`. Fails, after a diagnostic, where
/// one holds what is not finite.
mlir::FailureOr<RangeOf> observeRanges(const Model &model,
                                       llvm::ArrayRef<mlir::Value> values,
                                       Method method);

/// The largest magnitudes of each of `values` along a dimension.
struct ChannelQuery {
  mlir::Value value;
  int64_t axis;
};
mlir::FailureOr<std::vector<std::vector<float>>>
observeMagnitudes(const Model &model, llvm::ArrayRef<ChannelQuery> queries);

/// A reduction along all dimensions but `axis`, if it is not negative.
mlir::Value reduceAll(mlir::ImplicitLocOpBuilder &b, graph::ReduceKind kind,
                      mlir::Value x, int64_t axis = -1);

/// A scalar of f32.
mlir::Value createScalar(mlir::ImplicitLocOpBuilder &b, double value);

} // namespace tinh::quantization

#endif // TINH_COMPILER_QUANTIZATION_OBSERVERS_H
