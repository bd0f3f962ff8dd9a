//===- Scan.h - Running sums ------------------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// linalg has no running sum: what is lowered to it adds x[j] for all j ≤ i, for
// each i. This form is recognised here, and computed with one addition an
// element.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CPU_SCAN_H
#define TINH_CODEGEN_CPU_SCAN_H

#include "compiler/Codegen/Kernel/Pull.h"

namespace tinh::cpu {

using namespace codegen; // What all devices have in common.

/// Sums along `axis` of the elements up to each; in reverse, from each on.
struct Scan {
  mlir::Value input, init;
  int64_t axis, extent;
  bool reverse;
  bool exclusive; // Without the element itself.
};

/// The running sum that `op` is, if it is one.
std::optional<Scan> matchScan(mlir::linalg::GenericOp op);

/// Computes the sums along the axis at the other indices of `at` into `result`,
/// with the lanes of `pull` along another dimension.
mlir::LogicalResult emitScan(Pull &pull, const Scan &scan, const Buffer &result,
                             Indices at);

/// The same with lanes along the axis.
mlir::LogicalResult emitScanAlongLanes(Pull &pull, const Scan &scan,
                                       const Buffer &result, Indices at);

} // namespace tinh::cpu

#endif // TINH_CODEGEN_CPU_SCAN_H
