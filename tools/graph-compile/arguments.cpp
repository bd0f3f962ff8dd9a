//===- arguments.cpp - What the command line asks for -----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "arguments.h"

#include "compiler/Pipelines/Kernels/KernelCache.h"
#include "compiler/Pipelines/MemoryBudget.h"
#include "model_job.h"
#include "quantize_for.h"
#include "training_options.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace llvm;

namespace tinh::tools {
namespace {

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

/// The names of phases between bars.
std::string phaseChoices(Phase last) {
  std::string names;
  for (int i = 0; i <= static_cast<int>(last); ++i)
    names += (i ? "|" : "") + phaseName(static_cast<Phase>(i)).str();
  return names;
}

void defineModel(CLI::App &app, Arguments &arguments, CompileJob &job) {
  app.add_option("MODEL", arguments.model, "the model's file")
      ->type_name(kModelType)
      ->required();
  app.add_option("-o,--output", arguments.output, "the file to write")
      ->type_name("FILE");
  app.add_option("--emit", arguments.emit,
                 "stop at a phase and write it: " + phaseNames(Phase::Library) +
                     "; IR is bytecode if the output is called .mlirbc. ptx is "
                     "the text of all kernels for GPUs. onnx "
                     "and json write the model in phase graph in these "
                     "formats. If not given, what the output's extension "
                     "says, or else a library")
      ->type_name("onnx|json|" + phaseChoices(Phase::Library));
  app.add_option("--from", arguments.from,
                 "the phase that the model, IR in a file, is in: " +
                     phaseNames(Phase::LLVM))
      ->type_name(phaseChoices(Phase::LLVM))
      ->capture_default_str();
  app.add_option("--name", arguments.compile.modelName,
                 "the model's name in what is written; that of its file if not "
                 "given");
  app.add_option("--model-dir", arguments.compile.phases.modelDirectory,
                 "the folder that the model's references to files start from, "
                 "if it is not the model's own")
      ->type_name("FOLDER");
  addInputOptions(app, &job.importing);
}

void defineCode(CLI::App &app, Arguments &arguments) {
  app.add_option(
         "--target", arguments.target,
         "what runs the kernels: cpu, or cuda for a GPU of NVIDIA's, or "
         "cpu,cuda for the GPU where there is one and else the CPU")
      ->check([](const std::string &target) -> std::string {
        if (target == "cpu" || target == "cuda" || target == "cpu,cuda")
          return "";
        return "expected cpu, cuda or cpu,cuda, not " + target;
      })
      ->type_name("cpu|cuda|cpu,cuda")
      ->capture_default_str();
  app.add_option("--cpu", arguments.compile.cpu,
                 "native (the default), x86-64-v3, x86-64-v4 or a name of "
                 "LLVM's");
  transforms::Precision &precision = arguments.compile.phases.precision;
  add_precision(app, &precision.type, &precision.keepF32);
  add_winograd(app, &arguments.compile.phases.winograd);
  add_math(app, &arguments.compile.phases.math);
  app.add_option("--quantize", arguments.quantize,
                 std::string("quantise the model to int8, as graph-quantize "
                             "does, for ") +
                     kDataHelp)
      ->type_name("FOLDER|FILE.npz");
  app.add_option("--memory-budget", arguments.memoryBudget,
                 "what an arena and the variables may take together: 260MB, "
                 "248MiB, or 60% of what they take without it; values are "
                 "computed again where that takes less");
  app.add_option("--load-weights", arguments.loadWeights,
                 "a .safetensors file, such as the state of a training step: "
                 "its tensors replace the model's weights of their names")
      ->type_name("FILE.safetensors");
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
                 "~/.cache/tinh")
      ->type_name("FOLDER");
  app.add_flag("--no-cache", arguments.noCache,
               "compile all kernels anew and keep none")
      ->excludes("--cache-dir");
}

/// Of what is trained data parallel: "MICROSECONDS,GIGABYTES".
void defineNetwork(CLI::App &app, planning::Network *network) {
  app.add_option_function<std::vector<double>>(
         "--network",
         [network](const std::vector<double> &numbers) {
           *network = {numbers[0] * 1e-6, numbers[1] * 1e9};
         },
         "latency and bandwidth of an all-reduce between the ranks: "
         "microseconds, and gigabytes of an operand in a second; buckets of "
         "gradients are chosen by them; 50,1.25 if not given")
      ->delimiter(',')
      ->expected(2)
      ->check(positive())
      ->type_name("MICROSECONDS,GIGABYTES");
}

void definePlans(CLI::App &app, Arguments &arguments) {
  app.add_option("--plans", arguments.plans.file,
                 "a file of plans that were found by --tune (tuning records): "
                 "kernels that it knows are computed so")
      ->type_name("FILE.json");
  app.add_flag(
         "--tune{60}", arguments.tune,
         "try other plans than those that are estimated to cost least, on "
         "this machine, for about so many seconds, and print what that "
         "gained; with --plans, add them to the file")
      ->check(checkSeconds);
}

void defineCuda(CLI::App &app, Arguments &arguments) {
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
               "matmuls and convolutions of f32 on the GPU may read tf32, 10 "
               "bits of the operands' mantissas");
  app.add_option("--collectives", arguments.cuda.collectives,
                 "what ranks reduce with: mpi (the default) or nccl, on GPUs")
      ->check(CLI::IsMember({"mpi", "nccl"}));
  app.add_option("--cuda-path", arguments.cuda.toolkit,
                 "the CUDA toolkit, if not $CUDA_HOME or /usr/local/cuda")
      ->type_name("FOLDER");
}

