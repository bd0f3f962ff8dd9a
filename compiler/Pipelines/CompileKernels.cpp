//===- CompileKernels.cpp - From kernels to object files --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Pipelines/CompileKernels.h"

#include "compiler/Codegen/CPU/ObjectCode.h"
#include "compiler/Codegen/CPU/Strategy.h"
#include "compiler/Codegen/CUDA/DeviceCode.h"
#include "compiler/Codegen/CUDA/Strategy.h"
#include "compiler/Codegen/CUDA/Toolkit.h"
#include "compiler/Codegen/Linalg/LowerToLinalg.h"
#include "compiler/Codegen/Passes.h"
#include "compiler/Pipelines/InternalErrors.h"
#include "compiler/Pipelines/KernelCache.h"
#include "compiler/Pipelines/PlanArtifact.h"
#include "dialects/graph/Graph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ThreadPool.h"

#include <chrono>
#include <map>
#include <mutex>

using namespace mlir;

namespace tinh {

/// A kernel as a module of its own. Its text determines the code: it names the
/// CPU or the chips that the kernel's strategy was chosen for; those of @init
/// do not run on that CPU.
static std::string kernelText(Operation *kernel) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  OpPrintingFlags flags = OpPrintingFlags().useLocalScope();
  if (isa<ModuleOp>(kernel)) {
    kernel->print(stream, flags);
  } else {
    SmallVector<StringRef> names{graph::names::kCpu};
    if (graph::isOnCuda(kernel))
      names = {graph::names::kCuda, graph::names::kAllowTf32};
    NamedAttrList target;
    for (StringRef name : names)
      if (Attribute value = kernel->getParentOp()->getAttr(name))
        target.set(name, value);
    stream << "module attributes " << target.getDictionary(kernel->getContext())
           << " {\n";
    kernel->print(stream, flags);
    stream << "\n}\n";
  }
  return text;
}

namespace {

/// What kernels are compiled for, and by.
struct CodeTarget {
  cpu::Target cpu;
  std::optional<cuda::Toolkit> toolkit; ///< For kernels on GPUs.
};

/// Why a kernel was not compiled.
struct KernelError {
  std::string message; // The first one.
  bool internal = false;

  void add(StringRef text) {
    internal |= text.consume_front(kInternalError);
    if (message.empty())
      message = text.str();
  }
  /// Reports it, at the operation that the kernel is in the module.
  LogicalResult report(Operation *kernel, StringRef name) const {
    bool silent = message.empty();
    return kernel->emitError()
           << (internal || silent ? StringRef(kInternalError) : "")
           << "kernel '" << name << "' cannot be compiled"
           << (silent ? "" : ": ") << message;
  }
};

/// What is compiled at once, on any thread: a kernel for the CPU, or those of
/// an image for GPUs.
struct Unit {
  std::string image;           // Its symbol, or empty.
  std::vector<size_t> kernels; // Their numbers.
  std::vector<std::string> texts;
};

/// The kernels of a unit read from their texts, in a context of its own.
class KernelModules {
public:
  KernelModules(ArrayRef<std::string> texts, KernelError &error)
      : error(error), context(registry(), MLIRContext::Threading::DISABLED),
        handler(&context, [&error](Diagnostic &diagnostic) {
          error.add(diagnostic.str());
          return success();
        }) {
    context.loadAllAvailableDialects();
    for (const std::string &text : texts)
      modules.push_back(parseSourceString<ModuleOp>(text, &context));
  }

  /// Their functions in the LLVM dialect; they may be that already.
  FailureOr<SmallVector<ModuleOp>> lower() {
    SmallVector<ModuleOp> lowered;
    for (OwningOpRef<ModuleOp> &module : modules) {
      if (!module || failed(lower(module)))
        return failure();
      lowered.push_back(*module);
    }
    return lowered;
  }

