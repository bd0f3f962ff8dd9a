//===- Neighbours.h - Plans beside a plan -----------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_TUNING_NEIGHBOURS_H
#define TINH_COMPILER_TUNING_NEIGHBOURS_H

#include "compiler/Codegen/CPU/Strategies.h"

namespace tinh::tuning {

/// Plans that differ from `plan` in one number, or in one of the words that say
/// where operands are, and by which the kernel can be computed; the one that is
/// estimated to cost least first.
llvm::SmallVector<codegen::Candidate>
neighboursOf(mlir::func::FuncOp kernel, graph::KernelPlanInterface plan,
             const cpu::Target &target);

} // namespace tinh::tuning

#endif // TINH_COMPILER_TUNING_NEIGHBOURS_H
