//===- InitRunner.h - Computing the weights ---------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_PIPELINES_INITRUNNER_H
#define TINH_PIPELINES_INITRUNNER_H

#include "compiler/Artifact/Artifact.h"
#include "compiler/Codegen/CPU/Target.h"
#include "dialects/plan/Plan.h"

namespace tinh {

/// Runs @init, compiled as `contents` and `kernels` for this machine, on the
/// values of its inputs, and writes result i to
/// `weights[i].offset` of `memory`; what follows there are places for the
/// inputs that are no parameters. Relative file names start at `directory`.
llvm::Error runInit(plan::FunctionOp init, const artifact::Contents &contents,
                    llvm::ArrayRef<artifact::Object> kernels,
                    const cpu::Target &host, llvm::StringRef directory,
                    llvm::ArrayRef<artifact::Tensor> weights,
                    llvm::MutableArrayRef<char> memory);

} // namespace tinh

#endif // TINH_PIPELINES_INITRUNNER_H