  /// `image` is the symbol that code for GPUs gets.
  FailureOr<artifact::Object> compile(StringRef image,
                                      const CodeTarget &target) {
    auto lowered = lower();
    if (failed(lowered))
      return failure();
    auto object = graph::isOnCuda(lowered->front())
                      ? emitImage(*lowered, image, target)
                      : cpu::emitObject(lowered->front(), target.cpu);
    // What was given in the LLVM dialect may be wrong, what was made must not.
    error.internal |= failed(object) && isOurs;
    return object;
  }

private:
  LogicalResult lower(OwningOpRef<ModuleOp> &module) {
    auto functions = module->getOps<func::FuncOp>();
    if (functions.empty())
      return success();
    auto lowered = graph::isOnCuda(*functions.begin()) ? lowerForGpu(*module)
                                                       : lowerForCpu(*module);
    if (failed(lowered))
      return failure();
    module = std::move(*lowered);
    isOurs = true;
    return success();
  }

  static FailureOr<OwningOpRef<ModuleOp>> lowerForCpu(ModuleOp module) {
    auto target = cpu::targetOf(module);
    if (failed(target) || failed(codegen::lowerRows(module)))
      return failure();
    return cpu::lowerKernelsToLLVM(module, *target);
  }

  static FailureOr<OwningOpRef<ModuleOp>> lowerForGpu(ModuleOp module) {
    auto target = cuda::targetOf(module);
    if (failed(target))
      return failure();
    return cuda::lowerKernelsToNVVM(module, *target);
  }

  static FailureOr<artifact::Object> emitImage(ArrayRef<ModuleOp> lowered,
                                               StringRef image,
                                               const CodeTarget &target) {
    ModuleOp first = lowered.front();
    auto chips = cuda::targetOf(first);
    if (failed(chips))
      return failure();
    auto object =
        cuda::emitImage(lowered, image, *chips, target.toolkit, target.cpu);
    if (object)
      return std::move(*object);
    return first.emitError(llvm::toString(object.takeError()));
  }

  static DialectRegistry registry() {
    DialectRegistry registry;
    registry.insert<graph::GraphDialect>();
    cpu::registerCodegenDialects(registry);
    cuda::registerCodegenDialects(registry);
    codegen::registerLowerToLinalgModels(registry);
    return registry;
  }

  KernelError &error;
  MLIRContext context;
  ScopedDiagnosticHandler handler;
  SmallVector<OwningOpRef<ModuleOp>> modules;
  bool isOurs = false; // The LLVM dialect, that is.
};

} // namespace

static FailureOr<artifact::Object>
compile(const Unit &unit, const CodeTarget &target, KernelError &error) {
  FailureOr<artifact::Object> object = failure();
  auto crash = runSafely([&] {
    object = KernelModules(unit.texts, error).compile(unit.image, target);
  });
  if (crash)
    error.add((kInternalError + *crash).str());
  return object;
}

/// The unit's code from the cache or, failing that, from the compiler.
static FailureOr<artifact::Object>
findOrCompile(const Unit &unit, const CodeTarget &target, KernelCache *cache,
              KernelReport &report, KernelError &error) {
  auto start = std::chrono::steady_clock::now();
  std::string key;
  std::optional<artifact::Object> found;
  if (cache) {
    bool isForGpu = !unit.image.empty();
    std::string toolkit =
        isForGpu && target.toolkit ? target.toolkit->identity() : "";
    key = cache->key(llvm::join(unit.texts, "") + unit.image + toolkit,
                     target.cpu);
    found = cache->load(key);
  }
  report.cached = found.has_value();
  auto object = found ? std::move(*found) : compile(unit, target, error);
  if (succeeded(object)) {
    report.codeSize = object->size();
    if (cache && !found)
      cache->store(key, *object);
  }
  report.milliseconds = std::chrono::duration<double, std::milli>(
                            std::chrono::steady_clock::now() - start)
                            .count();
  return object;
}

