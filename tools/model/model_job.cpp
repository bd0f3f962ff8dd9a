//===- model_job.cpp - A tool that makes another model of one - -*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "model_job.h"

#include "compile_progress.h"

#include "compiler/Export/Export.h"
#include "compiler/Pipelines/Diagnostics.h"
#include "compiler/Pipelines/InternalErrors.h"
#include "compiler/Pipelines/Kernels/KernelCache.h"
#include "compiler/Pipelines/Registration.h"

#include "llvm/Config/llvm-config.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/TargetParser/Host.h"

using namespace mlir;

namespace tinh::tools {

/// NAME=1x3x224x224
static bool parseShape(StringRef text, ImportOptions &options) {
  auto [name, shape] = text.rsplit('=');
  SmallVector<int64_t> dims;
  SmallVector<StringRef> parts;
  shape.split(parts, 'x');
  for (StringRef part : parts) {
    int64_t extent;
    if (part.getAsInteger(10, extent) || extent < 0)
      return false;
    dims.push_back(extent);
  }
  options.shapes[name] = dims;
  return !name.empty();
}

/// NAME=3 or NAME=absent
static bool parseLength(StringRef text, ImportOptions &options) {
  auto [name, length] = text.rsplit('=');
  int64_t count = ImportOptions::kAbsent;
  if (length != "absent" && (length.getAsInteger(10, count) || count < 0))
    return false;
  options.lengths[name] = count;
  return !name.empty();
}

/// NAME=256
static bool parseStringLength(StringRef text, ImportOptions &options) {
  auto [name, bytes] = text.rsplit('=');
  int64_t count;
  if (bytes.getAsInteger(10, count) || count < 1)
    return false;
  options.stringLengths[name] = count;
  return !name.empty();
}

std::string compilerVersion() {
  return "LLVM " LLVM_VERSION_STRING ", on " +
         llvm::sys::getHostCPUName().str();
}

void addInputOptions(CLI::App &app, ImportOptions *options) {
  app.add_option_function<std::vector<std::string>>(
         "--shape",
         [options](const std::vector<std::string> &shapes) {
           for (const std::string &shape : shapes)
             if (!parseShape(shape, *options))
               throw CLI::ValidationError("--shape " + shape,
                                          "expected NAME=1x3x224x224");
         },
         "NAME=1x3x224x224: an input's shape, where the model leaves it open")
      ->type_name("NAME=SHAPE");
  app.add_option_function<std::vector<std::string>>(
         "--length",
         [options](const std::vector<std::string> &lengths) {
           for (const std::string &length : lengths)
             if (!parseLength(length, *options))
               throw CLI::ValidationError("--length " + length,
                                          "expected NAME=3 or NAME=absent");
         },
         "NAME=3: how many tensors an input has that is a sequence, NAME.0, "
         "NAME.1 …; 1 or absent: whether an optional one is there")
      ->type_name("NAME=COUNT");
  app.add_option_function<std::vector<std::string>>(
         "--string-length",
         [options](const std::vector<std::string> &lengths) {
           for (const std::string &length : lengths)
             if (!parseStringLength(length, *options))
               throw CLI::ValidationError("--string-length " + length,
                                          "expected NAME=256");
         },
         "NAME=256: how many bytes the strings of an input have at most; 64 if "
         "not given")
      ->type_name("NAME=BYTES");
  app.add_option_function<std::vector<std::string>>(
         "--input-value",
         [options](const std::vector<std::string> &values) {
           for (StringRef given : values) {
             auto [name, value] = given.split('=');
             if (name.size() == given.size() || name.empty())
               throw CLI::ValidationError("--input-value " + given.str(),
                                          "expected NAME=VALUE");
             options->inputValues[name] = value.str();
           }
         },
         "NAME=16000: make an input a constant, of one value for all elements "
         "or of a list between commas")
      ->type_name("NAME=VALUE");
}

bool isModelItself(const std::string &model, const std::string &output) {
  if (!llvm::sys::fs::equivalent(model, output))
    return false;
  llvm::errs() << "error: the output '" << output << "' is the model itself\n";
  return true;
}

ExitCode runModelJob(
    const CompileJob &job, CompileOptions &options,
    const std::function<LogicalResult(MLIRContext &, const CompileOptions &,
                                      Progress &)> &work) {
  if (isModelItself(job.model, job.output))
    return exit_wrong_input;
  options.phases.modelDirectory = llvm::sys::path::parent_path(job.model).str();
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
  Progress progress;
  ErasingHandler eraser(&context, progress);
  progress.show("reading the model");
  CompileStatus status = watchCompilation(
      job, options, context, [&](const CompileOptions &watched) {
        return work(context, watched, progress);
      });
  progress.erase();
  if (status == CompileStatus::InternalError)
    exitNow(exit_internal);
  return status == CompileStatus::WrongInput ? exit_wrong_input : exit_success;
}

ExitCode runModelJob(
    const CompileJob &job, CompileOptions &options,
    const std::function<LogicalResult(MLIRContext &, const CompileOptions &)>
        &work) {
  return runModelJob(job, options,
                     [&](MLIRContext &context, const CompileOptions &watched,
                         Progress &progress) {
                       CompileOptions shown = watched;
                       showCompiling(progress, shown);
                       return work(context, shown);
                     });
}

LogicalResult writeModel(ModuleOp module, const CompileJob &job,
                         const CompileOptions &options) {
  bool isJson = StringRef(job.output).ends_with(".json");
  return (isJson ? exportJson : exportOnnx)(module, job.output,
                                            {options.phases.modelDirectory});
}

} // namespace tinh::tools
