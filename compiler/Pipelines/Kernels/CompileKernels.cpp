//===- CompileKernels.cpp - From kernels to object files --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Pipelines/Kernels/CompileKernels.h"

#include "compiler/Codegen/CUDA/EmitPtx.h"
#include "compiler/Codegen/CUDA/Strategies.h"
#include "compiler/Codegen/Passes.h"
#include "compiler/Pipelines/InternalErrors.h"
#include "compiler/Pipelines/Kernels/KernelCache.h"
#include "compiler/Pipelines/Kernels/KernelFacts.h"
#include "compiler/Pipelines/Kernels/KernelModules.h"
#include "compiler/Pipelines/PlanArtifact.h"
#include "compiler/Support/NodeNames.h"
#include "dialects/graph/Graph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ThreadPool.h"

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <mutex>

using namespace mlir;

namespace tinh {

namespace {

/// What is compiled at once, on any thread: a kernel for the CPU, or those of
/// an image for GPUs.
struct Unit {
  std::string image;           // Its symbol, or empty.
  std::vector<size_t> kernels; // Their numbers.
  std::vector<std::string> texts;
  std::string description = {}; // Of the first one.
};

/// Runs a task, now or later, here or on another thread.
using RunTask = std::function<void(std::function<void()>)>;

/// A unit on its way to code: from the cache or, failing that, by the compiler.
/// Most are one task. An image is one until there is PTX, which one more for
/// each chip assembles: these are what takes long.
class UnitCompilation {
public:
  UnitCompilation(const Unit &unit, const CodeTarget &target,
                  KernelContexts &contexts, KernelCache *cache,
                  Interruption *interruption, RunTask run)
      : unit(unit), target(target), contexts(contexts), cache(cache),
        interruption(interruption), run(std::move(run)) {}

  /// Calls `whenDone` on the thread that ends it.
  void start(std::function<void()> whenDone) {
    done = std::move(whenDone);
    run([this] { begin(); });
  }

  FailureOr<artifact::Object> object = failure();
  KernelReport report;
  KernelError error;

private:
  using Clock = std::chrono::steady_clock;
  void begin();
  void compile();
  void assemble(size_t chip);
  void pack();
  void finish();
  void addTime(Clock::time_point start);