llvm::Expected<artifact::Object> findOrCompileKernel(StringRef text,
                                                     const cpu::Target &target,
                                                     KernelCache *cache) {
  KernelReport report;
  KernelError error;
  auto object = findOrCompile({"", {0}, {text.str()}}, {target, std::nullopt},
                              cache, report, error);
  if (failed(object))
    return llvm::createStringError("a kernel cannot be compiled: " +
                                   error.message);
  if (cache && !report.cached)
    cache->prune();
  return std::move(*object);
}

/// Warns of what keeps the cache from working, and bounds its size.
static void finishCache(KernelCache &cache, MLIRContext *context) {
  if (auto warning = cache.takeWarning())
    emitWarning(UnknownLoc::get(context), *warning);
  cache.prune();
}

/// `cpu` and, if there are kernels on real GPUs, the toolkit.
static FailureOr<CodeTarget> findTarget(ModuleOp module,
                                        const artifact::Contents &contents,
                                        const cpu::Target &cpu,
                                        const CompileOptions &options) {
  CodeTarget target{cpu, std::nullopt};
  if (llvm::none_of(contents.kernels, [](const artifact::Kernel &kernel) {
        return kernel.device == TINH_DEVICE_CUDA;
      }))
    return target;
  auto chips = cuda::targetOf(module);
  if (failed(chips))
    return failure();
  auto toolkit =
      cuda::findToolkit(options.cuda ? options.cuda->toolkit : std::string());
  if (toolkit)
    target.toolkit = std::move(*toolkit);
  else if (chips->isEmulated()) // Its library of functions may be missing.
    llvm::consumeError(toolkit.takeError());
  else
    return emitError(UnknownLoc::get(module.getContext()),
                     llvm::toString(toolkit.takeError()));
  return target;
}

/// What is to be compiled at once: kernels of one image follow each other.
static std::vector<Unit> divide(ModuleOp module,
                                const artifact::Contents &contents) {
  std::map<StringRef, size_t> images;
  std::vector<Unit> units;
  for (auto [i, kernel] : llvm::enumerate(contents.kernels)) {
    size_t unit = units.size();
    if (kernel.device == TINH_DEVICE_CUDA)
      unit = images.try_emplace(kernel.image, unit).first->second;
    if (unit == units.size())
      units.push_back({kernel.image, {}, {}});
    units[unit].kernels.push_back(i);
    units[unit].texts.push_back(kernelText(module.lookupSymbol(kernel.name)));
  }
  return units;
}

/// Reports why a unit was not compiled, at the kernel that it was not for.
static LogicalResult reportFailure(ModuleOp module,
                                   const artifact::Contents &contents,
                                   const Unit &unit, const CodeTarget &target,
                                   const KernelError &error) {
  auto report = [&](size_t kernel, const KernelError &its) {
    StringRef name = contents.kernels[kernel].name;
    return its.report(module.lookupSymbol(name), name);
  };
  if (unit.kernels.size() > 1)
    for (auto [kernel, text] : llvm::zip_equal(unit.kernels, unit.texts)) {
      KernelError its;
      if (failed(compile({unit.image, {kernel}, {text}}, target, its)))
        return report(kernel, its);
    }
  return report(unit.kernels.front(), error);
}

static void addReports(ModuleOp module, const artifact::Contents &contents,
                       const Unit &unit, KernelReport result,
                       CompileReport &report) {
  for (size_t kernel : unit.kernels) {
    result.name = contents.kernels[kernel].name;
    auto strategy = module.lookupSymbol(result.name)
                        ->getAttrOfType<StringAttr>(graph::names::kStrategy);
    result.strategy = strategy ? strategy.str() : "";
    report.compiledKernels.push_back(result);
    result.image = unit.image; // Of those after the first one.
    result.codeSize = 0;
    result.milliseconds = 0;
  }
}

