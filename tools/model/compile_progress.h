//===- compile_progress.h - What compiles says what it is doing -*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TOOLS_COMPILE_PROGRESS_H
#define TINH_TOOLS_COMPILE_PROGRESS_H

#include "compiler/Pipelines/Compile.h"
#include "progress.h"

#include "mlir/IR/MLIRContext.h"

namespace tinh::tools {

/// Makes what compiles with `options` show on `progress`, which must live as
/// long, that it reads the model, which phase it makes, and how many kernels it
/// has compiled.
void showCompiling(Progress &progress, CompileOptions &options);

/// The same of the choice of plans that `options` have, which takes about so
/// many seconds.
void showTuning(Progress &progress, CompileOptions &options, double seconds);

/// Erases the line before each message of a context. Handlers that come before
/// print it.
class ErasingHandler : public mlir::ScopedDiagnosticHandler {
public:
  ErasingHandler(mlir::MLIRContext *context, Progress &progress);
};

} // namespace tinh::tools

#endif // TINH_TOOLS_COMPILE_PROGRESS_H
