//===- Work.h - How much a kernel has to do ---------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The work of a kernel, as its function over linalg says it and whatever
// strategy does it: what no code can spare, but for what is zero. It is what
// rates are rates of, and a cost's lower bound.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_KERNEL_WORK_H
#define TINH_CODEGEN_KERNEL_WORK_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tinh::codegen {

struct Work {
  /// Operations that make numbers of numbers, floats or integers, each counted
  /// as one whatever it takes: a multiply-add is two, an exponential one. What
  /// chooses, compares, converts, moves, pads or computes an index is none.
  double operations = 0;
  /// What has to be read and written once: of the inputs all that the kernel
  /// can reach, of the results everything. Values in between are none.
  double bytes = 0;
};

/// The work of one run of `kernel`, all chunks together. Its shapes are static.
///
/// - An operation in the body of a linalg op is done in each iteration, padding
///   included. What linalg has no op for is counted as what it is: a running
///   sum as one addition an element, a scatter as one combination an update.
/// - Of an input that is sliced, strided over or gathered from, only as many
///   elements are read as there are places that could read one.
/// - A scatter into an input reads and writes what there are updates for.
Work workOf(mlir::func::FuncOp kernel);

/// Bytes of all operands, once, whatever of them is read.
double operandBytes(mlir::func::FuncOp kernel);

} // namespace tinh::codegen

#endif // TINH_CODEGEN_KERNEL_WORK_H
