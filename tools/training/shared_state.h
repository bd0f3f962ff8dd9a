//===- shared_state.h - Variables that ranks have in common -----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TOOLS_SHARED_STATE_H
#define TINH_TOOLS_SHARED_STATE_H

#include "ranks.h"

namespace tinh::tools {

/// The variable that random numbers of the model come from: seed and counter.
constexpr const char *kGenerator = "random.generator";

/// Throws unless all ranks have the same variables.
void compare_variables(const Module &module, const Ranks &ranks);

/// Gives all ranks the first one's variables, and each a seed of its own, which
/// follows from the first one's: so ranks draw other random numbers, and go on
/// with them from a checkpoint that has the first one's state.
void share_state(const Module &module, const Context &context,
                 const Ranks &ranks);

/// Gives all ranks what the first one has gathered about its batches, such as
/// the running means of batch norms.
void share_statistics(const Module &module, const Context &context,
                      const Ranks &ranks);

} // namespace tinh::tools

#endif // TINH_TOOLS_SHARED_STATE_H
