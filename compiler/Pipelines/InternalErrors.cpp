//===- InternalErrors.cpp - Failures that are the compiler's own ----------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Pipelines/InternalErrors.h"

#include "compiler/Pipelines/Diagnostics.h"
#include "tinh/runtime.h"

#include "llvm/Config/llvm-config.h"
#include "llvm/Support/CrashRecoveryContext.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Host.h"

#include <csignal>
#include <cstring>
#include <unistd.h>

using namespace mlir;

namespace tinh {

//===----------------------------------------------------------------------===//
// Crashes
//===----------------------------------------------------------------------===//

/// Why LLVM has given up on this thread.
static thread_local std::string fatalReason;

/// What LLVM says of a thread that the system refuses, which is no defect of
/// anything. What it held then is held for ever.
static void exitIfThreadRefused(StringRef reason) {
  if (!reason.consume_front("pthread_create failed: "))
    return;
  llvm::errs() << "error: cannot start a thread: " << reason
               << "; ask for fewer (--jobs, --threads), or raise the system's "
                  "limits on them (ulimit -u, pids.max of the cgroup)\n";
  exitNow(1);
}

void catchCrashes() {
  llvm::CrashRecoveryContext::Enable();
  llvm::install_fatal_error_handler([](void *, const char *reason, bool) {
    exitIfThreadRefused(reason);
    fatalReason = reason;
    std::abort();
  });
}

void guardProcess() {
  std::signal(SIGXFSZ, SIG_IGN); // A limit on files is an error, no end.
  reportExhaustedMemory();
  catchCrashes();
}

std::optional<std::string> runSafely(llvm::function_ref<void()> work) {
  fatalReason.clear();
  llvm::CrashRecoveryContext recovery;
  if (recovery.RunSafely(work))
    return std::nullopt;
  if (!fatalReason.empty())
    return "LLVM gave up: " + StringRef(fatalReason).trim().str();
  // The shells' convention: 128 more than the signal's number.
  return std::string("the compiler crashed: ") +
         ::strsignal(recovery.RetCode - 128);
}

void exitNow(int exitCode) {
  llvm::outs().flush();
  llvm::sys::RunInterruptHandlers(); // Removes unfinished files.
  ::_exit(exitCode);
}

//===----------------------------------------------------------------------===//
// Reproducers
//===----------------------------------------------------------------------===//

namespace {

/// The module as it was before the work that has not ended yet, and what it
/// takes to do that again.
class Reproducer {
public:
  Reproducer(const CompileJob &job, const CompileOptions &options)
      : job(job), options(options) {}

  void remember(ModuleOp next, Phase nextPhase) {
    module = next.clone();
    phase = nextPhase;
  }
  /// Writes the file and says what to do with it.
  std::string report() const;

private:
  std::error_code open(llvm::SmallVectorImpl<char> &path, int &file) const;
  std::string commandFor(StringRef path) const;