  const Unit &unit;
  const CodeTarget &target;
  KernelContexts &contexts;
  KernelCache *cache;
  Interruption *interruption;
  RunTask run;
  std::function<void()> done;
  std::string key;
  std::vector<cuda::ChipCode> codes; // Of an image.
  std::vector<std::string> failures; // Of assembling these.
  bool codesAreOurs = false;
  std::atomic<size_t> unassembled = 0;
  std::atomic<int64_t> microseconds = 0;
};

} // namespace

void UnitCompilation::addTime(Clock::time_point start) {
  microseconds += std::chrono::duration_cast<std::chrono::microseconds>(
                      Clock::now() - start)
                      .count();
}

void UnitCompilation::begin() {
  if (isRequested(interruption))
    return finish();
  Interruption::Work at(interruption, unit.description);
  auto start = Clock::now();
  if (cache) {
    bool isForGpu = !unit.image.empty();
    std::string toolkit =
        isForGpu && target.toolkit ? target.toolkit->identity() : "";
    key = cache->key(llvm::join(unit.texts, "") + unit.image + toolkit,
                     target.cpu);
    if (auto found = cache->load(key)) {
      object = std::move(*found);
      report.cached = true;
    }
  }
  if (!report.cached)
    if (auto crash = runSafely([&] { compile(); }))
      error.add((kInternalError + *crash).str());
  addTime(start);
  if (codes.empty())
    return finish();
  failures.resize(codes.size());
  unassembled = codes.size();
  for (size_t chip = 0, count = codes.size(); chip < count; ++chip)
    run([this, chip] { assemble(chip); });
}

/// The object, or the PTX for each chip.
void UnitCompilation::compile() {
  KernelModules modules(unit.texts, contexts, error);
  if (failed(modules.lower()))
    return;
  if (!modules.areForChips()) {
    object = modules.compile(unit.image, target);
    return;
  }
  if (auto emitted = modules.emitPtx(*target.toolkit); succeeded(emitted))
    codes = std::move(*emitted);
  codesAreOurs = modules.areOurs();
}

void UnitCompilation::assemble(size_t chip) {
  auto start = Clock::now();
  if (llvm::Error failed = cuda::assemble(*target.toolkit, codes[chip]))
    failures[chip] = llvm::toString(std::move(failed));
  addTime(start);
  if (--unassembled == 0)
    pack();
}

/// The image of all chips.
void UnitCompilation::pack() {
  auto start = Clock::now();
  auto failed = llvm::find_if(
      failures, [](const std::string &failure) { return !failure.empty(); });
  if (failed != failures.end()) {
    error.add(*failed);
  } else if (auto packed = cuda::packImage(codes, unit.image, *target.toolkit,
                                           target.cpu)) {
    object = std::move(*packed);
  } else {
    error.add(llvm::toString(packed.takeError()));
  }
  error.internal |= mlir::failed(object) && codesAreOurs;
  addTime(start);
  finish();
}

void UnitCompilation::finish() {
  if (succeeded(object)) {
    report.codeSize = object->size();
    if (cache && !report.cached)
      cache->store(key, *object);
  }
  report.milliseconds = microseconds / 1000.0;
  codes.clear();
  done();
}

/// Compiles `unit` here and now.
static FailureOr<artifact::Object>
compileUnit(const Unit &unit, const CodeTarget &target,
            KernelContexts &contexts, KernelCache *cache, KernelReport &report,
            KernelError &error) {
  UnitCompilation compilation(unit, target, contexts, cache,
                              /*interruption=*/nullptr,
                              [](auto task) { task(); });
  compilation.start([] {});
  report = compilation.report;
  error = compilation.error;
  return std::move(compilation.object);
}

llvm::Expected<artifact::Object> findOrCompileKernel(StringRef text,
                                                     const cpu::Target &target,
                                                     KernelContexts &contexts,
                                                     KernelCache *cache) {
  KernelReport report;
  KernelError error;
  auto object = compileUnit({"", {0}, {text.str()}}, {target, std::nullopt},
                            contexts, cache, report, error);
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

/// For messages: its name and those of its nodes.
static std::string describeKernel(Operation *kernel) {
  StringRef name = SymbolTable::getSymbolName(kernel).getValue();
  SmallVector<StringRef> nodes = nodeNames(kernel->getLoc());
  std::string text = ("kernel '" + name + "'").str();
  if (!nodes.empty())
    text += " of node '" + llvm::join(nodes, "', '") + "'";
  return text;
}

/// What is to be compiled at once: kernels of one image follow each other.
static std::vector<Unit> divide(ModuleOp module,
                                const artifact::Contents &contents) {
  SymbolTable symbols(module);
  std::map<StringRef, size_t> images;
  std::vector<Unit> units;
  for (auto [i, kernel] : llvm::enumerate(contents.kernels)) {
    size_t unit = units.size();
    if (kernel.device == TINH_DEVICE_CUDA)
      unit = images.try_emplace(kernel.image, unit).first->second;
    Operation *op = symbols.lookup(kernel.name);
    if (unit == units.size())
      units.push_back({kernel.image, {}, {}, describeKernel(op)});
    units[unit].kernels.push_back(i);
    units[unit].texts.push_back(kernelText(op));
  }
  return units;
}

/// Reports why a unit was not compiled, at the kernel that it was not for.
static LogicalResult reportFailure(ModuleOp module,
                                   const artifact::Contents &contents,
                                   const Unit &unit, const CodeTarget &target,
                                   KernelContexts &contexts,
                                   const KernelError &error) {
  auto report = [&](size_t kernel, const KernelError &its) {
    StringRef name = contents.kernels[kernel].name;
    return its.report(module.lookupSymbol(name), name);
  };
  if (unit.kernels.size() > 1)
    for (auto [kernel, text] : llvm::zip_equal(unit.kernels, unit.texts)) {
      KernelReport ignored;
      KernelError its;
      if (failed(compileUnit({unit.image, {kernel}, {text}}, target, contexts,
                             nullptr, ignored, its)))
        return report(kernel, its);
    }
  return report(unit.kernels.front(), error);
}

static void addReports(const SymbolTable &symbols,
                       const artifact::Contents &contents, const Unit &unit,
                       KernelReport result, CompileReport &report) {
  for (size_t kernel : unit.kernels) {
    result.name = contents.kernels[kernel].name;
    result.strategy = graph::strategyName(symbols.lookup(result.name)).str();
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
  std::mutex mutex;
  size_t finished = 0;
  llvm::DefaultThreadPool pool(llvm::hardware_concurrency(options.phases.jobs));
  KernelContexts contexts;
  std::deque<UnitCompilation> compilations;
  for (const Unit &unit : units)
    compilations.emplace_back(unit, *target, contexts, options.cache,
                              options.phases.interruption,
                              [&](auto task) { pool.async(std::move(task)); });
  for (auto [unit, compilation] : llvm::zip_equal(units, compilations))
    compilation.start([&] {
      std::lock_guard lock(mutex);
      finished += unit.kernels.size();
      if (options.progress)
        options.progress("compiling kernels", finished,
                         contents.kernels.size());
    });
  pool.wait();
  if (options.cache)
    finishCache(*options.cache, module.getContext());
  if (isRequested(options.phases.interruption))
    return failure();
  SymbolTable symbols(module);
  std::vector<artifact::Object> objects;
  for (auto [unit, compilation] : llvm::zip_equal(units, compilations)) {
    if (failed(compilation.object))
      return reportFailure(module, contents, unit, *target, contexts,
                           compilation.error);
    addReports(symbols, contents, unit, compilation.report, report);
    objects.push_back(std::move(*compilation.object));
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
       {graph::names::kCpu, graph::names::kChunks, graph::names::kScratch,
        graph::names::kDevice, graph::names::kThreads, graph::names::kLibrary})
    if (Attribute value = kernel->getAttr(name))
      (*lowered)->setAttr(name, value);
  keepFacts(kernel, *lowered);
  (*lowered)->setAttr(kOperands, TypeAttr::get(operandTypes(kernel)));
  OpBuilder(kernel).insert(lowered.release());
  kernel.erase();
  return success();
}

LogicalResult lowerToLLVM(ModuleOp module, unsigned jobs,
                          Interruption *interruption) {
  codegen::setAlignments(module);
  SmallVector<func::FuncOp> kernels(module.getOps<func::FuncOp>());
  std::vector<std::string> texts(kernels.size());
  std::vector<KernelError> errors(kernels.size());
  for (auto [text, kernel] : llvm::zip_equal(texts, kernels))
    text = kernelText(kernel);
  KernelContexts contexts;
  llvm::DefaultThreadPool pool(llvm::hardware_concurrency(jobs));
  for (size_t i = 0; i < kernels.size(); ++i)
    pool.async([&, i] {
      std::string text = std::exchange(texts[i], "");
      if (isRequested(interruption))
        return;
      Interruption::Work at(interruption, describeKernel(kernels[i]));
      auto crash = runSafely([&] {
        KernelModules kernel(text, contexts, errors[i]);
        if (succeeded(kernel.lower()))
          texts[i] = kernelText(kernel.front());
      });
      if (crash)
        errors[i].add((kInternalError + *crash).str());
    });
  pool.wait();
  if (isRequested(interruption))
    return failure();
  for (auto [kernel, text, error] : llvm::zip_equal(kernels, texts, errors))
    if (text.empty() || failed(replaceKernel(kernel, text)))
      return error.report(kernel, kernel.getSymName());
  return success();
}

} // namespace tinh
