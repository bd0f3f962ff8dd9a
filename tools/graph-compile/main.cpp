//===- main.cpp - graph-compile: from a model to a library ------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "arguments.h"
#include "compiler/Export/Export.h"
#include "compiler/Pipelines/Diagnostics.h"
#include "compiler/Pipelines/InternalErrors.h"
#include "compiler/Pipelines/KernelCache.h"
#include "compiler/Pipelines/Registration.h"
#include "report.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/Path.h"

#include <csignal>
#include <unistd.h>

using namespace mlir;
using namespace tinh;
using namespace tinh::tools;

static void defineModel(CLI::App &app, Arguments &arguments) {
  app.add_option("MODEL", arguments.model, "the model's file")->required();
  app.add_option("-o,--output", arguments.output, "the file to write");
  app.add_option("--emit", arguments.emit,
                 "stop at a phase and write it: " + phaseNames(Phase::Library) +
                     "; IR is bytecode if the output is called .mlirbc. ptx is "
                     "the text of all kernels for GPUs. onnx "
                     "and json write the model in phase graph in these formats")
      ->capture_default_str();
  app.add_option("--from", arguments.from,
                 "the phase that the model, IR in a file, is in: " +
                     phaseNames(Phase::LLVM))
      ->capture_default_str();
  app.add_option("--name", arguments.compile.modelName,
                 "the model's name in what is written; that of its file if not "
                 "given");
  app.add_option("--model-dir", arguments.compile.modelDirectory,
                 "the folder that the model's references to files start from, "
                 "if it is not the model's own");
  app.add_option("--shape", arguments.shapes,
                 "NAME=1x3x224x224: an input's shape, where the model leaves "
                 "it open");
}

static void defineTraining(CLI::App &app, Arguments &arguments) {
  app.add_flag("--train", arguments.train,
               "make functions train_step, evaluate and predict of the model, "
               "whose weights become variables");
  app.add_option("--loss", arguments.training.loss,
                 "NAME[,OPTION=VALUE…]: mse, cross_entropy, …; of the model's "
                 "first output and a target");
  app.add_option("--optimizer", arguments.training.optimizer,
                 "NAME[,OPTION=VALUE…]: sgd,lr=0.1,momentum=0.9, adam, …");
  app.add_option("--trainable", arguments.training.trainable,
                 "a pattern, such as 'fc*': of the weights only those are "
                 "trained whose names fit one; others stay as they are");
  app.add_option("--mixed-precision", arguments.training.mixedPrecision,
                 "bf16: products and convolutions read bf16; weights, sums and "
                 "updates stay f32");
}

static void defineCode(CLI::App &app, Arguments &arguments) {
  app.add_option(
         "--target", arguments.target,
         "what runs the kernels: cpu, or cuda for a GPU of NVIDIA's, or "
         "cpu,cuda for the GPU where there is one and else the CPU")
      ->check([](const std::string &target) -> std::string {
        if (target == "cpu" || target == "cuda" || target == "cpu,cuda")
          return "";
        return "expected cpu, cuda or cpu,cuda, not " + target;
      })
      ->capture_default_str();
  app.add_option("--cpu", arguments.compile.cpu,
                 "native (the default), x86-64-v3, x86-64-v4 or a name of "
                 "LLVM's");
  app.add_option("--memory-budget", arguments.memoryBudget,
                 "what an arena and the variables may take together: 260MB, "
                 "248MiB, or 60% of what they take without it; values are "
                 "computed again where that takes less");
  app.add_flag("--loadable-weights", arguments.compile.loadableWeights,
               "carry what prepares the weights, so that the artifact can be "
               "loaded with others");
  app.add_option("--weights", arguments.weights,
                 "auto, embedded or external (beside the output)")
      ->check(CLI::IsMember({"auto", "embedded", "external"}))
      ->capture_default_str();
  add_jobs(app, &arguments.compile.phases.jobs);
  app.add_flag("!--no-fuse", arguments.compile.phases.fuse,
               "one kernel for each op");
  app.add_flag("--plain-variables", arguments.compile.phases.plainVariables,
               "store variables as their types say, so that a program can give "
               "memory for them");
  app.add_option("--cache-dir", arguments.cacheDirectory,
                 "keep compiled kernels there, not in $XDG_CACHE_HOME/tinh or "
                 "~/.cache/tinh");
  app.add_flag("--no-cache", arguments.noCache,
               "compile all kernels anew and keep none")
      ->excludes("--cache-dir");
}

