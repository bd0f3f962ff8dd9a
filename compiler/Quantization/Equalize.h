//===- Equalize.h - Equalisation of channels --------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One scale is for all channels of an activation, so that channels of small
// numbers have few levels where another one's are large. A product does not
// change if channel c of its input is divided by s, and its weights for c are
// multiplied by s; what made the input is divided, if that costs nothing:
// weights before a ReLU, or the scale and the bias of a layer norm
// (SmoothQuant). Where a layer norm has other readers, too, its division is an
// op of its own, before the bytes are made.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_QUANTIZATION_EQUALIZE_H
#define TINH_COMPILER_QUANTIZATION_EQUALIZE_H

#include "compiler/Calibration/Probe.h"
#include "compiler/Quantization/Layers.h"

#include <optional>

namespace tinh::quantization {

using calibration::Model;

/// Layers that read one value whose channels can be scaled.
struct ChannelGroup {
  mlir::Value value;
  int64_t axis; ///< Of the channels.
  /// Into the list of layers that it was made of.
  std::vector<size_t> readers;
  /// What makes the value, before its bias and a ReLU; else a layer norm does.
  std::optional<size_t> producer;
};

/// The groups of a model whose layers these are, in the order of their values.
std::vector<ChannelGroup> findGroups(llvm::ArrayRef<Layer> layers);

/// What to divide each channel of each group by.
mlir::FailureOr<std::vector<std::vector<float>>>
chooseFactors(const Model &model, llvm::ArrayRef<Layer> layers,
              llvm::ArrayRef<ChannelGroup> groups, MappedFiles &files);

mlir::LogicalResult scaleChannels(llvm::ArrayRef<Layer> layers,
                                  const ChannelGroup &group,
                                  llvm::ArrayRef<float> factors,
                                  MappedFiles &files);

} // namespace tinh::quantization

#endif // TINH_COMPILER_QUANTIZATION_EQUALIZE_H
