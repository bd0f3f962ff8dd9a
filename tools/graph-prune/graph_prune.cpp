//===- graph_prune.cpp - graph-prune: fewer channels ------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Pipelines/InternalErrors.h"
#include "model_job.h"
#include "model_samples.h"
#include "print.h"
#include "tools.h"

using namespace mlir;
using namespace tinh;
using namespace tinh::tools;

namespace {

struct Arguments {
  std::string data, report;
  CompileJob job;
  CompileOptions compile;
  pruning::PruneOptions prune;
};

const std::map<std::string, pruning::Score> kScores = {
    {"magnitude", pruning::Score::Magnitude},
    {"taylor", pruning::Score::Taylor}};

void defineTarget(CLI::App &app, pruning::PruneOptions &options) {
  auto add = [&](const char *name, std::optional<double> *share,
                 const char *of) {
    app.add_option(
           name, *share,
           std::string("cut until at most this share, such as 0.5, of ") + of +
               " is left")
        ->check(CLI::Range(0.0, 1.0))
        ->check(comparable())
        ->type_name("SHARE");
  };
  add("--max-macs", &options.maxMacs, "the multiplications (MACs)");
  add("--max-time", &options.maxTime,
      "the time that one core is estimated to take");
  add("--max-bytes", &options.maxBytes, "the bytes of the weights");
  app.add_option("--multiple", options.multiple,
                 "widths that are cut become multiples of this; of the lanes "
                 "of the CPU's vectors if not given")
      ->check(positive());
  app.add_option("--keep", options.keep,
                 "a pattern, such as '*fc*': the outputs of layers whose names "
                 "fit one stay")
      ->type_name("PATTERN");
}

void defineScore(CLI::App &app, Arguments &arguments) {
  add_choice(app, "--score", &arguments.prune.score, kScores,
             "the importance of channels: magnitude, the norm of their "
             "weights, or taylor, how much the loss changes without them "
             "to first order; magnitude if not given")
      ->type_name("SCORE");
  app.add_option("--data", arguments.data,
                 std::string("for taylor: ") + kDataHelp +
                     "; and 'target', which the loss is of")
      ->type_name("FOLDER|FILE.npz");
  app.add_option("--loss", arguments.prune.loss,
                 "for taylor: NAME[,OPTION=VALUE…]: mse, cross_entropy, …; of "
                 "the model's first output and a target");
}

void define(CLI::App &app, Arguments &arguments) {
  app.add_option("MODEL", arguments.job.model, "the model's file")
      ->type_name(kModelType)
      ->required();
  app.add_option("-o,--output", arguments.job.output, kModelOutputHelp)
      ->type_name("FILE");
  defineTarget(app, arguments.prune);
  defineScore(app, arguments);
  app.add_option("--report", arguments.report,
                 "2:4: cut nothing, and print what of each layer's weights "
                 "would be left if two of four were zero")
      ->check(CLI::IsMember({"2:4"}));
  app.add_option("--cpu", arguments.compile.cpu,
                 "native (the default), x86-64-v3, x86-64-v4 or a name of "
                 "LLVM's: what times are estimated for");
  addInputOptions(app, &arguments.job.importing);
  add_jobs(app, &arguments.compile.phases.jobs);
}

/// What the options lack, or contradict; empty if nothing is wrong.
std::string problemOf(const Arguments &arguments) {
  const pruning::PruneOptions &options = arguments.prune;
  bool hasTarget = options.maxMacs || options.maxTime || options.maxBytes;
  if (!arguments.report.empty())
    return hasTarget || !arguments.job.output.empty()
               ? "--report cuts nothing: it does not go with -o, --max-macs, "
                 "--max-time and --max-bytes"
               : "";
  if (!hasTarget)
    return "--max-macs, --max-time or --max-bytes is missing: how much is to "
           "be left";
  if (arguments.job.output.empty())
    return "-o OUT.onnx is missing";
  bool isTaylor = options.score == pruning::Score::Taylor;
  if (isTaylor && (arguments.data.empty() || options.loss.empty()))
    return "--score=taylor takes gradients of a loss: --loss and --data, with "
           "an array 'target', are missing";
  if (!isTaylor && !(arguments.data.empty() && options.loss.empty()))
    return "--loss and --data are about --score=taylor";
  return "";
}

OwningOpRef<ModuleOp> read(const Arguments &arguments, MLIRContext &context,
                           const CompileOptions &options) {
  OwningOpRef<ModuleOp> module = readModel(
      arguments.job.model, arguments.job.importing, Phase::Graph, context);
  if (module && failed(annotateModule(*module, Phase::Graph, options)))
    return {};
  return module;
}

/// Prints what was found, once all is done.
using Print = std::function<void()>;

LogicalResult reportFile(const Arguments &arguments, MLIRContext &context,
                         const CompileOptions &options, Print &print) {
  OwningOpRef<ModuleOp> module = read(arguments, context, options);
  if (!module)
    return failure();
  auto report = pruning::reportSparsity(*module, options.phases.modelDirectory);
  if (failed(report))
    return failure();
  print = [report = std::move(*report)] { printReport(report); };
  return success();
}

LogicalResult pruneFile(const Arguments &arguments, MLIRContext &context,
                        const CompileOptions &options, Print &print) {
  OwningOpRef<ModuleOp> module = read(arguments, context, options);
  if (!module)
    return failure();
  std::optional<ModelSamples> samples;
  pruning::PruneOptions prune = arguments.prune;
  prune.readSamples = [&](ModuleOp of) -> FailureOr<pruning::Samples> {
    auto found = ModelSamples::read(of, "--data", arguments.data);
    if (failed(found))
      return failure();
    samples = std::move(*found);
    return samples->batches();
  };
  pruning::PruneReport report;
  auto pruned = pruning::prune(*module, prune, options, report);
  if (!pruned || failed(writeModel(*pruned, arguments.job, options)))
    return failure();
  print = [report = std::move(report)] { printReport(report); };
  return success();
}

} // namespace

int tinh::tools::graph_prune(int argc, char **argv) {
  guardProcess();
  Arguments arguments;
  CLI::App app("Removes channels, features and heads from a model: standard "
               "ONNX with fewer of them.",
               "graph-prune");
  define(app, arguments);
  if (auto done = parse(app, argc, argv, compilerVersion()))
    return *done;
  if (std::string problem = problemOf(arguments); !problem.empty()) {
    llvm::errs() << "error: " << problem << "\n";
    return exit_usage;
  }
  auto work = arguments.report.empty() ? pruneFile : reportFile;
  Print print;
  ExitCode code =
      runModelJob(arguments.job, arguments.compile,
                  [&](MLIRContext &context, const CompileOptions &options) {
                    return work(arguments, context, options, print);
                  });
  if (code == exit_success)
    print();
  return code;
}
