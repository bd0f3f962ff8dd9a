//===- Scan.h - Running sums and products -----------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A running sum or product (Kernel/Forms/Scan.h) is computed with one addition
// or multiplication an element.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CPU_ROWS_SCAN_H
#define TINH_CODEGEN_CPU_ROWS_SCAN_H

#include "compiler/Codegen/Kernel/Forms/Scan.h"
#include "compiler/Codegen/Kernel/Pull.h"

namespace tinh::cpu {

using namespace codegen; // What all devices have in common.

/// Computes the scan along the axis at the other indices of `at` into `result`,
/// with the lanes of `pull` along another dimension.
mlir::LogicalResult emitScan(Pull &pull, const Scan &scan, const Buffer &result,
                             const Indices &at);

/// The same with lanes along the axis.
mlir::LogicalResult emitScanAlongLanes(Pull &pull, const Scan &scan,
                                       const Buffer &result, Indices at);

} // namespace tinh::cpu

#endif // TINH_CODEGEN_CPU_ROWS_SCAN_H
