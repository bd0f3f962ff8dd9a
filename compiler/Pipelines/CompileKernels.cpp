//===- CompileKernels.cpp - From kernels to object files --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Pipelines/CompileKernels.h"

#include "compiler/Codegen/CPU/ObjectCode.h"
#include "dialects/graph/Graph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/ThreadPool.h"

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

FailureOr<std::vector<artifact::Object>>
compileKernels(ModuleOp module, const artifact::Contents &contents,
               const cpu::Target &target, const CompileOptions &options) {
  size_t count = contents.kernels.size();
  std::vector<std::string> texts(count), messages(count);
  for (auto [i, kernel] : llvm::enumerate(contents.kernels))
    texts[i] = kernelText(module.lookupSymbol<func::FuncOp>(kernel.name));
  std::vector<artifact::Object> objects(count);
  std::vector<char> done(count, false);
  std::mutex mutex;
  size_t finished = 0;
  llvm::DefaultThreadPool pool(llvm::hardware_concurrency(options.jobs));
  for (size_t i = 0; i < count; ++i)
    pool.async([&, i] {
      auto object = compileKernel(texts[i], target, messages[i]);
      std::lock_guard lock(mutex);
      if (succeeded(object)) {
        objects[i] = std::move(*object);
        done[i] = true;
      }
      if (options.progress)
        options.progress("compiling kernels", ++finished, count);
    });
  pool.wait();
  for (size_t i = 0; i < count; ++i)
    if (!done[i])
      return emitError(UnknownLoc::get(module.getContext()),
                       "internal error in kernel '" + contents.kernels[i].name +
                           "': " + messages[i]);
  return objects;
}

} // namespace tinh
