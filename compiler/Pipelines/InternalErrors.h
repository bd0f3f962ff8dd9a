//===- InternalErrors.h - Failures that are the compiler's own --*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is wrong with a model is said of the model. A failure that no model
// should cause is an internal error instead: an error whose message begins with
// kInternalError, or a crash. Whoever meets one gets a file that reproduces it,
// with the model as it was before the phase that failed.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_PIPELINES_INTERNALERRORS_H
#define TINH_PIPELINES_INTERNALERRORS_H

#include "compiler/Pipelines/Compile.h"

#include <string>

namespace tinh {

/// Begins the message of an error that is the compiler's own.
inline constexpr llvm::StringLiteral kInternalError = "internal error: ";

/// Makes a crash in runSafely, on any thread, an error that it returns; a
/// thread that the system refuses to LLVM ends the program with exit code 1.
/// For programs that do nothing but compile: it takes over the signals of the
/// process.
void catchCrashes();

/// What such a program begins with: crashes, a want of memory and a limit on
/// the size of files are errors with messages.
void guardProcess();

/// Calls `work`, and says what ended it: nothing, or the reason of a crash.
/// What the work held is lost then, its locks and memory among it.
std::optional<std::string> runSafely(llvm::function_ref<void()> work);

/// Ends the program after an internal error, with `exitCode`: what a crash left
/// behind is in no state to be destroyed. Removes unfinished files.
[[noreturn]] void exitNow(int exitCode);

/// Calls `compile`, which does `job`, with `options` that tell of each phase
/// and are interrupted beyond their limits, and says how it ended. After an
/// internal error, a note names the file that reproduces it:
/// NAME-PHASE-reproducer.mlir in the options' folder.
CompileStatus watchCompilation(
    const CompileJob &job, CompileOptions options, mlir::MLIRContext &context,
    llvm::function_ref<mlir::LogicalResult(const CompileOptions &)> compile);

} // namespace tinh

#endif // TINH_PIPELINES_INTERNALERRORS_H
