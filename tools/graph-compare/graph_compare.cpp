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
// interpreter, too, and says how far from it the two are; --with lets another
// engine take turns with them.
//
//===----------------------------------------------------------------------===//
#include "bisect.h"
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
  std::string target = "cpu", with, python = "python3";
  bool json = false;
  CLI::App app("Compares a model run eagerly, op by op, with the same model "
               "compiled as a whole. Compiling as a whole goes without the "
               "cache of kernels; the first eager run fills that of eager "
               "kernels, which are for dynamic shapes.");
  app.add_option("MODEL", options.model, "the model's file")
      ->type_name(kModelType)
      ->required();
  addInputOptions(app, &options.importing);
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
  CLI::Option *other =
      app.add_option("--with", with,
                     "onnxruntime: run the model by ONNX Runtime, too, in "
                     "another process, on the CPU and on as many threads")
          ->check(CLI::IsMember({"onnxruntime"}))
          ->excludes("--input-value") // It reads the model's file.
          ->excludes("--length")
          ->excludes("--string-length"); // Which it has no bound for.
  app.add_option("--python", python,
                 "the Python that has onnxruntime, as a path or a name on PATH")
      ->type_name("FILE")
      ->capture_default_str()
      ->needs(other);
  app.add_flag("--json", json, "print JSON");
  app.add_option("--report", options.page,
                 "write an HTML report: both side by side, the graph before "
                 "and after fusion, memory, and where the time goes")
      ->type_name("FILE.html")
      ->check(page_or({}));
  BisectArguments bisecting;
  addBisect(app, bisecting);
  if (auto done = parse(app, argc, argv, compilerVersion()))
    return *done;
  if (!checkBisect(bisecting))
    return exit_usage;
  options.compile.phases.modelDirectory =
      llvm::sys::path::parent_path(options.model).str();
  if (!with.empty())
    options.python = python;
  if (target == "cuda")
    options.compile.cuda.emplace();
  if (bisecting.bisect)
    return bisectModel(bisecting, {options.model, options.importing,
                                   options.compile, options.threads});
  Comparison comparison;
  if (ExitCode code = compare(options, comparison); code != exit_success)
    return code;
  if (json)
    printJson(comparison);
  else
    printTable(comparison);
  return exit_success;
}
