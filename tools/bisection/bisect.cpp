//===- bisect.cpp - Which node of a model is computed wrong -----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "bisect.h"

#include "bisect_report.h"
#include "compiler/Bisection/Bisection.h"
#include "compiler/Eager/Cuda/Gpu.h"
#include "compiler/Support/ElementTypes.h"
#include "input_source.h"
#include "inputs.h"
#include "model_job.h"
#include "training_options.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace tinh::tools {
namespace {

/// A tensor of a model, as those of an artifact are described.
tinh_tensor_info_t infoOf(const std::string &name, RankedTensorType type) {
  tinh_tensor_info_t info = {};
  info.name = name.c_str();
  info.dtype = dtypeOf(type.getElementType());
  info.rank = static_cast<uint32_t>(type.getRank());
  info.dims = type.getShape().data();
  info.size = static_cast<uint64_t>(graph::tensorSize(type));
  return info;
}

class ModelBisector {
public:
  ModelBisector(const BisectArguments &arguments, const BisectJob &wanted)
      : arguments(arguments), wanted(wanted), source(arguments.inputs) {
    job.model = wanted.model;
    job.importing = wanted.importing;
    job.output = arguments.output;
    if (job.output.empty())
      job.output = llvm::sys::path::stem(wanted.model).str() + "-bisected.json";
  }

  ExitCode run();

private:
  bool findGpu(CompileOptions &options);
  LogicalResult work(MLIRContext &context, const CompileOptions &options,
                     Progress &progress);
  FailureOr<std::vector<char>> makeInput(MLIRContext *context, StringRef name,
                                         RankedTensorType type);
  std::string sameOptions(ModuleOp small) const;
  LogicalResult write(const bisection::Reproducer &reproducer,
                      const CompileOptions &options);
  LogicalResult writeInputs(const bisection::Data &inputs,
                            const std::string &folder, MLIRContext *context);

  const BisectArguments &arguments;
  const BisectJob &wanted;
  InputSource source;
  CompileJob job;
  bool mismatch = false;
  std::string text; ///< To be printed once all is done.
  llvm::raw_string_ostream out{text};
};

FailureOr<std::vector<char>> ModelBisector::makeInput(MLIRContext *context,
                                                      StringRef name,
                                                      RankedTensorType type) {
  std::string text = name.str();
  try {
    return source.read(infoOf(text, type));
  } catch (const UserError &error) {
    return emitError(UnknownLoc::get(context), error.what());
  }
}

//===----------------------------------------------------------------------===//
// The smaller model
//===----------------------------------------------------------------------===//

LogicalResult ModelBisector::writeInputs(const bisection::Data &inputs,
                                         const std::string &folder,
                                         MLIRContext *context) {
  std::string message;
  if (std::error_code error = llvm::sys::fs::create_directories(folder))
    return emitError(UnknownLoc::get(context))
           << "cannot make the folder '" << folder << "': " << error.message();
  for (const auto &[name, stored] : inputs) {
    std::string text = name.str();
    tinh_tensor_info_t info = infoOf(text, stored.type);
    if (!write_npy(folder + "/" + file_of(info), info.dtype,
                   stored.type.getShape().vec(), stored.bytes.data(),
                   stored.bytes.size(), &message))
      return emitError(UnknownLoc::get(context), message);
  }
  return success();
}

/// A word of a command line, for the shell.
static std::string shellWord(const std::string &word) {
  constexpr char kPlain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWX"
                            "YZ0123456789_./=-+,:@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos)
    return word;
  std::string text = "'";
  for (char c : word)
    text += c == '\'' ? "'\\''" : std::string(1, c);
  return text + "'";
}

/// The options that the smaller model is to be compared with, too.
std::string ModelBisector::sameOptions(ModuleOp small) const {
  CompileOptions fitting = bisection::optionsOfPart(small, wanted.compile);
  const PhaseOptions &phases = fitting.phases, usual;
  std::string text;
  auto add = [&](const char *name, const std::string &value,
                 const std::string &otherwise) {
    if (value != otherwise)
      text += " " + shellWord(std::string(name) + "=" + value);
  };
  add("--cpu", wanted.compile.cpu, "");
  add("--winograd", phases.winograd, usual.winograd);
  add("--math", phases.math, usual.math);
  if (!arguments.train) { // That of a step is in what was made of it.
    add("--precision", phases.precision.type, "");
    for (const std::string &pattern : phases.precision.keepF32)
      add("--keep-f32", pattern, "");
  }
  add("--threads", std::to_string(wanted.threads),
      std::to_string(BisectJob().threads));
  if (wanted.compile.cuda)
    add("--target", "cuda", "");
  if (arguments.tolerance)
    add("--tolerance", llvm::formatv("{0:E2}", *arguments.tolerance), "");
  return text;
}

/// Writes the model and, where it takes them, its inputs, and says how to run
/// it.
LogicalResult ModelBisector::write(const bisection::Reproducer &reproducer,
                                   const CompileOptions &options) {
  if (!reproducer.module) {
    out << "\nno smaller model shows it: up to this node, and with "
           "variables as inputs, all is right\n";
    return success();
  }
  SmallString<128> folder(job.output);
  llvm::sys::path::replace_extension(folder, "");
  std::string inputs = std::string(folder) + "-inputs";
  if (failed(writeModel(*reproducer.module, job, options)) ||
      (reproducer.needsInputs &&
       failed(writeInputs(reproducer.inputs, inputs,
                          reproducer.module.get()->getContext()))))
    return failure();
  out << llvm::formatv(
      "\na smaller model, {0} ops to {1}, {2} candidates tested:\n  "
      "graph-compare {3} --bisect{4}{5}\n",
      reproducer.report.opsBefore, reproducer.report.ops,
      reproducer.report.tested, shellWord(job.output),
      sameOptions(*reproducer.module),
      reproducer.needsInputs ? " --inputs " + shellWord(inputs) : "");
  return success();
}

//===----------------------------------------------------------------------===//
// All of it
//===----------------------------------------------------------------------===//

/// Whether there is something to bisect.
bool findFunction(ModuleOp module) {
  if (module.lookupSymbol<func::FuncOp>(graph::names::kMain))
    return true;
  module.emitError("the model has no function @main to bisect");
  return false;
}

LogicalResult ModelBisector::work(MLIRContext &context,
                                  const CompileOptions &watched,
                                  Progress &progress) {
  CompileOptions options = watched;
  TrainingInfo info;
  if (arguments.train) {
    job.importing.training = &info;
    options.phases.training = training::trainingSteps(arguments.training, info);
  }
  auto module = readModel(job.model, job.importing, Phase::Graph, context);
  CompileReport unused;
  if (!module || !findFunction(*module) ||
      failed(annotateModule(*module, Phase::Graph, options)) ||
      (arguments.train &&
       failed(runPhases(*module, Phase::Graph, Phase::Differentiated,
                        options.phases, unused))))
    return failure();
  bisection::BisectOptions bisecting{
      options, wanted.threads, arguments.tolerance, {}, {}};
  bisecting.makeInput = [&](StringRef name, RankedTensorType type) {
    return makeInput(&context, name, type);
  };
  bisecting.progress = [&](const std::string &what) { progress.show(what); };
  bisection::BisectReport report;
  LogicalResult result = bisection::bisect(
      arguments.train
          ? bisection::Subject{*module, Phase::Differentiated, "train_step"}
          : bisection::Subject{*module, Phase::Graph,
                               graph::names::kMain.str()},
      bisecting, report);
  if (failed(result))
    return failure();
  printBisection(report, out);
  mismatch = report.compiled.mismatches() || report.eager.mismatches();
  return report.culprit ? write(report.reproducer, options) : success();
}

bool ModelBisector::findGpu(CompileOptions &options) {
  if (!options.cuda)
    return true;
  try {
    options.cuda->chips = {eager::Gpu::get(0).chip()};
    return true;
  } catch (const Error &error) {
    llvm::errs() << "error: " << error.what() << "\n";
    return false;
  }
}

ExitCode ModelBisector::run() {
  CompileOptions options = wanted.compile;
  if (!findGpu(options))
    return exit_wrong_input;
  ExitCode code = runModelJob(
      job, options,
      [&](MLIRContext &context, const CompileOptions &watched,
          Progress &progress) { return work(context, watched, progress); });
  llvm::outs() << text;
  return code == exit_success && mismatch ? exit_wrong_input : code;
}

} // namespace

