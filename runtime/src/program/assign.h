//===- assign.h - Whose the undivided steps are -----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A step of one piece, and a loop that is alone, is one worker's: whose,
// decides which of them are done at the same time. Each goes, in the schedule's
// order, to the worker who is done with it first (list scheduling: Graham,
// 1969), by the kernels' estimated cycles.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_RUNTIME_ASSIGN_H
#define TINH_RUNTIME_ASSIGN_H

#include "artifact/module.h"

#include <vector>

namespace tinh::runtime {

/// Of each step the worker whose it is if it is one piece. All steps of a loop
/// that is alone are its worker's. Where it makes no difference, and in other
/// loops, that is the last worker: worker 0 is the one who is busy with the
/// caller's affairs. The last one has all collectives, which so start in order.
std::vector<uint32_t> assign_steps(const Module &module,
                                   const tinh_function_desc_t &function,
                                   uint32_t num_workers);

} // namespace tinh::runtime

#endif // TINH_RUNTIME_ASSIGN_H
