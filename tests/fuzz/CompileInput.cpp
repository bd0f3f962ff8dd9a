//===- CompileInput.cpp - Compiles what a fuzzer made -----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "CompileInput.h"

#include "compiler/Pipelines/Compile.h"
#include "compiler/Pipelines/Diagnostics.h"
#include "compiler/Pipelines/InternalErrors.h"
#include "compiler/Pipelines/Registration.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <cstdlib>

using namespace mlir;

namespace tinh::fuzz {

namespace {

/// A folder of this process, for the model's file and nothing else: names of
/// files in it lead nowhere.
class Folder {
public:
  Folder() {
    if (llvm::sys::fs::createUniqueDirectory("tinh-fuzz", path))
      std::abort();
  }
  ~Folder() { llvm::sys::fs::remove_directories(path); }

  std::string write(StringRef content, StringRef extension) const {
    llvm::SmallString<128> name(path);
    llvm::sys::path::append(name, "model" + extension);
    std::error_code error;
    llvm::raw_fd_ostream(name, error) << content;
    if (error)
      std::abort();
    return name.str().str();
  }

private:
  llvm::SmallString<128> path;
};

} // namespace

void compileInput(StringRef content, StringRef extension, Phase from,
                  Phase to) {
  static const Folder folder;
  static const DialectRegistry registry = [] {
    DialectRegistry all;
    registerDialects(all);
    return all;
  }();
  CompileJob job;
  job.model = folder.write(content, extension);
  job.from = from;
  job.to = to;
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  context.printOpOnDiagnostic(false);
  std::string messages;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    messages += formatDiagnostic(diagnostic, job.model) + "\n";
    return success();
  });
  CompileOptions options;
  options.cpu = from < Phase::Kernels ? "x86-64-v3" : "";
  options.phases.jobs = 1;
  CompileReport report;
  CompileStatus status = watchCompilation(
      job, options, context, [&](const CompileOptions &watched) {
        auto module = readModel(job.model, job.importing, from, context);
        return success(
            module && succeeded(annotateModule(*module, from, watched)) &&
            succeeded(runPhases(*module, from, to, watched.phases, report)));
      });
  if (status != CompileStatus::InternalError)
    return;
  llvm::errs() << messages;
  std::abort();
}

} // namespace tinh::fuzz