  const CompileJob &job;
  const CompileOptions &options;
  OwningOpRef<ModuleOp> module;
  Phase phase = Phase::Graph;
};

} // namespace

/// Makes a file under a name that none has yet.
std::error_code Reproducer::open(llvm::SmallVectorImpl<char> &path,
                                 int &file) const {
  StringRef name = llvm::sys::path::stem(job.model);
  std::error_code error = std::make_error_code(std::errc::file_exists);
  for (unsigned i = 1; error == std::errc::file_exists; ++i) {
    path.assign(options.reproducerDirectory.begin(),
                options.reproducerDirectory.end());
    std::string number = i > 1 ? "-" + std::to_string(i) : "";
    llvm::sys::path::append(path, name + "-" + phaseName(phase) +
                                      "-reproducer" + number + ".mlir");
    error = llvm::sys::fs::openFileForWrite(StringRef(path.data(), path.size()),
                                            file, llvm::sys::fs::CD_CreateNew);
  }
  return error;
}

/// What does the job again from the file at `path`.
std::string Reproducer::commandFor(StringRef path) const {
  std::string text;
  llvm::raw_string_ostream out(text);
  auto add = [&](StringRef option, StringRef file) {
    out << option;
    llvm::sys::printArg(out, file, /*Quote=*/false);
  };
  add("graph-compile ", path);
  out << " --from=" << phaseName(phase) << " --emit=" << phaseName(job.to);
  if (!options.phases.fuse)
    out << " --no-fuse";
  if (options.phases.plainVariables && phase < Phase::Kernels)
    out << " --plain-variables";
  if (options.phases.winograd != PhaseOptions().winograd &&
      phase < Phase::Kernels)
    add(" ", "--winograd=" + options.phases.winograd);
  if (options.phases.math != PhaseOptions().math && phase < Phase::Kernels)
    add(" ", "--math=" + options.phases.math);
  if (phase < Phase::Differentiated) {
    if (!options.phases.precision.type.empty())
      add(" ", "--precision=" + options.phases.precision.type);
    for (const std::string &pattern : options.phases.precision.keepF32)
      add(" ", "--keep-f32=" + pattern);
  }
  if (options.phases.training && phase < Phase::Differentiated)
    for (const std::string &option : options.phases.training->commandLine)
      add(" ", option);
  if (options.phases.memoryBudget && phase < Phase::Optimised)
    add(" --memory-budget=", options.phases.memoryBudget->text);
  if (!options.phases.modelDirectory.empty())
    add(" --model-dir ", options.phases.modelDirectory);
  if (job.output != "-")
    add(" -o ", job.output);
  return text;
}

std::string Reproducer::report() const {
  std::string text = "this is a defect of the compiler: please report it with ";
  if (!module || options.reproducerDirectory.empty())
    return text + "the model";
  llvm::SmallString<128> path;
  int file = -1;
  if (std::error_code error = open(path, file))
    return text + "the model; the file '" + path.str().str() +
           "', which would reproduce it, cannot be written: " + error.message();
  std::string command = commandFor(path);
  llvm::raw_fd_ostream out(file, /*shouldClose=*/true);
  out << "// " << command << "\n// tinh " << tinh_runtime_version() << ", LLVM "
      << LLVM_VERSION_STRING << ", on " << llvm::sys::getHostCPUName() << "\n";
  module.get()->print(out, OpPrintingFlags().enableDebugInfo());
  out << "\n";
  return text + "the file '" + path.str().str() +
         "', which reproduces it:\n  " + command;
}

CompileStatus watchCompilation(
    const CompileJob &job, CompileOptions options, MLIRContext &context,
    llvm::function_ref<LogicalResult(const CompileOptions &)> compile) {
  Reproducer reproducer(job, options);
  options.phases.before = [&, told = options.phases.before](ModuleOp module,
                                                            Phase phase) {
    reproducer.remember(module, phase);
    if (told)
      told(module, phase);
  };
  bool any = false, internal = false, hasEnded = false;
  Interruption interruption;
  options.phases.interruption = &interruption;
  ScopedDiagnosticHandler observer(&context, [&](Diagnostic &diagnostic) {
    if (interruption.isRequested() && !hasEnded)
      return success(); // What was left undone misleads others.
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error) {
      any = true;
      internal |= StringRef(diagnostic.str()).starts_with(kInternalError);
    }
    return failure(); // Others report it.
  });
  Location unknown = UnknownLoc::get(&context);
  LogicalResult result = failure();
  Watchdog watchdog(options.limits, interruption, context);
  auto crash = runSafely([&] { result = compile(options); });
  if (!crash && succeeded(result))
    return CompileStatus::Succeeded;
  if (crash)
    ::alarm(60); // What crashed may hold a lock that the report needs.
  if (interruption.isRequested() && !internal) {
    hasEnded = true;
    emitError(FileLineColLoc::get(&context, job.model, 0, 0))
        << interruption.message();
    return CompileStatus::WrongInput;
  }
  hasEnded = true;
  if (crash) {
    emitError(unknown) << kInternalError << *crash;
  } else if (!any) {
    emitError(unknown) << kInternalError << "compiling failed without a reason";
  }
  if (!internal)
    return CompileStatus::WrongInput;
  emitNote(unknown, reproducer.report());
  return CompileStatus::InternalError;
}

} // namespace tinh
