//===- SideBySide.h - Loops that workers do at once -------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A loop of small steps is one worker's, and another worker may do another such
// loop at the same time: the two directions of a recurrent layer, say. Since a
// step waits for all up to another one, that takes two loops with nothing
// between them, neither of which waits for the other because of memory that it
// had before.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_PLANNING_SIDEBYSIDE_H
#define TINH_COMPILER_PLANNING_SIDEBYSIDE_H

#include "compiler/Planning/MemoryPlan.h"

namespace tinh::planning {

/// Brings loops that are one worker's, and need nothing of each other,
/// together: each as far down as the next one of them, if no step on the way
/// needs anything of it. Steps and controls of `problem` change places; returns
/// for each place the number that its step had.
std::vector<uint32_t> gatherLoops(Problem &problem);

/// Lets what neighbouring loops without an order use live through all of them,
/// so that none waits for the memory of another one; if it costs little memory.
void keepLoopsApart(const Schedule &schedule,
                    const std::vector<Control> &controls,
                    const ArenaOptions &options, std::vector<Lifetime> &lives);

} // namespace tinh::planning

#endif // TINH_COMPILER_PLANNING_SIDEBYSIDE_H