void defineReports(CLI::App &app, Arguments &arguments) {
  app.add_flag("--report{text}", arguments.report,
               "print dispatches and memory, or with =FILE.html write an HTML "
               "report: the graph before and after fusion, kernels, memory "
               "and times")
      ->check(page_or({"text"}))
      ->type_name("text|FILE.html");
  app.add_flag("--remarks", arguments.compile.phases.remarks,
               "say why ops were fused or not");
  app.add_flag("--timing", arguments.timing, "print where the time went");
  app.add_flag("--verbose", arguments.verbose,
               "print each kernel: its strategy, code size and compile time");
}

//===----------------------------------------------------------------------===//
// What they mean together
//===----------------------------------------------------------------------===//

/// What is written to a file of this name if --emit does not say it; nothing
/// where that may be several phases, which is said.
std::optional<std::string> emitOf(StringRef output) {
  StringRef extension = llvm::sys::path::extension(output);
  if (extension == ".mlir" || extension == ".mlirbc") {
    llvm::errs() << "error: -o " << output
                 << " is IR, of which there are phases: say with --emit which "
                    "one is written, "
                 << phaseNames(Phase::LLVM) << "\n";
    return std::nullopt;
  }
  return llvm::StringSwitch<std::string>(extension)
      .Case(".onnx", "onnx")
      .Case(".json", "json")
      .Case(".ptx", "ptx")
      .Case(".o", "obj")
      .Default("so");
}

/// Checks the arguments of an export.
bool checkExport(const Arguments &arguments, Phase from) {
  if (from > Phase::Normalised) {
    llvm::errs() << "error: --emit=" << arguments.emit
                 << " writes models in phase " << phaseNames(Phase::Normalised)
                 << ", not '" << arguments.from << "'\n";
    return false;
  }
  if (arguments.output.empty() || arguments.output == "-") {
    llvm::errs() << "error: -o OUT." << arguments.emit << " is missing\n";
    return false;
  }
  return true;
}

/// Finds the phases that --from and --emit name, or says what is wrong.
bool findPhases(const Arguments &arguments, Phase &from, Phase &to) {
  auto first = parsePhase(arguments.from), last = parsePhase(arguments.emit);
  if (!first || *first > Phase::LLVM) {
    llvm::errs() << "error: --from takes " << phaseNames(Phase::LLVM)
                 << ", not '" << arguments.from << "'\n";
    return false;
  }
  if (isFormat(arguments.emit)) {
    from = to = *first;
    return checkExport(arguments, from);
  }
  if (!last) {
    llvm::errs() << "error: --emit takes onnx, json, "
                 << phaseNames(Phase::Library) << ", not '" << arguments.emit
                 << "'\n";
    return false;
  }
  if (*first > *last) {
    llvm::errs() << "error: phase '" << arguments.emit
                 << "' comes before phase '" << arguments.from << "'\n";
    return false;
  }
  if (*last < Phase::Object && !arguments.report.empty()) {
    llvm::errs() << "error: --report is about --emit=obj and --emit=so\n";
    return false;
  }
  if (*last >= Phase::Object && arguments.output.empty()) {
    llvm::errs() << "error: -o OUT." << (arguments.emit == "so" ? "so" : "o")
                 << " is missing\n";
    return false;
  }
  from = *first;
  to = *last;
  return true;
}

/// Whether --train has what it needs, and the rest does not come without it.
bool checkTraining(const Arguments &arguments, Phase from) {
  auto fail = [](const llvm::Twine &what) {
    llvm::errs() << "error: " << what << "\n";
    return false;
  };
  if (!arguments.train)
    return checkNoTraining(arguments.training);
  if (from >= Phase::Differentiated)
    return fail("--train takes models in phase " +
                phaseNames(Phase::Normalised) + ", not '" + arguments.from +
                "'");
  return !isFormat(arguments.emit) || fail("--emit=" + arguments.emit +
                                           " writes models as they are read, "
                                           "which --train does not change");
}

