//===- program.h - What a context runs of an artifact -----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TOOLS_PROGRAM_H
#define TINH_TOOLS_PROGRAM_H

#include "tinh/artifact.h"
#include "tinh/runtime.hpp"

namespace tinh::tools {

/// Whether a context with these options runs the artifact's code for a GPU.
bool runs_on_gpu(const Module &module, const ContextOptions &options);

/// The program that a context runs: of an artifact for both, that for the CPU
/// where there is no GPU. Lives as long as the module.
const tinh_artifact_t &program_of(const Module &module, const Context &context);
/// That which one with these options should run.
const tinh_artifact_t &program_of(const Module &module,
                                  const ContextOptions &options);

} // namespace tinh::tools

#endif // TINH_TOOLS_PROGRAM_H
