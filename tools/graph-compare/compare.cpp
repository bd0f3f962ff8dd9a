//===- compare.cpp - Runs a model in two ways -------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compare.h"

#include "comparison_page.h"
#include "compile_progress.h"
#include "compiler/Eager/Cuda/Gpu.h"
#include "compiler/Eager/Model/EagerModel.h"
#include "compiler/Graph/ExternalData.h"
#include "compiler/Pipelines/Diagnostics.h"
#include "compiler/Pipelines/InternalErrors.h"
#include "compiler/Pipelines/Registration.h"
#include "compiler/Support/Files.h"
#include "compiler/Transforms/Passes.h"
#include "inputs.h"
#include "other_engine.h"
#include "tinh/engine.h"
#include "used_part.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/Path.h"

#include <chrono>

using namespace mlir;

namespace tinh::tools {
namespace {

double now() {
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void widen(Difference &largest, const Difference &next) {
  largest.absolute = std::max(largest.absolute, next.absolute);
  largest.relative = std::max(largest.relative, next.relative);
}

class Comparer {
public:
  Comparer(const CompareOptions &wanted, Comparison &result)
      : result(result), path(wanted.model), importing(wanted.importing),
        page(wanted.page), python(wanted.python), options(wanted.compile),
        runs(wanted.runs), verifying(wanted.verify) {
    result.threads = wanted.threads;
    showCompiling(progress, options);
    if (!page.empty())
      recorder.attach(options);
  }
  ~Comparer() {
    if (context)
      tinh_context_release(context);
    if (module)
      tinh_module_release(module);
  }

  ExitCode run() {
    if (!findGpu() || !startOther())
      return outcome;
    DialectRegistry registry;
    registerDialects(registry);
    MLIRContext mlir(registry);
    auto forget = llvm::make_scope_exit([&] { recorder.forget(); });
    mlir.loadAllAvailableDialects();
    DiagnosticPrinter diagnostics(&mlir, path);
    ErasingHandler eraser(&mlir, progress);
    OwningOpRef<ModuleOp> model;
    for (auto step : {&Comparer::compileEager, &Comparer::compileWhole}) {
      CompileStatus status = watch(mlir, model, step);
      if (status == CompileStatus::InternalError)
        exitNow(exit_internal);
      if (status == CompileStatus::WrongInput)
        return exit_wrong_input;
    }
    return load() && measure() && compareOutputs(*model) && writeReport()
               ? exit_success
               : outcome;
  }

private:
  using Compile = LogicalResult (Comparer::*)(OwningOpRef<ModuleOp> copy,
                                              const CompileOptions &);

  /// What is compared is one function, without variables.
  static LogicalResult checkInference(ModuleOp model) {
    auto functions = model.getOps<func::FuncOp>();
    if (llvm::hasSingleElement(functions) &&
        (*functions.begin()).getName() == graph::names::kMain &&
        model.getOps<graph::VariableOp>().empty())
      return success();
    return model.emitError("only models that are one function, @main, without "
                           "variables can be compared");
  }

  /// The interpreter takes whole tensors, and sizes as outputs beside them.
  static LogicalResult resolveSizes(ModuleOp model) {
    for (auto function : model.getOps<func::FuncOp>())
      if (failed(transforms::resolveDimensionSizes(function)))
        return failure();
    return success();
  }

  /// Compiles the model in one of the two ways; reads it before the first.
  CompileStatus watch(MLIRContext &mlir, OwningOpRef<ModuleOp> &model,
                      Compile compile) {
    CompileOptions wanted = options;
    wanted.weights = CompileOptions::Weights::Embedded;
    wanted.reproducerDirectory = ".";
    CompileJob job;
    job.model = path;
    job.output = llvm::sys::path::stem(path).str() + ".so";
    return watchCompilation(
        job, wanted, mlir, [&](const CompileOptions &watched) {
          if (!model)
            model = readModel(path, importing, job.from, mlir);
          return success(model && succeeded(checkInference(*model)) &&
                         succeeded(resolveSizes(*model)) &&
                         succeeded(annotateModule(*model, job.from, watched)) &&
                         succeeded((this->*compile)(model->clone(), watched)));
        });
  }

  /// Takes the model op by op. Kernels that the cache does not have are
  /// compiled in the first run.
  LogicalResult compileEager(OwningOpRef<ModuleOp> copy,
                             const CompileOptions &watched) {
    double start = now();
    CompileReport report;
    if (failed(runPhases(*copy, Phase::Graph, Phase::Differentiated,
                         watched.phases, report)))
      return failure();
    try {
      configure({.workers = result.threads});
      DeviceScope scope(device());
      eagerModel.emplace(*copy, options.phases.modelDirectory);
    } catch (const Error &error) {
      bool isOurs = error.status() == TINH_INTERNAL;
      return copy->emitError()
             << (isOurs ? kInternalError.str() : "") << error.what();
    }
    result.eager.compile = now() - start;
    return success();
  }

  LogicalResult compileWhole(OwningOpRef<ModuleOp> copy,
                             const CompileOptions &watched) {
    double start = now();
    if (failed(runPhases(*copy, Phase::Graph, Phase::Plan, watched.phases,
                         result.report)))
      return failure();
    watched.phases.before(*copy, Phase::Plan);
    if (failed(writeArtifact(*copy, file.name, watched, result.report)))
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
    if (other)
      progress.show("ONNX Runtime loads the model");
    return !other || tryOther([&] {
      for (auto [info, input] : llvm::zip_equal(inputInfos, inputs))
        other->addInput(info, input);
      result.onnxRuntime->compile = other->load();
    });
  }

  /// Does something with the other engine, or says what is wrong with it.
  bool tryOther(llvm::function_ref<void()> work) {
    try {
      work();
      return true;
    } catch (const UserError &error) {
      return fail(TINH_INVALID_ARGUMENT, error.what());
    }
  }

  /// Finds ONNX Runtime, if it is asked for, before time is spent.
  bool startOther() {
    return python.empty() || tryOther([&] {
             other.emplace(python, path, result.threads);
             result.onnxRuntime.emplace().version = other->version();
           });
  }

  /// Compiles for the first GPU, if one is asked for.
  bool findGpu() {
    if (!options.cuda)
      return true;
    try {
      options.cuda->chips = {eager::Gpu::get(0).chip()};
      result.gpu = cuda_device_info(0).name;
      return true;
    } catch (const Error &error) {
      llvm::errs() << "error: " << error.what() << "\n";
      return false;
    }
  }

  bool fail(tinh_status_t status, const char *why) {
    bool isOurs = status == TINH_INTERNAL;
    progress.erase();
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
      inputInfos.push_back(info);
      memory.push_back(make_input(info, "random"));
      inputs.push_back({memory.back().data(), info.size});
    }
    for (uint32_t i = 0; i < function.num_outputs; ++i) {
      tinh_tensor_info_t info;
      tinh_module_output_info(module, 0, i, &info);
      outputInfos.push_back(info);
      for (auto *side : {&eagerOutputs, &compiledOutputs, &otherOutputs}) {
        memory.emplace_back(info.size);
        side->push_back({memory.back().data(), info.size});
      }
    }
    result.eagerKernels = eagerModel->numOperations();
    result.eagerBytes = eagerModel->allocatedBytes();
  }

  Device device() const {
    return options.cuda ? Device::cuda() : Device::cpu();
  }

  bool runEager() {
    try {
      DeviceScope scope(device());
      std::optional<CudaEvent> begin;
      if (options.cuda)
        begin.emplace(eager::Gpu::get(0).stream());
      eagerModel->run(inputs, eagerOutputs);
      if (options.cuda)
        result.eager.gpuTimes.push_back(
            begin->elapsed_time(CudaEvent(eager::Gpu::get(0).stream())));
      return true;
    } catch (const Error &error) {
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

  bool timeOther(double &milliseconds) {
    return tryOther([&] { milliseconds = other->run(); });
  }

  bool measure() {
    progress.show("first calls");
    if (!time(false, result.eager.first) ||
        !time(true, result.compiled.first) ||
        (other && !timeOther(result.onnxRuntime->first)))
      return false;
    for (unsigned i = 0; i < runs; ++i) {
      progress.show("run", i + 1, runs);
      for (bool compiled : {false, true}) {
        Side &side = compiled ? result.compiled : result.eager;
        if (!time(compiled, side.times.emplace_back()))
          return false;
      }
      if (other && !timeOther(result.onnxRuntime->times.emplace_back()))
        return false;
    }
    for (Side *side : {&result.eager, &result.compiled})
      if (!side->gpuTimes.empty()) // Not that of the first call.
        side->gpuTimes.erase(side->gpuTimes.begin());
    return true;
  }

  static reference::Tensor tensor(Type type, const tinh_buffer_t &buffer) {
    return reference::fromBytes(
        cast<RankedTensorType>(type),
        ArrayRef(static_cast<const char *>(buffer.data), buffer.size));
  }

  /// The outputs of `main`, as the reference interpreter computes them.
  FailureOr<std::vector<reference::Tensor>>
  evaluateReference(func::FuncOp main) {
    std::vector<reference::Tensor> arguments;
    for (auto [type, input] : llvm::zip_equal(main.getArgumentTypes(), inputs))
      arguments.push_back(tensor(type, input));
    MappedFiles files(options.phases.modelDirectory);
    return reference::evaluate(
        main, std::move(arguments),
        [&](graph::ExternalAttr value) { return files.read(value); });
  }

  /// What a run has used of output `i`.
  reference::Tensor usedPart(size_t i, std::vector<tinh_buffer_t> &outputs) {
    const tinh_tensor_info_t &info = outputInfos[i];
    UsedPart used = trim(info, outputs[i], outputs);
    Type element = outputTypes[i].getElementType();
    return tensor(RankedTensorType::get(used.dims, element),
                  {outputs[i].data, used.size});
  }

  static Difference difference(const reference::Tensor &found,
                               const reference::Tensor &expected) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    return found.type == expected.type ? largestDifference(found, expected)
                                       : Difference{kInfinity, kInfinity};
  }

  /// ONNX Runtime's outputs, which have the shapes of `used`: sizes are none.
  void compareOther(ArrayRef<reference::Tensor> used) {
    std::vector<tinh_tensor_info_t> infos;
    std::vector<tinh_buffer_t> buffers;
    SmallVector<size_t> numbers;
    for (size_t i = 0; i < used.size(); ++i) {
      if (is_size(outputInfos, i))
        continue;
      tinh_tensor_info_t info = outputInfos[i];
      info.dims = used[i].type.getShape().data();
      info.size = static_cast<uint64_t>(graph::tensorSize(used[i].type));
      info.size_outputs = nullptr;
      infos.push_back(info);
      buffers.push_back({otherOutputs[i].data, info.size});
      numbers.push_back(i);
    }
    other->readOutputs(infos, buffers);
    for (auto [i, buffer] : llvm::zip_equal(numbers, buffers))
      widen(result.onnxRuntime->difference,
            difference(tensor(used[i].type, buffer), used[i]));
  }

  bool compareOutputs(ModuleOp model) {
    auto main = model.lookupSymbol<func::FuncOp>(graph::names::kMain);
    FailureOr<std::vector<reference::Tensor>> expected = failure();
    if (verifying) {
      progress.show("evaluating the reference");
      expected = evaluateReference(main);
      if (failed(expected))
        return false;
      result.error.emplace();
    }
    for (Type type : main.getResultTypes())
      outputTypes.push_back(cast<RankedTensorType>(type));
    std::vector<std::vector<char>> bytes;
    std::vector<tinh_buffer_t> expectedOutputs;
    for (size_t i = 0; verifying && i < outputTypes.size(); ++i) {
      bytes.push_back(reference::toBytes((*expected)[i]));
      expectedOutputs.push_back({bytes[i].data(), bytes[i].size()});
    }
    SmallVector<reference::Tensor> used;
    for (size_t i = 0; i < outputTypes.size(); ++i) {
      reference::Tensor found = usedPart(i, eagerOutputs);
      const auto &compiled = used.emplace_back(usedPart(i, compiledOutputs));
      widen(result.difference, difference(found, compiled));
      if (!verifying)
        continue;
      reference::Tensor right = usedPart(i, expectedOutputs);
      widen(*result.error, difference(found, right));
      widen(*result.error, difference(compiled, right));
    }
    return !other || tryOther([&] { compareOther(used); });
  }

  bool writeReport() {
    std::string message;
    try {
      if (page.empty() ||
          writePage(page, result, recorder,
                    {file.name, inputs, compiledOutputs}, &message))
        return true;
    } catch (const Error &error) {
      return fail(error.status(), error.what());
    }
    progress.erase();
    llvm::errs() << "error: --report: " << message << "\n";
    return false;
  }

  Comparison &result;
  Progress progress;
  std::string path;
  ImportOptions importing;
  std::string page;   // Its file, or nothing.
  std::string python; // Of the other engine, or nothing.
  report::Recorder recorder;
  CompileOptions options;
  uint32_t runs;
  bool verifying;
  ExitCode outcome = exit_wrong_input; // Of what has failed.
  std::optional<eager::EagerModel> eagerModel;
  ScratchFile file{"tinh-compare"}; // What is compiled whole.
  tinh_module_t *module = nullptr;
  tinh_context_t *context = nullptr;
  std::vector<std::vector<char>> memory;
  std::vector<tinh_tensor_info_t> inputInfos, outputInfos;
  SmallVector<RankedTensorType> outputTypes;
  std::vector<tinh_buffer_t> inputs, eagerOutputs, compiledOutputs,
      otherOutputs;
  std::optional<OtherEngine> other;
};

} // namespace

ExitCode compare(const CompareOptions &wanted, Comparison &result) {
  return Comparer(wanted, result).run();
}

} // namespace tinh::tools