/// Whether --loadable-weights comes with what it is for.
bool checkLoadableWeights(const Arguments &arguments, Phase from) {
  if (!arguments.compile.loadableWeights)
    return true;
  auto fail = [](const llvm::Twine &what) {
    llvm::errs() << "error: --loadable-weights " << what << "\n";
    return false;
  };
  if (arguments.train)
    return fail("is about inference: the weights of a model that is trained "
                "are its state, which can be loaded");
  if (from != Phase::Graph)
    return fail("takes models in phase 'graph', not '" + arguments.from + "'");
  return !isFormat(arguments.emit) ||
         fail("is about artifacts, not --emit=" + arguments.emit);
}

/// Whether there is something to do about --precision, --keep-f32 and
/// --loss-scale.
bool checkPrecision(const Arguments &arguments, Phase from, Phase to) {
  const transforms::Precision &precision = arguments.compile.phases.precision;
  if ((precision.type.empty() && precision.keepF32.empty() &&
       arguments.training.lossScale.empty()) ||
      (from < Phase::Differentiated && to >= Phase::Differentiated))
    return true;
  llvm::errs() << "error: --precision, --keep-f32 and --loss-scale are about "
                  "phase 'differentiated', which is not between '"
               << arguments.from << "' and '" << arguments.emit << "'\n";
  return false;
}

/// Whether kernels get plans between the phases.
bool checkPlans(Arguments &arguments, Phase from, Phase to) {
  tuning::PlanSources &plans = arguments.plans;
  if (!arguments.tune.empty())
    plans.tune = tuning::TuneOptions{std::stod(arguments.tune)};
  if ((plans.file.empty() && !plans.tune) ||
      (from < Phase::Kernels && to >= Phase::Kernels))
    return true;
  llvm::errs() << "error: --plans and --tune are about phase 'kernels', which "
                  "is not between '"
               << arguments.from << "' and '" << arguments.emit << "'\n";
  return false;
}

/// Whether the page that --report asks for is a file of its own.
bool checkPage(const Arguments &arguments) {
  if (isModelItself(arguments.model, arguments.report))
    return false;
  if (arguments.report != arguments.output)
    return true;
  llvm::errs() << "error: --report: the page would be written over the output '"
               << arguments.output << "'; call one of them otherwise\n";
  return false;
}

/// Whether --quantize comes with what it is for.
bool checkQuantize(const Arguments &arguments, Phase from, Phase to) {
  if (arguments.quantize.empty())
    return true;
  auto fail = [](const llvm::Twine &what) {
    llvm::errs() << "error: --quantize " << what << "\n";
    return false;
  };
  const transforms::Precision &precision = arguments.compile.phases.precision;
  if (arguments.compile.loadableWeights)
    return fail("is about the weights that the model has");
  if (arguments.train && (from != Phase::Graph || to != Phase::Library))
    return fail("with --train writes a model beside the artifact, and does not "
                "go with --from and --emit");
  if (!precision.type.empty() && precision.type != "f32")
    return fail("leaves in f32 what is not int8: it does not go with "
                "--precision=" +
                precision.type);
  if (arguments.target != "cpu")
    return fail("runs the model on the CPU: it does not go with --target=" +
                arguments.target);
  return (from < Phase::Differentiated && to >= Phase::Differentiated) ||
         fail("is about phase 'differentiated', which is not between '" +
              arguments.from + "' and '" + arguments.emit + "'");
}

/// Whether --load-weights comes with a model that has names for its weights,
/// and --input-value with one that constants can be put into.
bool checkGraphOptions(const Arguments &arguments, const CompileJob &job) {
  StringRef given = !arguments.loadWeights.empty()       ? "--load-weights"
                    : !job.importing.inputValues.empty() ? "--input-value"
                                                         : "";
  if (given.empty() || job.from == Phase::Graph)
    return true;
  llvm::errs() << "error: " << given << " takes models in phase 'graph', not '"
               << arguments.from << "'\n";
  return false;
}

/// Reads --memory-budget and checks that there is something to do about it.
bool checkMemoryBudget(Arguments &arguments, Phase from, Phase to) {
  if (arguments.memoryBudget.empty())
    return true;
  auto fail = [](const llvm::Twine &what) {
    llvm::errs() << "error: " << what << "\n";
    return false;
  };
  auto &budget = arguments.compile.phases.memoryBudget;
  budget = parseMemoryBudget(arguments.memoryBudget);
  if (!budget)
    return fail(malformedMemoryBudget(arguments.memoryBudget));
  return (from < Phase::Optimised && to >= Phase::Optimised) ||
         fail("--memory-budget is about phase 'optimised', which is not "
              "between '" +
              arguments.from + "' and '" + arguments.emit + "'");
}

