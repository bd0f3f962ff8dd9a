//===- run_data.h - Runs of an artifact, as a page's data -------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TOOLS_RUN_DATA_H
#define TINH_TOOLS_RUN_DATA_H

#include "function_data.h"

#include "profile.h"

namespace tinh::tools {

/// A page's data about `module` as an artifact says it: all functions, without
/// the graph before fusion, and kernels without their code. `on_cuda`: of what
/// runs where there is a GPU, if the artifact can do without.
Json artifact_data(const Module &module, bool on_cuda);

/// Whether `page` is about the same steps as `artifact`, artifact_data.
bool is_about(const Json &page, const Json &artifact);

/// Adds what has been measured of function `index`.
void add_profile(Json &page, uint32_t index, const FunctionProfile &profile,
                 const Context &context);

} // namespace tinh::tools

#endif // TINH_TOOLS_RUN_DATA_H
