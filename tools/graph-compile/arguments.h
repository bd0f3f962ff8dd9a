//===- arguments.h - What the command line asks for -------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_GRAPH_COMPILE_ARGUMENTS_H
#define TINH_GRAPH_COMPILE_ARGUMENTS_H

#include "command_line.h"
#include "compile_limits.h"
#include "compiler/Pipelines/Compile.h"
#include "compiler/Training/Training.h"
#include "compiler/Tuning/Tune.h"

namespace tinh::tools {

struct Arguments {
  std::string model, output, emit, from = "graph", weights = "auto";
  std::string target = "cpu";
  std::string cacheDirectory, memoryBudget, quantize, loadWeights, tune;
  std::string report; ///< "text", a page's file, or nothing.
  bool timing = false, verbose = false, noCache = false;
  bool train = false;
  training::TrainingOptions training;
  CudaOptions cuda;
  LimitArguments limits;
  CompileOptions compile;
  tuning::PlanSources plans;
};

/// --emit also names formats that a model in phase graph or normalised can be
/// written in.
inline bool isFormat(llvm::StringRef emit) {
  return emit == "onnx" || emit == "json";
}

/// The quantised model of which --train and --quantize make a training step: it
/// lies beside the artifact.
std::string trainedModel(llvm::StringRef artifact);

/// Reads the command line, and says in `job` which file becomes which. Gives
/// the exit code if the tool has no more to do: if that was all, or if what is
/// asked for makes no sense, which it says.
std::optional<ExitCode> parseArguments(int argc, char **argv,
                                       Arguments &arguments, CompileJob &job);

} // namespace tinh::tools

#endif // TINH_GRAPH_COMPILE_ARGUMENTS_H
