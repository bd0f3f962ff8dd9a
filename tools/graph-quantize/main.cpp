//===- main.cpp - graph-quantize: from f32 to int8 --------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "command_line.h"
#include "compiler/Export/Export.h"
#include "compiler/Pipelines/Diagnostics.h"
#include "compiler/Pipelines/InternalErrors.h"
#include "compiler/Pipelines/KernelCache.h"
#include "compiler/Pipelines/Registration.h"
#include "print.h"
#include "quantize_for.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/Path.h"

#include <csignal>

using namespace mlir;
using namespace tinh;
using namespace tinh::tools;

namespace {

struct Arguments {
  std::string data;
  CompileJob job;
  CompileOptions compile;
  quantization::QuantizeOptions quantize;
};

const std::map<std::string, quantization::Method> kMethods = {
    {"minmax", quantization::Method::MinMax},
    {"percentile", quantization::Method::Percentile},
    {"entropy", quantization::Method::Entropy},
    {"mse", quantization::Method::Mse}};

void define(CLI::App &app, Arguments &arguments) {
  app.add_option("MODEL", arguments.job.model, "the model's file, in f32")
      ->required();
  app.add_option("--data", arguments.data, kDataHelp)
      ->type_name("FOLDER|FILE.npz")
      ->required();
  app.add_option("-o,--output", arguments.job.output,
                 "the file to write: ONNX, or a JSON graph if it is called "
                 ".json")
      ->required();
  app.add_option("--method", arguments.quantize.method,
                 "how ranges of activations are chosen: minmax, percentile, "
                 "entropy or mse; mse if not given")
      ->transform(CLI::CheckedTransformer(kMethods))
      ->type_name("METHOD");
  app.add_option("--keep", arguments.quantize.keep,
                 "a pattern, such as '*fc*': layers whose names fit one stay "
                 "in f32")
      ->type_name("PATTERN");
  app.add_option("--min-sqnr", arguments.quantize.minSqnr,
                 "keep the layers that lose most in f32, until each output has "
                 "at least so many dB of signal to noise")
      ->type_name("DB");
  app.add_option("--max-drop", arguments.quantize.maxDrop,
                 "the same, until at most this share, such as 0.01, of the "
                 "first output's rows has another largest element")
      ->check(CLI::Range(0.0, 1.0))
      ->type_name("SHARE");
  add_jobs(app, &arguments.compile.phases.jobs);
}

/// Quantises the model for the samples, and writes it.
LogicalResult quantizeFile(const Arguments &arguments, MLIRContext &context,
                           const CompileOptions &options,
                           quantization::QuantizeReport &report) {
  const CompileJob &job = arguments.job;
  OwningOpRef<ModuleOp> module =
      readModel(job.model, job.importing, Phase::Graph, context);
  if (!module)
    return failure();
  CompileReport compilation;
  if (failed(annotateModule(*module, Phase::Graph, options)) ||
      failed(runPhases(*module, Phase::Graph, Phase::Normalised, options.phases,
                       compilation)))
    return failure();
  auto quantized = quantizeFor(*module, "--data", arguments.data,
                               arguments.quantize, options, report);
  if (!quantized)
    return failure();
  bool isJson = StringRef(job.output).ends_with(".json");
  return (isJson ? exportJson : exportOnnx)(*quantized, job.output,
                                            {options.modelDirectory});
}

ExitCode run(Arguments &arguments) {
  CompileOptions &options = arguments.compile;
  options.modelDirectory =
      llvm::sys::path::parent_path(arguments.job.model).str();
  options.reproducerDirectory = ".";
  std::optional<KernelCache> cache;
  if (std::string directory = KernelCache::defaultDirectory();
      !directory.empty())
    options.cache = &cache.emplace(directory);
  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  DiagnosticPrinter diagnostics(&context, arguments.job.model);
  quantization::QuantizeReport report;
  CompileStatus status = watchCompilation(
      arguments.job, options, context, [&](const CompileOptions &watched) {
        return quantizeFile(arguments, context, watched, report);
      });
  if (status == CompileStatus::InternalError)
    exitNow(exit_internal);
  if (status == CompileStatus::WrongInput)
    return exit_wrong_input;
  printReport(report);
  return exit_success;
}

} // namespace

int main(int argc, char **argv) {
  std::signal(SIGXFSZ, SIG_IGN); // A limit on files is an error, no end.
  reportExhaustedMemory();
  catchCrashes();
  Arguments arguments;
  CLI::App app("Makes a model in int8 of one in f32: standard ONNX with "
               "QuantizeLinear and DequantizeLinear.",
               "graph-quantize");
  define(app, arguments);
  if (auto done = parse(app, argc, argv))
    return *done;
  return run(arguments);
}
