//===- TransformFilters.h - Filters for Winograd's algorithms ---*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CPU_LAYOUTS_TRANSFORMFILTERS_H
#define TINH_CODEGEN_CPU_LAYOUTS_TRANSFORMFILTERS_H

#include "compiler/Codegen/CPU/Layouts/Layouts.h"
#include "compiler/Codegen/CPU/Layouts/Weights.h"
#include "compiler/Codegen/CPU/Winograd/Transforms.h"

namespace tinh::cpu {

/// A transform, and the cycles that the convolution is estimated to take so.
struct FilterTransform {
  const WinogradTransform *transform;
  double cycles;
};
/// That with which the convolution of `reader` costs least, if that is less
/// than `cost`, and it is one of constant filters.
std::optional<FilterTransform> chooseFilterTransform(WeightsReader &reader,
                                                     double cost,
                                                     AllowedTransforms allowed,
                                                     const Target &target);

/// Transforms the filters by kernels of their own.
void transformFilters(mlir::SymbolTable &symbols, WeightsReader &reader,
                      const WinogradTransform &transform, const Target &target);

} // namespace tinh::cpu

#endif // TINH_CODEGEN_CPU_LAYOUTS_TRANSFORMFILTERS_H