/// Why a model cannot be written to a file of that name; empty if it can.
static std::string problemOfOutput(const std::string &name) {
  StringRef extension = llvm::sys::path::extension(name);
  return extension == ".onnx" || extension == ".json"
             ? ""
             : "'" + name + "': expected a name that ends in .onnx or .json";
}

void addBisect(CLI::App &app, BisectArguments &arguments) {
  CLI::Option *bisect = app.add_flag(
      "--bisect", arguments.bisect,
      "find the first node whose value diverges from the reference "
      "interpreter's, print it, and write a small model that shows it; the "
      "exit code is 1 if there is one");
  for (const char *other : {"--json", "--report", "--verify", "--with"})
    bisect->excludes(app.get_option(other));
  app.add_option("--tolerance", arguments.tolerance,
                 "for --bisect: the relative tolerance, an error over the "
                 "largest magnitude in the reference's value; 1e-3 for f32 if "
                 "not given, and for other types what they round")
      ->check(not_negative())
      ->type_name("NUMBER")
      ->needs(bisect);
  app.add_option("--inputs", arguments.inputs,
                 "for --bisect: random, zeros, a folder of NAME.npy or an .npz "
                 "file; random if not given")
      ->type_name("random|zeros|FOLDER|FILE.npz")
      ->needs(bisect);
  app.add_option("-o,--output", arguments.output,
                 "for --bisect: the small model, ONNX or, if it is called "
                 ".json, a JSON graph; MODEL-bisected.json if not given")
      ->check(problemOfOutput)
      ->type_name("FILE")
      ->needs(bisect);
  addTraining(app, &arguments.train, &arguments.training);
  app.get_option("--train")->needs(bisect);
}

bool checkBisect(const BisectArguments &arguments) {
  return arguments.train || checkNoTraining(arguments.training);
}

ExitCode bisectModel(const BisectArguments &arguments,
                     const BisectJob &wanted) {
  return ModelBisector(arguments, wanted).run();
}

} // namespace tinh::tools
