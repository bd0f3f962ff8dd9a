//===- graph-compile.cpp - From a model file to a library -------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/Import.h"
#include "compiler/Pipelines/Compile.h"
#include "compiler/Pipelines/Diagnostics.h"
#include "compiler/Pipelines/KernelCache.h"
#include "compiler/Pipelines/Registration.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/ToolOutputFile.h"

#include <CLI/CLI.hpp>
#include <csignal>
#include <sys/resource.h>
#include <unistd.h>

using namespace mlir;

namespace {

enum ExitCode { Success = 0, InputError = 1, UsageError = 2 };

struct Arguments {
  std::string model, output, emit = "so", from, weights = "auto";
  std::string cacheDirectory;
  std::vector<std::string> shapes;
  bool report = false, timing = false, verbose = false, noCache = false;
  tinh::CompileOptions compile;
};

/// NAME=1x3x224x224
bool parseShape(llvm::StringRef text, tinh::ImportOptions &options) {
  auto [name, shape] = text.rsplit('=');
  SmallVector<int64_t> dims;
  SmallVector<llvm::StringRef> parts;
  shape.split(parts, 'x');
  for (llvm::StringRef part : parts) {
    int64_t extent;
    if (part.getAsInteger(10, extent) || extent < 0)
      return false;
    dims.push_back(extent);
  }
  options.shapes[name] = dims;
  return !name.empty();
}

void printReport(const tinh::CompileReport &report) {
  auto line = [](const char *what, uint64_t value) {
    llvm::outs() << llvm::formatv("{0,-22} {1,14:N}\n", what, value);
  };
  line("dispatches", report.dispatches);
  line("distinct kernels", report.kernels);
  line("weights, bytes", report.weightsSize);
  line("arena, bytes", report.arenaSize);
  line("  without reuse", report.unplannedSize);
  line("  live-set lower bound", report.lowerBoundSize);
}

void printTiming(const tinh::CompileReport &report) {
  for (auto &[stage, time] : report.milliseconds)
    llvm::outs() << llvm::formatv("{0,-28} {1,10:F1} ms\n", stage, time);
  size_t cached = llvm::count_if(
      report.compiledKernels,
      [](const tinh::KernelReport &kernel) { return kernel.cached; });
  llvm::outs() << llvm::formatv("{0,-28} {1,10} of {2}\n",
                                "kernels from the cache", cached,
                                report.compiledKernels.size());
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  llvm::outs() << llvm::formatv("{0,-28} {1,10:N} KB\n", "peak memory",
                                usage.ru_maxrss);
}

void printKernels(const tinh::CompileReport &report) {
  for (const tinh::KernelReport &kernel : report.compiledKernels)
    llvm::outs() << llvm::formatv(
        "{0,-44} {1,-12} {2,8:N} bytes {3,8:F1} ms{4}\n", kernel.name,
        kernel.strategy, kernel.codeSize, kernel.milliseconds,
        kernel.cached ? "  cached" : "");
}

/// $XDG_CACHE_HOME/tinh or ~/.cache/tinh; empty if neither is known.
std::string defaultCacheDirectory() {
  llvm::SmallString<128> path;
  if (!llvm::sys::path::cache_directory(path))
    return "";
  llvm::sys::path::append(path, "tinh");
  return std::string(path);
}

int emitText(ModuleOp module, const Arguments &arguments) {
  std::string path = arguments.output.empty() ? "-" : arguments.output;
  std::error_code error;
  llvm::ToolOutputFile file(path, error, llvm::sys::fs::OF_None);
  if (error) {
    llvm::errs() << "error: cannot write '" << path << "': " << error.message()
                 << "\n";
    return InputError;
  }
  module->print(file.os(), OpPrintingFlags().enableDebugInfo());
  file.os() << "\n";
  file.os().flush();
  if (file.os().has_error()) {
    llvm::errs() << "error: cannot write '" << path
                 << "': " << file.os().error().message() << "\n";
    file.os().clear_error();
    return InputError;
  }
  file.keep();
  return Success;
}

int run(Arguments &arguments) {
  tinh::ImportOptions importing;
  for (const std::string &shape : arguments.shapes)
    if (!parseShape(shape, importing)) {
      llvm::errs() << "error: --shape " << shape
                   << ": expected NAME=1x3x224x224\n";
      return UsageError;
    }
  std::optional<tinh::Phase> to = arguments.emit == "so"
                                      ? tinh::Phase::Kernels
                                      : tinh::parsePhase(arguments.emit);
  std::optional<tinh::Phase> from = arguments.from.empty()
                                        ? tinh::Phase::Graph
                                        : tinh::parsePhase(arguments.from);
  if (!to || !from || *from > *to) {
    llvm::errs() << "error: --emit and --from take graph, normalised, "
                    "optimised, fused or kernels, in this order\n";
    return UsageError;
  }
  if (arguments.emit == "so" && arguments.output.empty()) {
    llvm::errs() << "error: -o OUT.so is missing\n";
    return UsageError;
  }

  if (llvm::sys::fs::equivalent(arguments.model, arguments.output)) {
    llvm::errs() << "error: the output '" << arguments.output
                 << "' is the model itself\n";
    return InputError;
  }

  DialectRegistry registry;
  tinh::registerDialects(registry);
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  tinh::DiagnosticPrinter diagnostics(&context);
  tinh::CompileReport report;
  OwningOpRef<ModuleOp> module =
      tinh::importModel(arguments.model, importing, context);
  if (!module)
    return InputError;
  arguments.compile.modelName = llvm::sys::path::stem(arguments.model).str();
  arguments.compile.modelDirectory =
      llvm::sys::path::parent_path(arguments.model).str();
  std::optional<tinh::KernelCache> cache;
  if (!arguments.noCache && !arguments.cacheDirectory.empty())
    arguments.compile.cache = &cache.emplace(arguments.cacheDirectory);
  if (failed(tinh::setTarget(*module, arguments.compile)) ||
      failed(tinh::runPhases(*module, *from, *to, arguments.compile.phases)))
    return InputError;
  if (arguments.emit != "so")
    return emitText(*module, arguments);
  if (failed(tinh::writeArtifact(*module, arguments.output, arguments.compile,
                                 report)))
    return InputError;
  if (arguments.report)
    printReport(report);
  if (arguments.verbose)
    printKernels(report);
  if (arguments.timing)
    printTiming(report);
  return Success;
}

} // namespace