/// Whether the options about GPUs come with a target that is one.
bool checkCuda(Arguments &arguments) {
  auto fail = [](const llvm::Twine &what) {
    llvm::errs() << "error: " << what << "\n";
    return false;
  };
  const CudaOptions &cuda = arguments.cuda;
  if (arguments.target == "cpu")
    return (cuda.chips.empty() && cuda.place.empty() && !cuda.allowTf32 &&
            cuda.toolkit.empty() && cuda.collectives != "nccl") ||
           fail("--cuda-chips, --place, --allow-tf32, --collectives=nccl and "
                "--cuda-path are about --target=cuda and --target=cpu,cuda");
  arguments.compile.cuda = cuda;
  arguments.compile.cuda->alsoCpu = arguments.target != "cuda";
  return !isFormat(arguments.emit) ||
         fail("--target=" + arguments.target +
              " is about artifacts, not --emit=" + arguments.emit);
}

CompileOptions::Weights parseWeights(llvm::StringRef name) {
  using Weights = CompileOptions::Weights;
  return llvm::StringSwitch<Weights>(name)
      .Case("embedded", Weights::Embedded)
      .Case("external", Weights::External)
      .Default(Weights::Automatic);
}

/// Checks what is asked for, and fills in `job`.
ExitCode checkArguments(Arguments &arguments, CompileJob &job) {
  if (arguments.emit.empty()) {
    auto emit = emitOf(arguments.output);
    if (!emit)
      return exit_usage;
    arguments.emit = *emit;
  }
  if (!findPhases(arguments, job.from, job.to) ||
      !checkTraining(arguments, job.from) ||
      !checkPrecision(arguments, job.from, job.to) ||
      !checkPlans(arguments, job.from, job.to) ||
      !checkQuantize(arguments, job.from, job.to) ||
      !checkMemoryBudget(arguments, job.from, job.to) ||
      !checkGraphOptions(arguments, job) ||
      !readLimits(arguments.limits, arguments.plans,
                  arguments.compile.limits) ||
      !checkLoadableWeights(arguments, job.from) || !checkCuda(arguments))
    return exit_usage;
  if (isModelItself(arguments.model, arguments.output) ||
      (is_page(arguments.report) && !checkPage(arguments)))
    return exit_wrong_input;
  if (arguments.train && !arguments.quantize.empty() &&
      llvm::sys::fs::equivalent(arguments.model,
                                trainedModel(arguments.output))) {
    llvm::errs() << "error: the quantised model that is trained would be "
                    "written over '"
                 << arguments.model << "'; call the output otherwise\n";
    return exit_wrong_input;
  }
  const std::string &folder = arguments.compile.phases.modelDirectory;
  if (!folder.empty() && !llvm::sys::fs::is_directory(folder)) {
    llvm::errs() << "error: --model-dir: there is no folder '" << folder
                 << "'\n";
    return exit_wrong_input;
  }
  arguments.compile.weights = parseWeights(arguments.weights);
  job.model = arguments.model;
  job.importing.loadWeights = arguments.loadWeights;
  job.importing.directory = folder;
  job.output = arguments.output.empty() ? "-" : arguments.output;
  return exit_success;
}

} // namespace

std::string trainedModel(llvm::StringRef artifact) {
  SmallString<256> beside(artifact);
  llvm::sys::path::replace_extension(beside, "onnx");
  return beside.str().str();
}

std::optional<ExitCode> parseArguments(int argc, char **argv,
                                       Arguments &arguments, CompileJob &job) {
  arguments.cacheDirectory = KernelCache::defaultDirectory();
  CLI::App app("Compiles a model (.onnx, .json, .mlir) into a library that "
               "graph-run and programs on libtinh_runtime run.");
  defineModel(app, arguments, job);
  addTraining(app, &arguments.train, &arguments.training);
  defineCode(app, arguments);
  defineNetwork(app, &arguments.compile.phases.network);
  definePlans(app, arguments);
  defineLimits(app, arguments.limits);
  defineCuda(app, arguments);
  defineReports(app, arguments);
  if (auto done = parse(app, argc, argv, compilerVersion()))
    return done;
  ExitCode code = checkArguments(arguments, job);
  return code == exit_success ? std::nullopt : std::optional(code);
}

} // namespace tinh::tools