FailureOr<std::vector<artifact::Object>>
compileKernels(ModuleOp module, const artifact::Contents &contents,
               const cpu::Target &cpu, const CompileOptions &options,
               CompileReport &report) {
  auto target = findTarget(module, contents, cpu, options);
  if (failed(target))
    return failure();
  codegen::setAlignments(module);
  std::vector<Unit> units = divide(module, contents);
  std::vector<KernelError> errors(units.size());
  std::vector<KernelReport> reports(units.size());
  std::vector<FailureOr<artifact::Object>> results(units.size(), failure());
  std::mutex mutex;
  size_t finished = 0;
  llvm::DefaultThreadPool pool(llvm::hardware_concurrency(options.phases.jobs));
  for (size_t i = 0; i < units.size(); ++i)
    pool.async([&, i] {
      results[i] = findOrCompile(units[i], *target, options.cache, reports[i],
                                 errors[i]);
      std::lock_guard lock(mutex);
      finished += units[i].kernels.size();
      if (options.progress)
        options.progress("compiling kernels", finished,
                         contents.kernels.size());
    });
  pool.wait();
  if (options.cache)
    finishCache(*options.cache, module.getContext());
  std::vector<artifact::Object> objects;
  for (size_t i = 0; i < units.size(); ++i) {
    if (failed(results[i]))
      return reportFailure(module, contents, units[i], *target, errors[i]);
    addReports(module, contents, units[i], reports[i], report);
    objects.push_back(std::move(*results[i]));
  }
  return objects;
}

//===----------------------------------------------------------------------===//
// The phase llvm
//===----------------------------------------------------------------------===//

/// Puts the LLVM functions in `text` into the place of `kernel`. What the plan
/// says of the kernel stays with them, as does the model's node.
static LogicalResult replaceKernel(func::FuncOp kernel, StringRef text) {
  auto lowered = parseSourceString<ModuleOp>(text, kernel.getContext());
  if (!lowered)
    return failure();
  lowered->walk([&](Operation *op) {
    op->setLoc(kernel.getLoc());
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (BlockArgument argument : block.getArguments())
          argument.setLoc(kernel.getLoc());
  });
  lowered->setSymName(kernel.getSymName());
  for (StringRef name :
       {graph::names::kCpu, graph::names::kStrategy, graph::names::kChunks,
        graph::names::kScratch, graph::names::kDevice, graph::names::kThreads,
        graph::names::kLibrary})
    if (Attribute value = kernel->getAttr(name))
      (*lowered)->setAttr(name, value);
  (*lowered)->setAttr(kOperands, TypeAttr::get(operandTypes(kernel)));
  OpBuilder(kernel).insert(lowered.release());
  kernel.erase();
  return success();
}

LogicalResult lowerToLLVM(ModuleOp module, unsigned jobs) {
  codegen::setAlignments(module);
  SmallVector<func::FuncOp> kernels(module.getOps<func::FuncOp>());
  std::vector<std::string> texts(kernels.size());
  std::vector<KernelError> errors(kernels.size());
  for (auto [text, kernel] : llvm::zip_equal(texts, kernels))
    text = kernelText(kernel);
  llvm::DefaultThreadPool pool(llvm::hardware_concurrency(jobs));
  for (size_t i = 0; i < kernels.size(); ++i)
    pool.async([&, i] {
      std::string text = std::exchange(texts[i], "");
      auto crash = runSafely([&] {
        KernelModules kernel(text, errors[i]);
        if (auto lowered = kernel.lower(); succeeded(lowered))
          texts[i] = kernelText(lowered->front());
      });
      if (crash)
        errors[i].add((kInternalError + *crash).str());
    });
  pool.wait();
  for (auto [kernel, text, error] : llvm::zip_equal(kernels, texts, errors))
    if (text.empty() || failed(replaceKernel(kernel, text)))
      return error.report(kernel, kernel.getSymName());
  return success();
}

} // namespace tinh
