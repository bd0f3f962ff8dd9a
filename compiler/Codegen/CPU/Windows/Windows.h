//===- Windows.h - Depthwise convolutions, pooling --------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The strategy `windows`: each channel alone is reduced over a window that
// slides along an image.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CPU_WINDOWS_WINDOWS_H
#define TINH_CODEGEN_CPU_WINDOWS_WINDOWS_H

#include "compiler/Codegen/CPU/EmittedKernel.h"

namespace tinh::cpu {

/// A dimension of the image along which the window slides: output o and tap k
/// meet at o · stride + k · dilation - low.
struct WindowAxis {
  unsigned position;       // The dimension of the image.
  unsigned output, kernel; // Loops.
  int64_t stride, dilation;
  int64_t low = 0;     // Padding before the image that is skipped.
  int64_t size = 0;    // The image's extent.
  bool padded = false; // Some taps lie outside.
};

/// Outputs along the last axis whose accumulators are in registers together.
struct WindowTile {
  int64_t start, outputs;
  int64_t repeats; // This many tiles follow one another.
  bool inside;     // All taps lie in the image.
};

struct Windows {
  mlir::linalg::GenericOp op;
  unsigned input;     // The operand under the window, and
  mlir::Value source; // what it reads, padding that is skipped taken off.
  llvm::SmallVector<WindowAxis> axes;
  llvm::SmallVector<unsigned> outer; // Loops over lines of the result,
  unsigned inner, lane;              // along a line, and over channels.
};

/// How lines are cut: what a plan says, and what follows from it.
struct WindowsPlan : Division {
  int64_t lanes;            // Of a vector.
  int64_t outputs;          // Of a tile, at most.
  int64_t channelsPerGroup; // Channels of a line are cut into groups.
  int64_t unitsPerChunk;    // Groups of all lines.

  llvm::SmallVector<WindowTile> tiles; // Of a line.
  int64_t groups, units;
};

struct WindowsStrategy {
  using Plan = WindowsPlanAttr;
  static Match<Windows> match(mlir::func::FuncOp kernel);
  static llvm::SmallVector<Plan> plans(Windows &, const Target &);
  static mlir::FailureOr<WindowsPlan> expand(Windows &, Plan, const Target &,
                                             EmitError);
  static double cost(Windows &, const WindowsPlan &, const Target &);
  static mlir::LogicalResult emit(EmittedKernel &, Windows &,
                                  const WindowsPlan &, const Target &);
};

} // namespace tinh::cpu

#endif // TINH_CODEGEN_CPU_WINDOWS_WINDOWS_H
