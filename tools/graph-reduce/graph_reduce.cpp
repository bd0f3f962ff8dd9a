//===- graph_reduce.cpp - graph-reduce: what a model need not have --------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "candidate_file.h"
#include "command.h"
#include "compiler/Pipelines/InternalErrors.h"
#include "compiler/Reduction/Reduction.h"
#include "model_job.h"
#include "tools.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tinh;
using namespace tinh::tools;

namespace {

struct Arguments {
  std::string test;
  double timeout = 0;
  CompileJob job;
  CompileOptions compile;
};

void define(CLI::App &app, Arguments &arguments) {
  app.add_option("MODEL", arguments.job.model, "the model's file")
      ->type_name(kModelType)
      ->required();
  app.add_option("--test", arguments.test,
                 "a command that gets the file of a model as its last "
                 "argument: exit code 0 says that the model still shows what "
                 "is looked for, any other that it does not")
      ->required()
      ->type_name("COMMAND");
  app.add_option("-o,--output", arguments.job.output,
                 "the file to write: ONNX, a JSON graph if it is called .json, "
                 "or IR if .mlir; models for the command are of that kind, too")
      ->type_name("FILE")
      ->required();
  app.add_option("--timeout", arguments.timeout,
                 "seconds after which the command is ended, which says that "
                 "the model does not show it; without it there is no limit")
      ->check(positive())
      ->type_name("SECONDS");
  addInputOptions(app, &arguments.job.importing);
}

/// Asks the user's command.
class Test {
public:
  Test(const Arguments &arguments, const CompileOptions &options)
      : arguments(arguments), options(options), file(arguments.job.output) {}

  /// Says why, if the model itself does not show what is looked for.
  LogicalResult checkOriginal(ModuleOp module);
  bool holds(ModuleOp candidate);

private:
  CommandEnd run(bool showsOutput) {
    return runCommand(arguments.test, file.path(), arguments.timeout,
                      showsOutput);
  }

  const Arguments &arguments;
  const CompileOptions &options;
  CandidateFile file;
};

/// How the command has said no, for a message.
std::string describe(const CommandEnd &end, double timeout) {
  if (end.timedOut)
    return llvm::formatv("did not end within {0} seconds (--timeout)", timeout);
  std::string text = "ended with exit code " + std::to_string(end.exitCode);
  if (end.exitCode == 126 || end.exitCode == 127)
    text += ", by which the shell says that it cannot run it";
  return text;
}

LogicalResult Test::checkOriginal(ModuleOp module) {
  if (failed(file.write(module, options)))
    return failure();
  CommandEnd end = run(/*showsOutput=*/true);
  if (end.succeeded())
    return success();
  return emitError(UnknownLoc::get(module.getContext()))
         << "'" << arguments.job.model
         << "' itself does not show what is looked for: '" << arguments.test
         << "', with the model as '" << file.path() << "', "
         << describe(end, arguments.timeout) << "; expected exit code 0";
}

/// A candidate that the format cannot express is none.
bool Test::holds(ModuleOp candidate) {
  ScopedDiagnosticHandler silent(candidate.getContext(),
                                 [](Diagnostic &) { return success(); });
  return succeeded(file.write(candidate, options)) &&
         run(/*showsOutput=*/false).succeeded();
}

std::string describe(const reduction::ReduceReport &report) {
  return llvm::formatv("{0} ops to {1}, {2} candidates tested",
                       report.opsBefore, report.ops, report.tested);
}

LogicalResult reduceFile(const Arguments &arguments, MLIRContext &context,
                         const CompileOptions &options, Progress &progress,
                         reduction::ReduceReport &report) {
  OwningOpRef<ModuleOp> module = readModel(
      arguments.job.model, arguments.job.importing, Phase::Graph, context);
  progress.show(""); // The command may print.
  progress.erase();
  Test test(arguments, options);
  if (!module || failed(test.checkOriginal(*module)))
    return failure();
  reduction::ReduceOptions reduce{options.phases.modelDirectory, {}};
  reduce.progress = [&](const reduction::ReduceReport &so) {
    progress.show(describe(so));
  };
  OwningOpRef<ModuleOp> small = reduction::reduce(
      *module,
      [&](ModuleOp candidate) -> FailureOr<bool> {
        return test.holds(candidate);
      },
      reduce, report);
  return success(small &&
                 succeeded(writeReduced(*small, arguments.job, options)));
}

} // namespace

int tinh::tools::graph_reduce(int argc, char **argv) {
  guardProcess();
  Arguments arguments;
  CLI::App app("Makes a model smaller as long as a command still shows "
               "something with it: a crash, or a wrong result.",
               "graph-reduce");
  define(app, arguments);
  if (auto done = parse(app, argc, argv, compilerVersion()))
    return *done;
  reduction::ReduceReport report;
  ExitCode code = runModelJob(
      arguments.job, arguments.compile,
      [&](MLIRContext &context, const CompileOptions &options,
          Progress &progress) {
        return reduceFile(arguments, context, options, progress, report);
      });
  if (code == exit_success)
    llvm::outs() << describe(report) << "\n";
  return code;
}