int main(int argc, char **argv) {
  std::signal(SIGXFSZ, SIG_IGN); // A limit on files is an error, no end.
  Arguments arguments;
  arguments.cacheDirectory = defaultCacheDirectory();
  CLI::App app("Compiles a model (.onnx, .json, .mlir) into a library that "
               "graph-run and programs on libtinh_runtime run.");
  app.add_option("model", arguments.model, "the model's file")->required();
  app.add_option("-o,--output", arguments.output, "the file to write");
  app.add_option("--cpu", arguments.compile.cpu,
                 "native, x86-64-v3, x86-64-v4 or a name of LLVM's")
      ->capture_default_str();
  app.add_option("--emit", arguments.emit,
                 "stop at a phase and print it: graph, normalised, optimised, "
                 "fused, kernels; or so")
      ->capture_default_str();
  app.add_option("--from", arguments.from,
                 "the phase that the model, an .mlir file, is in");
  app.add_option("--shape", arguments.shapes,
                 "NAME=1x3x224x224: an input's shape, where the model leaves "
                 "it open");
  app.add_option("--weights", arguments.weights,
                 "auto, embedded or external (beside the library)")
      ->check(CLI::IsMember({"auto", "embedded", "external"}));
  app.add_option("-j,--jobs", arguments.compile.jobs,
                 "threads that compile; 0: all");
  app.add_flag("!--no-fuse", arguments.compile.phases.fuse,
               "one kernel for each op");
  app.add_flag("--report", arguments.report, "print dispatches and memory");
  app.add_flag("--remarks", arguments.compile.phases.remarks,
               "say why ops were fused or not");
  app.add_flag("--timing", arguments.timing, "print where the time went");
  app.add_flag("--verbose", arguments.verbose,
               "print each kernel: its strategy, code size and compile time");
  app.add_option("--cache-dir", arguments.cacheDirectory,
                 "keep compiled kernels there, not in $XDG_CACHE_HOME/tinh or "
                 "~/.cache/tinh");
  app.add_flag("--no-cache", arguments.noCache,
               "compile all kernels anew and keep none");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    return app.exit(error) == 0 ? Success : UsageError;
  }
  using Weights = tinh::CompileOptions::Weights;
  arguments.compile.weights =
      arguments.weights == "embedded"   ? Weights::Embedded
      : arguments.weights == "external" ? Weights::External
                                        : Weights::Automatic;
  bool terminal = isatty(STDERR_FILENO);
  if (terminal)
    arguments.compile.progress = [](const char *what, size_t done,
                                    size_t total) {
      llvm::errs() << "\r" << what << " " << done << "/" << total
                   << (done == total ? "\n" : "");
    };
  return run(arguments);
}
