//===- graph_compile.cpp - graph-compile: from a model to a library -------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "arguments.h"
#include "compile_progress.h"
#include "compiler/Export/Export.h"
#include "compiler/Pipelines/Diagnostics.h"
#include "compiler/Pipelines/InternalErrors.h"
#include "compiler/Pipelines/Kernels/KernelCache.h"
#include "compiler/Pipelines/Registration.h"
#include "model_page.h"
#include "page.h"
#include "quantize_for.h"
#include "report.h"
#include "tools.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/Path.h"

#include <unistd.h>

using namespace mlir;
using namespace tinh;
using namespace tinh::tools;

static LogicalResult exportModel(const CompileJob &job,
                                 const Arguments &arguments,
                                 Interruption *interruption,
                                 MLIRContext &context) {
  ImportOptions importing = job.importing;
  importing.interruption = interruption;
  OwningOpRef<ModuleOp> module =
      readModel(job.model, importing, job.from, context);
  if (!module || isRequested(interruption))
    return failure();
  auto write = arguments.emit == "onnx" ? exportOnnx : exportJson;
  return write(*module, job.output, {arguments.compile.phases.modelDirectory});
}

/// Writes the page that --report asks for.
static ExitCode writePage(report::Recorder &recorder,
                          const CompileReport &report,
                          const std::string &path) {
  recorder.describe();
  std::string message;
  if (write_page(path, compilation_data(recorder, report), &message))
    return exit_success;
  llvm::errs() << "error: --report: " << message << "\n";
  return exit_wrong_input;
}

/// Compiles or exports the model. Ends the program after an internal error,
/// which may have left anything behind.
static ExitCode compile(const CompileJob &job, const Arguments &arguments,
                        Progress &progress, CompileReport &report) {
  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  DiagnosticPrinter diagnostics(&context, job.model);
  ErasingHandler eraser(&context, progress);
  CompileOptions options = arguments.compile;
  report::Recorder recorder;
  bool hasPage = is_page(arguments.report);
  if (hasPage)
    recorder.attach(options);
  CompileStatus status =
      isFormat(arguments.emit)
          ? watchCompilation(job, options, context,
                             [&](const CompileOptions &watched) {
                               return exportModel(job, arguments,
                                                  watched.phases.interruption,
                                                  context);
                             })
          : compileFile(job, options, context, report);
  progress.erase();
  if (status == CompileStatus::InternalError)
    exitNow(exit_internal);
  if (status == CompileStatus::WrongInput)
    return exit_wrong_input;
  return hasPage ? writePage(recorder, report, arguments.report) : exit_success;
}

/// What --quantize makes of a module. Its runs are those of the model in f32.
static LogicalResult quantizeModule(ModuleOp module,
                                    const Arguments &arguments) {
  CompileOptions options = arguments.compile;
  options.phases.quantize = nullptr;
  options.phases.memoryBudget = std::nullopt;
  quantization::QuantizeReport report;
  auto quantized = quantizeFor(module, "--quantize", arguments.quantize, {},
                               options, report);
  if (!quantized)
    return failure();
  module.getBodyRegion().takeBody(quantized->getBodyRegion());
  return success();
}

/// Writes the model that --train and --quantize together are about: what was
/// trained can only go where the same scales are.
static ExitCode quantizeForTraining(const CompileJob &job,
                                    const Arguments &arguments,
                                    Progress &progress) {
  QuantizeJob quantize{job, "--quantize", arguments.quantize, {}};
  quantize.options.floatWeights = true;
  quantize.files.output = trainedModel(job.output);
  quantize.files.importing.training = nullptr;
  CompileOptions options = arguments.compile;
  options.phases = {};
  options.phases.modelDirectory = arguments.compile.phases.modelDirectory;
  options.phases.jobs = arguments.compile.phases.jobs;
  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  DiagnosticPrinter diagnostics(&context, job.model);
  ErasingHandler eraser(&context, progress);
  quantization::QuantizeReport report;
  CompileStatus status = watchCompilation(
      quantize.files, options, context, [&](const CompileOptions &watched) {
        return quantizeFile(quantize, watched, context, report);
      });
  if (status == CompileStatus::InternalError)
    exitNow(exit_internal);
  return status == CompileStatus::WrongInput ? exit_wrong_input : exit_success;
}

/// Sees to it that --quantize is done: to the model that is trained first of
/// all, to others between phases.
static ExitCode arrangeQuantization(Arguments &arguments, CompileJob &job,
                                    Progress &progress) {
  if (arguments.quantize.empty())
    return exit_success;
  if (!arguments.train) {
    arguments.compile.phases.quantize = [&arguments](ModuleOp module) {
      return quantizeModule(module, arguments);
    };
    return exit_success;
  }
  ExitCode code = quantizeForTraining(job, arguments, progress);
  job.model = trainedModel(job.output);
  job.importing = {};
  arguments.compile.phases.modelDirectory =
      llvm::sys::path::parent_path(job.model).str();
  return code;
}

/// Does all but to print what there is to say of it.
static ExitCode make(Arguments &arguments, CompileJob &job,
                     CompileReport &report,
                     std::optional<tuning::TuneReport> &tuned) {
  // Text on the standard output may go to the same terminal.
  Progress progress(job.output == "-" ? -1 : STDERR_FILENO);
  CompileOptions &options = arguments.compile;
  if (options.phases.modelDirectory.empty())
    options.phases.modelDirectory =
        llvm::sys::path::parent_path(arguments.model).str();
  options.reproducerDirectory = ".";
  std::optional<KernelCache> cache;
  if (!arguments.noCache && !arguments.cacheDirectory.empty())
    options.cache = &cache.emplace(arguments.cacheDirectory);
  options.limits.giveUp = [&](const std::string &message) {
    progress.erase();
    llvm::errs() << escapeControls(job.model + ": error: " + message) << "\n";
    exitNow(exit_wrong_input);
  };
  showCompiling(progress, options);
  if (ExitCode code = arrangeQuantization(arguments, job, progress);
      code != exit_success)
    return code;
  TrainingInfo info;
  if (arguments.train) {
    job.importing.training = &info;
    options.phases.training = training::trainingSteps(arguments.training, info);
  }
  tuning::choosePlansFrom(arguments.plans, options, &tuned);
  if (arguments.plans.tune)
    showTuning(progress, options, arguments.plans.tune->seconds);
  return compile(job, arguments, progress, report);
}

static ExitCode run(Arguments &arguments, CompileJob &job) {
  CompileReport report;
  std::optional<tuning::TuneReport> tuned;
  if (ExitCode code = make(arguments, job, report, tuned); code != exit_success)
    return code;
  if (tuned)
    printTuning(*tuned);
  if (arguments.report == "text")
    printReport(report);
  if (arguments.verbose)
    printKernels(report);
  if (arguments.timing)
    printTiming(report);
  return exit_success;
}

int tinh::tools::graph_compile(int argc, char **argv) {
  guardProcess();
  Arguments arguments;
  CompileJob job;
  if (auto done = parseArguments(argc, argv, arguments, job))
    return *done;
  return run(arguments, job);
}