static void defineCuda(CLI::App &app, Arguments &arguments) {
  app.add_option("--cuda-chips", arguments.cuda.chips,
                 "the GPUs that the artifact has code for, such as "
                 "sm_80,sm_90a,compute_90, the last one being PTX for later "
                 "ones; sm_75 to sm_100 and compute_75 if not given")
      ->delimiter(',');
  app.add_option(
      "--place", arguments.cuda.place,
      "PATTERN=DEVICE, such as 'gather*=cpu': kernels with such an "
      "op, or such a node of the model, run on cpu or cuda; the last "
      "option that fits counts");
  app.add_flag("--allow-tf32", arguments.cuda.allowTf32,
               "products of f32 on the GPU may read tf32, 10 bits of the "
               "operands' mantissas");
  app.add_option("--cuda-path", arguments.cuda.toolkit,
                 "the CUDA toolkit's folder, if it is not $CUDA_HOME or "
                 "/usr/local/cuda");
}

static void defineReports(CLI::App &app, Arguments &arguments) {
  app.add_flag("--report", arguments.report, "print dispatches and memory");
  app.add_flag("--remarks", arguments.compile.phases.remarks,
               "say why ops were fused or not");
  app.add_flag("--timing", arguments.timing, "print where the time went");
  app.add_flag("--verbose", arguments.verbose,
               "print each kernel: its strategy, code size and compile time");
}

static LogicalResult exportModel(const CompileJob &job,
                                 const Arguments &arguments,
                                 MLIRContext &context) {
  OwningOpRef<ModuleOp> module =
      readModel(job.model, job.importing, job.from, context);
  if (!module)
    return failure();
  auto write = arguments.emit == "onnx" ? exportOnnx : exportJson;
  return write(*module, job.output, {arguments.compile.modelDirectory});
}

/// Compiles or exports the model. Ends the program after an internal error,
/// which may have left anything behind.
static ExitCode compile(const CompileJob &job, const Arguments &arguments,
                        CompileReport &report) {
  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  DiagnosticPrinter diagnostics(&context, job.model);
  const CompileOptions &options = arguments.compile;
  CompileStatus status =
      isFormat(arguments.emit)
          ? watchCompilation(job, options, context,
                             [&](const CompileOptions &) {
                               return exportModel(job, arguments, context);
                             })
          : compileFile(job, options, context, report);
  if (status == CompileStatus::InternalError)
    exitNow(exit_internal);
  return status == CompileStatus::WrongInput ? exit_wrong_input : exit_success;
}

static int run(Arguments &arguments) {
  CompileJob job;
  if (ExitCode code = checkArguments(arguments, job); code != exit_success)
    return code;
  CompileOptions &options = arguments.compile;
  if (options.modelDirectory.empty())
    options.modelDirectory =
        llvm::sys::path::parent_path(arguments.model).str();
  options.reproducerDirectory = ".";
  std::optional<KernelCache> cache;
  if (!arguments.noCache && !arguments.cacheDirectory.empty())
    options.cache = &cache.emplace(arguments.cacheDirectory);
  TrainingInfo info;
  if (arguments.train) {
    job.importing.training = &info;
    options.phases.training = training::trainingSteps(arguments.training, info);
  }
  CompileReport report;
  if (ExitCode code = compile(job, arguments, report); code != exit_success)
    return code;
  if (arguments.report)
    printReport(report);
  if (arguments.verbose)
    printKernels(report);
  if (arguments.timing)
    printTiming(report);
  return exit_success;
}

int main(int argc, char **argv) {
  std::signal(SIGXFSZ, SIG_IGN); // A limit on files is an error, no end.
  reportExhaustedMemory();
  catchCrashes();
  Arguments arguments;
  arguments.cacheDirectory = KernelCache::defaultDirectory();
  CLI::App app("Compiles a model (.onnx, .json, .mlir) into a library that "
               "graph-run and programs on libtinh_runtime run.");
  defineModel(app, arguments);
  defineTraining(app, arguments);
  defineCode(app, arguments);
  defineCuda(app, arguments);
  defineReports(app, arguments);
  if (auto done = parse(app, argc, argv))
    return *done;
  if (isatty(STDERR_FILENO))
    arguments.compile.progress = [](const char *what, size_t done,
                                    size_t total) {
      llvm::errs() << "\r" << what << " " << done << "/" << total
                   << (done == total ? "\n" : "");
    };
  return run(arguments);
}
