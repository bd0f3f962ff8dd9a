//===- graph_compare.cpp - graph-compare: what compiling buys ---*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs a model eagerly and compiled, in turns in one process, and prints the
// costs of both side by side. --verify evaluates the model with the reference
// interpreter, too, and says how far from it the two are.
//
//===----------------------------------------------------------------------===//
#include "command_line.h"
#include "compare.h"
#include "compiler/Pipelines/InternalErrors.h"
#include "model_job.h"
#include "tools.h"

#include "llvm/Support/Path.h"

using namespace tinh;
using namespace tinh::tools;

int tinh::tools::graph_compare(int argc, char **argv) {
  guardProcess();
  CompareOptions options;
  std::string target = "cpu";
  bool json = false;
  CLI::App app("Compares a model run eagerly, op by op, with the same model "
               "compiled as a whole. Compiling as a whole goes without the "
               "cache of kernels; the first eager run fills that of eager "
               "kernels, whose sizes are arguments.");
  app.add_option("MODEL", options.model, "the model's file")->required();
  addShapes(app, &options.importing);
  add_threads(app, &options.threads);
  add_jobs(app, &options.compile.phases.jobs);
  add_runs(app, &options.runs);
  app.add_option("--cpu", options.compile.cpu,
                 "the CPU to compile for; native if not given");
  transforms::Precision &precision = options.compile.phases.precision;
  add_precision(app, &precision.type, &precision.keepF32);
  add_winograd(app, &options.compile.phases.winograd);
  add_math(app, &options.compile.phases.math);
  app.add_option("--target", target,
                 "cpu, or cuda: both ways on the first GPU, for which this is "
                 "compiled")
      ->check(CLI::IsMember({"cpu", "cuda"}));
  app.add_flag("--verify", options.verify,
               "compare both with the reference interpreter");
  app.add_flag("--json", json, "print JSON");
  if (auto done = parse(app, argc, argv, compilerVersion()))
    return *done;
  options.compile.phases.modelDirectory =
      llvm::sys::path::parent_path(options.model).str();
  if (target == "cuda")
    options.compile.cuda.emplace();
  Comparison comparison;
  if (ExitCode code = compare(options, comparison); code != exit_success)
    return code;
  if (json)
    printJson(comparison);
  else
    printTable(comparison);
  return exit_success;
}
