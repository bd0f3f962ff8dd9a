//===- CompileKernels.cpp - From kernels to object files --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Pipelines/CompileKernels.h"

#include "compiler/Codegen/CPU/ObjectCode.h"
#include "compiler/Pipelines/KernelCache.h"
#include "dialects/graph/Graph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/ThreadPool.h"

#include <chrono>
#include <mutex>

using namespace mlir;

namespace tinh {

/// A kernel function as a module of its own: the unit that is compiled, alone
/// and on any thread. Its text determines the code.
static std::string kernelText(func::FuncOp kernel) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << "module {\n";
  kernel.print(stream, OpPrintingFlags().useLocalScope());
  stream << "\n}\n";
  return text;
}

static FailureOr<artifact::Object>
compileKernel(StringRef text, const cpu::Target &target, std::string &message) {
  DialectRegistry registry;
  registry.insert<graph::GraphDialect>();
  cpu::registerCodegenDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (message.empty())
      message = diagnostic.str();
    return success();
  });
  auto module = parseSourceString<ModuleOp>(text, &context);
  if (!module)
    return failure();
  auto lowered = cpu::lowerKernelsToLLVM(*module, target);
  if (failed(lowered))
    return failure();
  return cpu::emitObject(**lowered, target);
}

/// The kernel's code from the cache or, failing that, from the compiler.
static FailureOr<artifact::Object>
findOrCompile(StringRef text, const cpu::Target &target, KernelCache *cache,
              KernelReport &report, std::string &message) {
  auto start = std::chrono::steady_clock::now();
  std::string key;
  std::optional<artifact::Object> found;
  if (cache) {
    key = cache->key(text, target);
    found = cache->load(key);
  }
  report.cached = found.has_value();
  auto object =
      found ? std::move(*found) : compileKernel(text, target, message);
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

/// Warns of what keeps the cache from working, and bounds its size.
static void finishCache(KernelCache &cache, MLIRContext *context) {
  if (auto warning = cache.takeWarning())
    emitWarning(UnknownLoc::get(context), *warning);
  cache.prune();
}

FailureOr<std::vector<artifact::Object>>
compileKernels(ModuleOp module, const artifact::Contents &contents,
               const cpu::Target &target, const CompileOptions &options,
               CompileReport &report) {
  size_t count = contents.kernels.size();
  std::vector<std::string> texts(count), messages(count);
  std::vector<KernelReport> reports(count);
  for (auto [i, kernel] : llvm::enumerate(contents.kernels)) {
    auto function = module.lookupSymbol<func::FuncOp>(kernel.name);
    texts[i] = kernelText(function);
    reports[i].name = kernel.name;
    if (auto name =
            function->getAttrOfType<StringAttr>(graph::names::kStrategy))
      reports[i].strategy = name.str();
  }
  std::vector<FailureOr<artifact::Object>> results(count, failure());
  std::mutex mutex;
  size_t finished = 0;
  llvm::DefaultThreadPool pool(llvm::hardware_concurrency(options.jobs));
  for (size_t i = 0; i < count; ++i)
    pool.async([&, i] {
      results[i] = findOrCompile(texts[i], target, options.cache, reports[i],
                                 messages[i]);
      std::lock_guard lock(mutex);
      if (options.progress)
        options.progress("compiling kernels", ++finished, count);
    });
  pool.wait();
  if (options.cache)
    finishCache(*options.cache, module.getContext());
  llvm::append_range(report.compiledKernels, std::move(reports));
  std::vector<artifact::Object> objects;
  for (size_t i = 0; i < count; ++i) {
    if (failed(results[i]))
      return emitError(UnknownLoc::get(module.getContext()),
                       "internal error in kernel '" + contents.kernels[i].name +
                           "': " + messages[i]);
    objects.push_back(std::move(*results[i]));
  }
  return objects;
}

} // namespace tinh
