//===- graph-compile.cpp - From a model file to a library -------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "command_line.h"
#include "compiler/Export/Export.h"
#include "compiler/Pipelines/Compile.h"
#include "compiler/Pipelines/Diagnostics.h"
#include "compiler/Pipelines/InternalErrors.h"
#include "compiler/Pipelines/KernelCache.h"
#include "compiler/Pipelines/MemoryBudget.h"
#include "compiler/Pipelines/Registration.h"
#include "compiler/Training/Training.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

#include <csignal>
#include <sys/resource.h>
#include <unistd.h>

using namespace mlir;
using namespace tinh::tools;

namespace {

struct Arguments {
  std::string model, output, emit = "so", from = "graph", weights = "auto";
  std::string target = "cpu";
  std::string cacheDirectory, memoryBudget;
  std::vector<std::string> shapes;
  bool report = false, timing = false, verbose = false, noCache = false;
  bool train = false;
  tinh::training::TrainingOptions training;
  tinh::CudaOptions cuda;
  tinh::CompileOptions compile;
};

/// NAME=1x3x224x224
bool parseShape(llvm::StringRef text, tinh::ImportOptions &options) {
  auto [name, shape] = text.rsplit('=');
  SmallVector<int64_t> dims;
  SmallVector<llvm::StringRef> parts;
  shape.split(parts, 'x');
  for (llvm::StringRef part : parts) {
    int64_t extent;
    if (part.getAsInteger(10, extent) || extent < 0)
      return false;
    dims.push_back(extent);
  }
  options.shapes[name] = dims;
  return !name.empty();
}

void printReport(const tinh::CompileReport &report) {
  auto line = [](const char *what, uint64_t value) {
    llvm::outs() << llvm::formatv("{0,-22} {1,14:N}\n", what, value);
  };
  line("distinct kernels", report.kernels);
  line("weights, bytes", report.weightsSize);
  if (report.stateSize)
    line("variables, bytes", report.stateSize);
  if (report.deviceStateSize)
    line("variables on the GPU", report.deviceStateSize);
  if (report.stateSizeWithoutGpu)
    line("variables without GPU", report.stateSizeWithoutGpu);
  for (const tinh::FunctionReport &function : report.functions) {
    if (report.functions.size() > 1)
      llvm::outs() << function.name
                   << (function.withoutGpu ? ", without a GPU\n" : "\n");
    line("dispatches", function.dispatches);
    line("arena, bytes", function.arenaSize);
    line("  without reuse", function.unplannedSize);
    line("  live-set lower bound", function.lowerBoundSize);
    if (function.deviceArenaSize) {
      line("GPU's arena, bytes", function.deviceArenaSize);
      line("  without reuse", function.deviceUnplannedSize);
      line("  live-set lower bound", function.deviceLowerBoundSize);
    }
    for (const tinh::RecomputationReport &done : report.recomputations)
      if (done.function == function.name && !function.withoutGpu) {
        line("  without the budget", done.unlimitedArenaSize);
        line("kernels repeated", done.kernels);
        llvm::outs() << llvm::formatv("{0,-22} {1,14:F1}\n",
                                      "  more arithmetic, %",
                                      100 * done.extraArithmetic);
      }
  }
}

void printTiming(const tinh::CompileReport &report) {
  for (auto &[stage, time] : report.milliseconds)
    llvm::outs() << llvm::formatv("{0,-28} {1,10:F1} ms\n", stage, time);
  size_t cached = llvm::count_if(
      report.compiledKernels,
      [](const tinh::KernelReport &kernel) { return kernel.cached; });
  llvm::outs() << llvm::formatv("{0,-28} {1,10} of {2}\n",
                                "kernels from the cache", cached,
                                report.compiledKernels.size());
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  llvm::outs() << llvm::formatv("{0,-28} {1,10:N} KB\n", "peak memory",
                                usage.ru_maxrss);
}

void printKernels(const tinh::CompileReport &report) {
  for (const tinh::KernelReport &kernel : report.compiledKernels) {
    llvm::outs() << llvm::formatv("{0,-44} {1,-12} ", kernel.name,
                                  kernel.strategy);
    if (!kernel.image.empty())
      llvm::outs() << "with " << kernel.image << "\n";
    else
      llvm::outs() << llvm::formatv("{0,8:N} bytes {1,8:F1} ms{2}\n",
                                    kernel.codeSize, kernel.milliseconds,
                                    kernel.cached ? "  cached" : "");
  }
}

/// --emit also names formats that a model in phase graph or normalised can be
/// written in.
bool isFormat(llvm::StringRef emit) { return emit == "onnx" || emit == "json"; }

/// Checks the arguments of an export.
bool checkExport(const Arguments &arguments, tinh::Phase from) {
  if (from > tinh::Phase::Normalised) {
    llvm::errs() << "error: --emit=" << arguments.emit
                 << " writes models in phase "
                 << tinh::phaseNames(tinh::Phase::Normalised) << ", not '"
                 << arguments.from << "'\n";
    return false;
  }
  if (arguments.output.empty() || arguments.output == "-") {
    llvm::errs() << "error: -o OUT." << arguments.emit << " is missing\n";
    return false;
  }
  return true;
}

LogicalResult exportModel(const tinh::CompileJob &job,
                          const Arguments &arguments, MLIRContext &context) {
  OwningOpRef<ModuleOp> module =
      tinh::readModel(job.model, job.importing, job.from, context);
  if (!module)
    return failure();
  auto write = arguments.emit == "onnx" ? tinh::exportOnnx : tinh::exportJson;
  return write(*module, job.output, {arguments.compile.modelDirectory});
}

/// Finds the phases that --from and --emit name, or says what is wrong.
bool findPhases(const Arguments &arguments, tinh::Phase &from,
                tinh::Phase &to) {
  auto first = tinh::parsePhase(arguments.from),
       last = tinh::parsePhase(arguments.emit);
  if (!first || *first > tinh::Phase::LLVM) {
    llvm::errs() << "error: --from takes "
                 << tinh::phaseNames(tinh::Phase::LLVM) << ", not '"
                 << arguments.from << "'\n";
    return false;
  }
  if (isFormat(arguments.emit)) {
    from = to = *first;
    return checkExport(arguments, from);
  }
  if (!last) {
    llvm::errs() << "error: --emit takes onnx, json, "
                 << tinh::phaseNames(tinh::Phase::Library) << ", not '"
                 << arguments.emit << "'\n";
    return false;
  }
  if (*first > *last) {
    llvm::errs() << "error: phase '" << arguments.emit
                 << "' comes before phase '" << arguments.from << "'\n";
    return false;
  }
  if (*last < tinh::Phase::Object && arguments.report) {
    llvm::errs() << "error: --report is about --emit=obj and --emit=so\n";
    return false;
  }
  if (*last >= tinh::Phase::Object && arguments.output.empty()) {
    llvm::errs() << "error: -o OUT." << (arguments.emit == "so" ? "so" : "o")
                 << " is missing\n";
    return false;
  }
  from = *first;
  to = *last;
  return true;
}

/// Whether --train has what it needs, and the rest does not come without it.
bool checkTraining(const Arguments &arguments, tinh::Phase from) {
  const tinh::training::TrainingOptions &training = arguments.training;
  auto fail = [](const llvm::Twine &what) {
    llvm::errs() << "error: " << what << "\n";
    return false;
  };
  if (!arguments.train)
    return (training.loss.empty() && training.optimizer.empty() &&
            training.trainable.empty() && training.mixedPrecision.empty()) ||
           fail("--loss, --optimizer, --trainable and --mixed-precision are "
                "about --train");
  if (from >= tinh::Phase::Differentiated)
    return fail("--train takes models in phase " +
                tinh::phaseNames(tinh::Phase::Normalised) + ", not '" +
                arguments.from + "'");
  return !isFormat(arguments.emit) || fail("--emit=" + arguments.emit +
                                           " writes models as they are read, "
                                           "which --train does not change");
}

/// Whether --loadable-weights comes with what it is for.
bool checkLoadableWeights(const Arguments &arguments, tinh::Phase from) {
  if (!arguments.compile.loadableWeights)
    return true;
  auto fail = [](const llvm::Twine &what) {
    llvm::errs() << "error: --loadable-weights " << what << "\n";
    return false;
  };
  if (arguments.train)
    return fail("is about inference: the weights of a model that is trained "
                "are its state, which can be loaded");
  if (from != tinh::Phase::Graph)
    return fail("takes models in phase 'graph', not '" + arguments.from + "'");
  return !isFormat(arguments.emit) ||
         fail("is about artifacts, not --emit=" + arguments.emit);
}

/// Reads --memory-budget and checks that there is something to do about it.
bool checkMemoryBudget(Arguments &arguments, tinh::Phase from, tinh::Phase to) {
  if (arguments.memoryBudget.empty())
    return true;
  auto fail = [](const llvm::Twine &what) {
    llvm::errs() << "error: " << what << "\n";
    return false;
  };
  auto &budget = arguments.compile.phases.memoryBudget;
  budget = tinh::parseMemoryBudget(arguments.memoryBudget);
  if (!budget)
    return fail(tinh::malformedMemoryBudget(arguments.memoryBudget));
  return (from < tinh::Phase::Optimised && to >= tinh::Phase::Optimised) ||
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
  const tinh::CudaOptions &cuda = arguments.cuda;
  if (arguments.target == "cpu")
    return (cuda.chips.empty() && cuda.place.empty() && !cuda.allowTf32 &&
            cuda.toolkit.empty()) ||
           fail("--cuda-chips, --place, --allow-tf32 and --cuda-path are about "
                "--target=cuda and --target=cpu,cuda");
  arguments.compile.cuda = cuda;
  arguments.compile.cuda->alsoCpu = arguments.target != "cuda";
  return !isFormat(arguments.emit) ||
         fail("--target=" + arguments.target +
              " is about artifacts, not --emit=" + arguments.emit);
}

int run(Arguments &arguments) {
  tinh::CompileJob job;
  for (const std::string &shape : arguments.shapes)
    if (!parseShape(shape, job.importing)) {
      llvm::errs() << "error: --shape " << shape
                   << ": expected NAME=1x3x224x224\n";
      return exit_usage;
    }
  if (!findPhases(arguments, job.from, job.to) ||
      !checkTraining(arguments, job.from) ||
      !checkMemoryBudget(arguments, job.from, job.to) ||
      !checkLoadableWeights(arguments, job.from) || !checkCuda(arguments))
    return exit_usage;
  if (llvm::sys::fs::equivalent(arguments.model, arguments.output)) {
    llvm::errs() << "error: the output '" << arguments.output
                 << "' is the model itself\n";
    return exit_wrong_input;
  }
  job.model = arguments.model;
  job.output = arguments.output.empty() ? "-" : arguments.output;

  DialectRegistry registry;
  tinh::registerDialects(registry);
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  tinh::DiagnosticPrinter diagnostics(&context);
  tinh::CompileOptions &options = arguments.compile;
  if (options.modelDirectory.empty())
    options.modelDirectory =
        llvm::sys::path::parent_path(arguments.model).str();
  options.reproducerDirectory = ".";
  std::optional<tinh::KernelCache> cache;
  if (!arguments.noCache && !arguments.cacheDirectory.empty())
    options.cache = &cache.emplace(arguments.cacheDirectory);
  tinh::TrainingInfo info;
  if (arguments.train) {
    job.importing.training = &info;
    options.phases.training =
        tinh::training::trainingSteps(arguments.training, info);
  }
  tinh::CompileReport report;
  tinh::CompileStatus status =
      isFormat(arguments.emit)
          ? tinh::watchCompilation(job, options, context,
                                   [&](const tinh::CompileOptions &) {
                                     return exportModel(job, arguments,
                                                        context);
                                   })
          : tinh::compileFile(job, options, context, report);
  if (status == tinh::CompileStatus::InternalError)
    tinh::exitNow(exit_internal);
  if (status == tinh::CompileStatus::WrongInput)
    return exit_wrong_input;
  if (arguments.report)
    printReport(report);
  if (arguments.verbose)
    printKernels(report);
  if (arguments.timing)
    printTiming(report);
  return exit_success;
}

void defineModel(CLI::App &app, Arguments &arguments) {
  app.add_option("MODEL", arguments.model, "the model's file")->required();
  app.add_option("-o,--output", arguments.output, "the file to write");
  app.add_option("--emit", arguments.emit,
                 "stop at a phase and write it: " +
                     tinh::phaseNames(tinh::Phase::Library) +
                     "; IR is bytecode if the output is called .mlirbc. ptx is "
                     "the text of all kernels for GPUs. onnx "
                     "and json write the model in phase graph in these formats")
      ->capture_default_str();
  app.add_option("--from", arguments.from,
                 "the phase that the model, IR in a file, is in: " +
                     tinh::phaseNames(tinh::Phase::LLVM))
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

void defineTraining(CLI::App &app, Arguments &arguments) {
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
               "products of f32 on the GPU may read tf32, 10 bits of the "
               "operands' mantissas");
  app.add_option("--cuda-path", arguments.cuda.toolkit,
                 "the CUDA toolkit's folder, if it is not $CUDA_HOME or "
                 "/usr/local/cuda");
}

void defineReports(CLI::App &app, Arguments &arguments) {
  app.add_flag("--report", arguments.report, "print dispatches and memory");
  app.add_flag("--remarks", arguments.compile.phases.remarks,
               "say why ops were fused or not");
  app.add_flag("--timing", arguments.timing, "print where the time went");
  app.add_flag("--verbose", arguments.verbose,
               "print each kernel: its strategy, code size and compile time");
}

tinh::CompileOptions::Weights parseWeights(llvm::StringRef name) {
  using Weights = tinh::CompileOptions::Weights;
  return llvm::StringSwitch<Weights>(name)
      .Case("embedded", Weights::Embedded)
      .Case("external", Weights::External)
      .Default(Weights::Automatic);
}

} // namespace

int main(int argc, char **argv) {
  std::signal(SIGXFSZ, SIG_IGN); // A limit on files is an error, no end.
  tinh::reportExhaustedMemory();
  tinh::catchCrashes();
  Arguments arguments;
  arguments.cacheDirectory = tinh::KernelCache::defaultDirectory();
  CLI::App app("Compiles a model (.onnx, .json, .mlir) into a library that "
               "graph-run and programs on libtinh_runtime run.");
  defineModel(app, arguments);
  defineTraining(app, arguments);
  defineCode(app, arguments);
  defineCuda(app, arguments);
  defineReports(app, arguments);
  if (auto done = parse(app, argc, argv))
    return *done;
  arguments.compile.weights = parseWeights(arguments.weights);
  if (isatty(STDERR_FILENO))
    arguments.compile.progress = [](const char *what, size_t done,
                                    size_t total) {
      llvm::errs() << "\r" << what << " " << done << "/" << total
                   << (done == total ? "\n" : "");
    };
  return run(arguments);
}
