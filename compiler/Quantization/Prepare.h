//===- Prepare.h - All that quantising layers takes -------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_QUANTIZATION_PREPARE_H
#define TINH_COMPILER_QUANTIZATION_PREPARE_H

#include "compiler/Quantization/Insert.h"

namespace tinh::quantization {

/// The layers of a module, with their weights, the ranges of what they read,
/// and what each loses, in dB.
struct Prepared {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::vector<Layer> layers;
  std::vector<LayerPlan> plans;
  RangeOf ranges;
  std::vector<double> sqnr;
};

/// Looks at a module as `model` has it, on its samples.
mlir::FailureOr<Prepared> prepare(mlir::OwningOpRef<mlir::ModuleOp> module,
                                  const Model &model, Method method,
                                  MappedFiles &files);

/// The same with channels scaled where layers lose less by that; how many
/// activations these are is added to `count`.
mlir::FailureOr<Prepared> prepareAlike(Prepared plain, const Model &model,
                                       Method method, MappedFiles &files,
                                       size_t &count);

/// The module with those layers quantised whose numbers are given.
mlir::OwningOpRef<mlir::ModuleOp> quantized(const Prepared &prepared,
                                            llvm::ArrayRef<size_t> chosen,
                                            bool floatWeights,
                                            MappedFiles &files);

} // namespace tinh::quantization

#endif // TINH_COMPILER_QUANTIZATION_PREPARE_H
