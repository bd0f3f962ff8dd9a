//===- graph-compare.cpp - What compiling buys ------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs a model eagerly and compiled, in turns in one process, and prints the
// costs of both side by side. --verify evaluates the model with the reference
// interpreter, too, and says how far from it the two are.
//
//===----------------------------------------------------------------------===//
#include "command_line.h"
#include "compiler/Eager/Cuda/Gpu.h"
#include "compiler/Eager/Model/EagerModel.h"
#include "compiler/Import/ExternalData.h"
#include "compiler/Pipelines/Diagnostics.h"
#include "compiler/Pipelines/InternalErrors.h"
#include "compiler/Pipelines/Registration.h"
#include "compiler/Reference/Interpreter.h"
#include "compiler/Support/Files.h"
#include "inputs.h"
#include "tinh/engine.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

#include <chrono>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

using namespace mlir;
using namespace tinh::tools;
using tinh::reference::Difference;

namespace {

double now() {
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// The value that `percent` % of the times do not exceed.
double percentile(std::vector<double> times, double percent) {
  std::sort(times.begin(), times.end());
  size_t rank = std::ceil(percent / 100 * times.size());
  return times[std::max<size_t>(rank, 1) - 1];
}

/// One of the two ways of running the model.
struct Side {
  double compile = 0, first = 0;
  std::vector<double> times, gpuTimes; // The latter by the GPU's clock.
  double median() const { return percentile(times, 50); }
};

struct Comparison {
  std::string model, cpu;
  std::string gpu; // Its name, if there is one.
  uint32_t threads = 0;
  Side eager, compiled;
  size_t eagerKernels = 0;
  uint64_t eagerBytes = 0;
  /// Of eager and compiled from one another, and of both from the reference.
  Difference difference;
  std::optional<Difference> error;
  tinh::CompileReport report;

  const tinh::FunctionReport &main() const { return report.functions.front(); }
  /// Where the model runs.
  uint64_t arenaBytes() const {
    return gpu.empty() ? main().arenaSize : main().deviceArenaSize;
  }
  uint64_t unplannedBytes() const {
    return gpu.empty() ? main().unplannedSize : main().deviceUnplannedSize;
  }
  uint64_t lowerBoundBytes() const {
    return gpu.empty() ? main().lowerBoundSize : main().deviceLowerBoundSize;
  }
  /// Calls after which compiling has paid; negative: never.
  double breakEven() const {
    double gain = eager.median() - compiled.median();
    return gain > 0 ? std::max(0.0, (compiled.compile - eager.compile) / gain)
                    : -1;
  }
};

void widen(Difference &largest, const Difference &next) {
  largest.absolute = std::max(largest.absolute, next.absolute);
  largest.relative = std::max(largest.relative, next.relative);
}

void printTable(const Comparison &c) {
  auto row = [](const char *what, const std::string &eager,
                const std::string &compiled) {
    llvm::outs() << llvm::formatv("  {0,-26} {1,14} {2,14}\n", what, eager,
                                  compiled);
  };
  auto ms = [](double value) {
    return llvm::formatv("{0:F3} ms", value).str();
  };
  auto count = [](uint64_t value) {
    return llvm::formatv("{0:N}", value).str();
  };
  llvm::outs() << c.model << ", " << (c.gpu.empty() ? "" : c.gpu + " and ")
               << c.threads << " thread" << (c.threads == 1 ? "" : "s") << ", "
               << c.cpu << ", " << c.eager.times.size()
               << " runs each, in turns\n\n";
  row("", "eager", "compiled");
  row("compile", ms(c.eager.compile), ms(c.compiled.compile));
  row("first call", ms(c.eager.first), ms(c.compiled.first));
  row("median", ms(c.eager.median()), ms(c.compiled.median()));
  row("99th percentile", ms(percentile(c.eager.times, 99)),
      ms(percentile(c.compiled.times, 99)));
  if (!c.gpu.empty())
    row("median on the GPU", ms(percentile(c.eager.gpuTimes, 50)),
        ms(percentile(c.compiled.gpuTimes, 50)));
  row(c.gpu.empty() ? "kernel calls" : "kernel calls, copies",
      count(c.eagerKernels), count(c.main().dispatches));
  row("intermediate bytes", count(c.eagerBytes), count(c.arenaBytes()));
  row("  lower bound", "", count(c.lowerBoundBytes()));
  llvm::outs() << llvm::formatv("\n  compiled is {0:F2} times as fast; ",
                                c.eager.median() / c.compiled.median());
  if (c.breakEven() < 0)
    llvm::outs() << "compiling never pays\n";
  else
    llvm::outs() << llvm::formatv("compiling pays after {0:F0} calls\n",
                                  std::ceil(c.breakEven()));
  auto difference = [](const char *what, const Difference &d) {
    llvm::outs() << llvm::formatv("  {0}: {1:E2} ({2:E2} of the largest "
                                  "output)\n",
                                  what, d.absolute, d.relative);
  };
  difference("largest difference between the two", c.difference);
  if (c.error)
    difference("largest error against the reference", *c.error);
}

/// JSON has no infinity.
nlohmann::json errorNumber(const Comparison &c, double Difference::*part) {
  if (!c.error)
    return nullptr;
  return std::min(*c.error.*part, std::numeric_limits<double>::max());
}

void printJson(const Comparison &c) {
  nlohmann::ordered_json json;
  json["model"] = c.model;
  json["threads"] = c.threads;
  json["cpu"] = c.cpu;
  if (!c.gpu.empty())
    json["gpu"] = c.gpu;
  json["compile_ms"] = c.compiled.compile;
  json["eager"] = {{"compile_ms", c.eager.compile},
                   {"first_ms", c.eager.first},
                   {"median_ms", c.eager.median()},
                   {"p99_ms", percentile(c.eager.times, 99)},
                   {"kernels", c.eagerKernels},
                   {"bytes", c.eagerBytes}};
  json["compiled"] = {{"first_ms", c.compiled.first},
                      {"median_ms", c.compiled.median()},
                      {"p99_ms", percentile(c.compiled.times, 99)},
                      {"kernels", c.main().dispatches},
                      {"arena_bytes", c.arenaBytes()},
                      {"lower_bound_bytes", c.lowerBoundBytes()},
                      {"unplanned_bytes", c.unplannedBytes()}};
  if (!c.gpu.empty()) {
    json["eager"]["gpu_median_ms"] = percentile(c.eager.gpuTimes, 50);
    json["compiled"]["gpu_median_ms"] = percentile(c.compiled.gpuTimes, 50);
  }
  json["break_even_calls"] = c.breakEven();
  json["max_abs_error"] = errorNumber(c, &Difference::absolute);
  json["max_rel_error"] = errorNumber(c, &Difference::relative);
  llvm::outs() << json.dump(2) << "\n";
}

class Comparer {
public:
  Comparer(std::string path, tinh::CompileOptions options, uint32_t threads,
           uint32_t runs, bool verifying)
      : path(std::move(path)), options(std::move(options)), runs(runs),
        verifying(verifying) {
    result.threads = threads;
  }
  ~Comparer() {
    if (context)
      tinh_context_release(context);
    if (module)
      tinh_module_release(module);
  }

  ExitCode run() {
    DialectRegistry registry;
    tinh::registerDialects(registry);
    MLIRContext mlir(registry);
    mlir.loadAllAvailableDialects();
    tinh::DiagnosticPrinter diagnostics(&mlir);
    OwningOpRef<ModuleOp> model;
    for (auto step : {&Comparer::compileEager, &Comparer::compileWhole}) {
      tinh::CompileStatus status = watch(mlir, model, step);
      if (status == tinh::CompileStatus::InternalError)
        tinh::exitNow(exit_internal);
      if (status == tinh::CompileStatus::WrongInput)
        return exit_wrong_input;
    }
    return load() && measure() && compareOutputs(*model) ? exit_success
                                                         : outcome;
  }
  Comparison result;

private:
  using Compile = LogicalResult (Comparer::*)(OwningOpRef<ModuleOp> copy,
                                              const tinh::CompileOptions &);

  /// What is compared is one function, without variables.
  static LogicalResult checkInference(ModuleOp model) {
    auto functions = model.getOps<func::FuncOp>();
    if (llvm::hasSingleElement(functions) &&
        (*functions.begin()).getName() == tinh::graph::names::kMain &&
        model.getOps<tinh::graph::VariableOp>().empty())
      return success();
    return model.emitError("only models that are one function, @main, without "
                           "variables can be compared");
  }

  /// Compiles the model in one of the two ways; reads it before the first.
  tinh::CompileStatus watch(MLIRContext &mlir, OwningOpRef<ModuleOp> &model,
                            Compile compile) {
    tinh::CompileOptions wanted = options;
    wanted.weights = tinh::CompileOptions::Weights::Embedded;
    wanted.reproducerDirectory = ".";
    tinh::CompileJob job;
    job.model = path;
    job.output = llvm::sys::path::stem(path).str() + ".so";
    return tinh::watchCompilation(
        job, wanted, mlir, [&](const tinh::CompileOptions &watched) {
          if (!model)
            model = tinh::readModel(path, {}, job.from, mlir);
          return success(
              model && succeeded(checkInference(*model)) &&
              succeeded(tinh::annotateModule(*model, job.from, watched)) &&
              succeeded((this->*compile)(model->clone(), watched)));
        });
  }

  /// Takes the model op by op. Kernels that the cache does not have are
  /// compiled in the first run.
  LogicalResult compileEager(OwningOpRef<ModuleOp> copy,
                             const tinh::CompileOptions &watched) {
    double start = now();
    tinh::CompileReport report;
    if (failed(tinh::runPhases(*copy, tinh::Phase::Graph,
                               tinh::Phase::Normalised, watched.phases,
                               report)))
      return failure();
    try {
      tinh::configure({.workers = result.threads});
      tinh::DeviceScope scope(device());
      eager.emplace(*copy, options.modelDirectory);
    } catch (const tinh::Error &error) {
      bool isOurs = error.status() == TINH_INTERNAL;
      return copy->emitError()
             << (isOurs ? tinh::kInternalError.str() : "") << error.what();
    }
    result.eager.compile = now() - start;
    return success();
  }

  LogicalResult compileWhole(OwningOpRef<ModuleOp> copy,
                             const tinh::CompileOptions &watched) {
    double start = now();
    if (failed(tinh::runPhases(*copy, tinh::Phase::Graph, tinh::Phase::Plan,
                               watched.phases, result.report)))
      return failure();
    watched.phases.before(*copy, tinh::Phase::Plan);
    if (failed(tinh::writeArtifact(*copy, file.name, watched, result.report)))
      return failure();
    result.compiled.compile = now() - start;
    return success();
  }

  bool load() {
    tinh_context_options_t runtime;
    tinh_context_options_init(&runtime);
    runtime.threads = result.threads;
    runtime.measure_cuda = options.cuda.has_value();
    if (!check(tinh_module_load(file.name.c_str(), &module)) ||
        !check(tinh_context_create(module, &runtime, &context)))
      return false;
    prepareBuffers();
    return true;
  }

  bool fail(tinh_status_t status, const char *why) {
    bool isOurs = status == TINH_INTERNAL;
    llvm::errs() << (isOurs ? "internal error: " : "error: ") << why << "\n";
    outcome = isOurs ? exit_internal : exit_wrong_input;
    return false;
  }
  bool check(tinh_status_t status) {
    return status == TINH_OK || fail(status, tinh_last_error());
  }

  void prepareBuffers() {
    tinh_module_info_t about;
    tinh_module_info(module, &about);
    result.model = about.model;
    result.cpu = about.cpu;
    tinh_function_info_t function;
    tinh_module_function_info(module, 0, &function);
    for (uint32_t i = 0; i < function.num_inputs; ++i) {
      tinh_tensor_info_t info;
      tinh_module_input_info(module, 0, i, &info);
      memory.push_back(make_input(info, "random"));
      inputs.push_back({memory.back().data(), info.size});
    }
    for (uint32_t i = 0; i < function.num_outputs; ++i) {
      tinh_tensor_info_t info;
      tinh_module_output_info(module, 0, i, &info);
      for (auto *side : {&eagerOutputs, &compiledOutputs}) {
        memory.emplace_back(info.size);
        side->push_back({memory.back().data(), info.size});
      }
    }
    result.eagerKernels = eager->numOperations();
    result.eagerBytes = eager->allocatedBytes();
  }

  tinh::Device device() const {
    return options.cuda ? tinh::Device::cuda() : tinh::Device::cpu();
  }

  bool runEager() {
    try {
      tinh::DeviceScope scope(device());
      std::optional<tinh::CudaMark> begin;
      if (options.cuda)
        begin.emplace(tinh::eager::Gpu::get(0).stream());
      eager->run(inputs, eagerOutputs);
      if (options.cuda)
        result.eager.gpuTimes.push_back(
            tinh::CudaMark(tinh::eager::Gpu::get(0).stream()).since(*begin));
      return true;
    } catch (const tinh::Error &error) {
      return fail(error.status(), error.what());
    }
  }
  bool runCompiled() {
    if (!check(tinh_context_run(context, 0, inputs.data(), inputs.size(),
                                compiledOutputs.data(),
                                compiledOutputs.size())))
      return false;
    return !options.cuda ||
           check(tinh_context_cuda_time(
               context, &result.compiled.gpuTimes.emplace_back()));
  }
  bool time(bool compiled, double &milliseconds) {
    double start = now();
    bool succeeds = compiled ? runCompiled() : runEager();
    milliseconds = now() - start;
    return succeeds;
  }

  bool measure() {
    if (!time(false, result.eager.first) || !time(true, result.compiled.first))
      return false;
    for (unsigned i = 0; i < runs; ++i)
      for (bool compiled : {false, true}) {
        Side &side = compiled ? result.compiled : result.eager;
        if (!time(compiled, side.times.emplace_back()))
          return false;
      }
    for (Side *side : {&result.eager, &result.compiled})
      if (!side->gpuTimes.empty()) // Not that of the first call.
        side->gpuTimes.erase(side->gpuTimes.begin());
    return true;
  }

  static tinh::reference::Tensor tensor(Type type,
                                        const tinh_buffer_t &buffer) {
    return tinh::reference::fromBytes(
        cast<RankedTensorType>(type),
        ArrayRef(static_cast<const char *>(buffer.data), buffer.size));
  }

  /// The outputs of `main`, as the reference interpreter computes them.
  FailureOr<std::vector<tinh::reference::Tensor>>
  evaluateReference(func::FuncOp main) {
    std::vector<tinh::reference::Tensor> arguments;
    for (auto [type, input] : llvm::zip_equal(main.getArgumentTypes(), inputs))
      arguments.push_back(tensor(type, input));
    tinh::MappedFiles files(options.modelDirectory);
    return tinh::reference::evaluate(
        main, std::move(arguments),
        [&](tinh::graph::ExternalAttr value) { return files.read(value); });
  }

  bool compareOutputs(ModuleOp model) {
    auto main = model.lookupSymbol<func::FuncOp>(tinh::graph::names::kMain);
    FailureOr<std::vector<tinh::reference::Tensor>> expected = failure();
    if (verifying) {
      expected = evaluateReference(main);
      if (failed(expected))
        return false;
      result.error.emplace();
    }
    for (auto [i, type] : llvm::enumerate(main.getResultTypes())) {
      auto found = tensor(type, eagerOutputs[i]);
      auto compiled = tensor(type, compiledOutputs[i]);
      widen(result.difference, largestDifference(found, compiled));
      for (auto *side : {&found, &compiled})
        if (verifying)
          widen(*result.error, largestDifference(*side, (*expected)[i]));
    }
    return true;
  }

  std::string path;
  tinh::CompileOptions options;
  uint32_t runs;
  bool verifying;
  ExitCode outcome = exit_wrong_input; // Of what has failed.
  std::optional<tinh::eager::EagerModel> eager;
  tinh::ScratchFile file{"tinh-compare"}; // What is compiled whole.
  tinh_module_t *module = nullptr;
  tinh_context_t *context = nullptr;
  std::vector<std::vector<char>> memory;
  std::vector<tinh_buffer_t> inputs, eagerOutputs, compiledOutputs;
};

} // namespace

int main(int argc, char **argv) {
  tinh::reportExhaustedMemory();
  tinh::catchCrashes();
  std::string model;
  uint32_t threads = 1;
  uint32_t runs = 20;
  bool json = false, verify = false;
  tinh::CompileOptions options;
  CLI::App app("Compares a model run eagerly, op by op, with the same model "
               "compiled as a whole. Compiling as a whole goes without the "
               "cache of kernels; the first eager run fills that of eager "
               "kernels, whose sizes are arguments.");
  app.add_option("MODEL", model, "the model's file")->required();
  add_threads(app, &threads);
  add_jobs(app, &options.phases.jobs);
  add_runs(app, &runs);
  app.add_option("--cpu", options.cpu,
                 "the CPU to compile for; native if not given");
  std::string target = "cpu";
  app.add_option("--target", target,
                 "cpu, or cuda: both ways on the first GPU, for which this is "
                 "compiled")
      ->check(CLI::IsMember({"cpu", "cuda"}));
  app.add_flag("--verify", verify,
               "compare both with the reference interpreter");
  app.add_flag("--json", json, "print JSON");
  if (auto done = parse(app, argc, argv))
    return *done;
  options.modelDirectory = llvm::sys::path::parent_path(model).str();
  std::string gpu;
  if (target == "cuda") {
    try {
      options.cuda.emplace().chips = {tinh::eager::Gpu::get(0).chip()};
      gpu = tinh::cuda_device_info(0).name;
    } catch (const tinh::Error &error) {
      llvm::errs() << "error: " << error.what() << "\n";
      return exit_wrong_input;
    }
  }
  Comparer comparer(model, options, threads, runs, verify);
  comparer.result.gpu = gpu;
  if (ExitCode code = comparer.run(); code != exit_success)
    return code;
  if (json)
    printJson(comparer.result);
  else
    printTable(comparer.result);
  return exit_success;
}
