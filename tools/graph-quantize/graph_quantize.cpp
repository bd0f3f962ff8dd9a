//===- graph_quantize.cpp - graph-quantize: from f32 to int8 ----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "command_line.h"
#include "compiler/Pipelines/InternalErrors.h"
#include "model_job.h"
#include "print.h"
#include "quantize_for.h"
#include "tools.h"

using namespace mlir;
using namespace tinh;
using namespace tinh::tools;

namespace {

struct Arguments {
  std::string weights = "int8";
  QuantizeJob job;
  CompileOptions compile;
};

const std::map<std::string, quantization::Method> kMethods = {
    {"minmax", quantization::Method::MinMax},
    {"percentile", quantization::Method::Percentile},
    {"entropy", quantization::Method::Entropy},
    {"mse", quantization::Method::Mse}};

void define(CLI::App &app, Arguments &arguments) {
  app.add_option("MODEL", arguments.job.files.model, "the model's file, in f32")
      ->type_name(kModelType)
      ->required();
  app.add_option("--data", arguments.job.data, kDataHelp)
      ->type_name("FOLDER|FILE.npz")
      ->required();
  app.add_option("-o,--output", arguments.job.files.output, kModelOutputHelp)
      ->type_name("FILE")
      ->required();
  add_choice(app, "--method", &arguments.job.options.method, kMethods,
             "how ranges of activations are chosen: minmax, percentile, "
             "entropy or mse; mse if not given")
      ->type_name("METHOD");
  app.add_option("--weights", arguments.weights,
                 "int8, or f32: fake-quantised weights, for quantisation-aware "
                 "training by graph-compile --train")
      ->check(CLI::IsMember({"int8", "f32"}))
      ->capture_default_str();
  app.add_option("--keep", arguments.job.options.keep,
                 "a pattern, such as '*fc*': layers whose names fit one stay "
                 "in f32")
      ->type_name("PATTERN");
  app.add_option("--min-sqnr", arguments.job.options.minSqnr,
                 "keep the layers that lose most in f32, until each output has "
                 "at least so many dB of signal to noise")
      ->check(comparable())
      ->type_name("DB");
  app.add_option("--max-top1-mismatch", arguments.job.options.maxTop1Mismatch,
                 "the same, until the argmax (top-1) differs in at most this "
                 "share, such as 0.01, of the first output's rows")
      ->check(CLI::Range(0.0, 1.0))
      ->check(comparable())
      ->type_name("SHARE");
  addInputOptions(app, &arguments.job.files.importing);
  add_jobs(app, &arguments.compile.phases.jobs);
}

ExitCode run(Arguments &arguments) {
  QuantizeJob &job = arguments.job;
  job.option = "--data";
  job.options.floatWeights = arguments.weights == "f32";
  quantization::QuantizeReport report;
  ExitCode code =
      runModelJob(job.files, arguments.compile,
                  [&](MLIRContext &context, const CompileOptions &options) {
                    return quantizeFile(job, options, context, report);
                  });
  if (code == exit_success)
    printReport(report);
  return code;
}

} // namespace

int tinh::tools::graph_quantize(int argc, char **argv) {
  guardProcess();
  Arguments arguments;
  CLI::App app("Makes a model in int8 of one in f32: standard ONNX with "
               "QuantizeLinear and DequantizeLinear.",
               "graph-quantize");
  define(app, arguments);
  if (auto done = parse(app, argc, argv, compilerVersion()))
    return *done;
  return run(arguments);
}
