//===- model_job.cpp - A tool that makes another model of one - -*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "model_job.h"

#include "compiler/Export/Export.h"
#include "compiler/Pipelines/Diagnostics.h"
#include "compiler/Pipelines/InternalErrors.h"
#include "compiler/Pipelines/KernelCache.h"
#include "compiler/Pipelines/Registration.h"

#include "llvm/Support/Path.h"

using namespace mlir;

namespace tinh::tools {

ExitCode runModelJob(
    const CompileJob &job, CompileOptions &options,
    const std::function<LogicalResult(MLIRContext &, const CompileOptions &)>
        &work) {
  options.modelDirectory = llvm::sys::path::parent_path(job.model).str();
  options.reproducerDirectory = ".";
  std::optional<KernelCache> cache;
  if (std::string directory = KernelCache::defaultDirectory();
      !directory.empty())
    options.cache = &cache.emplace(directory);
  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  DiagnosticPrinter diagnostics(&context, job.model);
  CompileStatus status = watchCompilation(
      job, options, context,
      [&](const CompileOptions &watched) { return work(context, watched); });
  if (status == CompileStatus::InternalError)
    exitNow(exit_internal);
  return status == CompileStatus::WrongInput ? exit_wrong_input : exit_success;
}

LogicalResult writeModel(ModuleOp module, const CompileJob &job,
                         const CompileOptions &options) {
  bool isJson = StringRef(job.output).ends_with(".json");
  return (isJson ? exportJson : exportOnnx)(module, job.output,
                                            {options.modelDirectory});
}

} // namespace tinh::tools
