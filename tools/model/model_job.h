//===- model_job.h - A tool that makes another model of one --- -*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TOOLS_MODEL_JOB_H
#define TINH_TOOLS_MODEL_JOB_H

#include "command_line.h"
#include "compiler/Pipelines/Compile.h"
#include "progress.h"

#include "mlir/IR/MLIRContext.h"

#include <functional>

namespace tinh::tools {

/// What a tool reads, and writes in one of these formats.
inline constexpr char kModelOutputHelp[] =
    "the file to write: ONNX, or a JSON graph if it is called .json";

/// The type of an argument that is such a model, or its IR.
inline constexpr char kModelType[] =
    "FILE.onnx|FILE.json|FILE.mlir|FILE.mlirbc";

/// What --version tells of LLVM and of this machine.
std::string compilerVersion();

/// --shape: the inputs' shapes that a model leaves open; --length: how long
/// sequences are; --input-value: inputs that become constants.
void addInputOptions(CLI::App &app, ImportOptions *options);

/// Whether the output is the model itself, which then has been said.
bool isModelItself(const std::string &model, const std::string &output);

/// Does `work`, which reads the job's model and may compile it, with the usual
/// cache and messages. Ends the program after an internal error.
ExitCode runModelJob(const CompileJob &job, CompileOptions &options,
                     const std::function<mlir::LogicalResult(
                         mlir::MLIRContext &, const CompileOptions &)> &work);

/// The same of work that says itself, on a line of a terminal, what it is
/// doing.
ExitCode runModelJob(
    const CompileJob &job, CompileOptions &options,
    const std::function<mlir::LogicalResult(
        mlir::MLIRContext &, const CompileOptions &, Progress &)> &work);

/// Writes a model as its output's name says.
mlir::LogicalResult writeModel(mlir::ModuleOp module, const CompileJob &job,
                               const CompileOptions &options);

} // namespace tinh::tools

#endif // TINH_TOOLS_MODEL_JOB_H
