//===- Compile.cpp - From a model to an artifact ----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Pipelines/Compile.h"

#include "compiler/Artifact/Artifact.h"
#include "compiler/Codegen/CPU/Target.h"
#include "compiler/Codegen/CUDA/EmitPtx.h"
#include "compiler/Codegen/CUDA/Strategies.h"
#include "compiler/Pipelines/CheckMemory.h"
#include "compiler/Pipelines/Diagnostics.h"
#include "compiler/Pipelines/InitRunner.h"
#include "compiler/Pipelines/InternalErrors.h"
#include "compiler/Pipelines/Kernels/CompileKernels.h"
#include "compiler/Pipelines/Parameters.h"
#include "compiler/Pipelines/PlanArtifact.h"
#include "compiler/Pipelines/Stopwatch.h"
#include "compiler/Support/Bytecode.h"
#include "compiler/Support/Files.h"
#include "dialects/graph/Graph.h"
#include "dialects/plan/Plan.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace tinh {

static LogicalResult fail(ModuleOp module, const llvm::Twine &message) {
  return emitError(UnknownLoc::get(module.getContext()), message);
}

//===----------------------------------------------------------------------===//
// What the options say in the module
//===----------------------------------------------------------------------===//

static FailureOr<cpu::Target> findTarget(ModuleOp module, StringRef name) {
  auto target = cpu::lookupTarget(name);
  if (target)
    return *target;
  return fail(module, llvm::toString(target.takeError()));
}

static StringRef cpuOf(ModuleOp module) {
  auto name = module->getAttrOfType<StringAttr>(graph::names::kCpu);
  return name ? name.getValue() : "native";
}

/// The chips that the options name, or that the module has.
static ArrayAttr chipsFor(ModuleOp module, const CudaOptions &options) {
  auto known = module->getAttrOfType<ArrayAttr>(graph::names::kCuda);
  if (known && options.chips.empty())
    return known;
  SmallVector<StringRef> chips(options.chips.begin(), options.chips.end());
  if (chips.empty())
    llvm::append_range(chips, cuda::kDefaultChips);
  return Builder(module.getContext()).getStrArrayAttr(chips);
}

/// Whether there are functions for machines without a GPU beside others.
static bool hasCpuFunctions(ModuleOp module) {
  return llvm::any_of(*module.getBody(), [](Operation &op) {
    return op.hasAttr(graph::names::kInsteadOf);
  });
}

/// The attributes of a module that is compiled for GPUs, too.
static LogicalResult annotateCuda(ModuleOp module, Phase phase,
                                  const CudaOptions &options) {
  Builder builder(module.getContext());
  ArrayAttr chips = chipsFor(module, options);
  StringRef collectives = options.collectives;
  bool byNccl = collectives == graph::names::kNccl;
  if (!collectives.empty() && !byNccl && collectives != "mpi")
    return fail(module, "expected mpi or nccl for collectives, found '" +
                            options.collectives + "'");
  // Kernels have devices, and their strategies are for these, from there on.
  bool isNew =
      module->getAttr(graph::names::kCuda) != chips || !options.place.empty() ||
      (options.allowTf32 && !module->hasAttr(graph::names::kAllowTf32)) ||
      (options.alsoCpu && !hasCpuFunctions(module)) || !collectives.empty();
  if (phase >= Phase::Kernels && isNew)
    return fail(module, "the model in phase '" + phaseName(phase) +
                            "' has its kernels on the devices that they are "
                            "for; choose GPUs, places and collectives in an "
                            "earlier phase");
  module->setAttr(graph::names::kCuda, chips);
  if (options.allowTf32)
    module->setAttr(graph::names::kAllowTf32, builder.getUnitAttr());
  if (options.alsoCpu && phase < Phase::Kernels)
    module->setAttr(graph::names::kAlsoCpu, builder.getUnitAttr());
  if (byNccl)
    module->setAttr(graph::names::kCollectives,
                    builder.getStringAttr(collectives));
  else if (!collectives.empty())
    module->removeAttr(graph::names::kCollectives);
  if (!options.place.empty())
    module->setAttr(graph::names::kPlace,
                    builder.getStrArrayAttr(SmallVector<StringRef>(
                        options.place.begin(), options.place.end())));
  return success(succeeded(cuda::targetOf(module)));
}

LogicalResult annotateModule(ModuleOp module, Phase phase,
                             const CompileOptions &options) {
  if (options.cuda && failed(annotateCuda(module, phase, *options.cuda)))
    return failure();
  StringRef cpu = options.cpu.empty() ? cpuOf(module) : StringRef(options.cpu);
  if (failed(findTarget(module, cpu)))
    return failure();
  // The strategies have been chosen for the CPU.
  if (phase >= Phase::Kernels && cpu != cpuOf(module))
    return fail(module, "the model in phase '" + phaseName(phase) +
                            "' is for CPU '" + cpuOf(module) + "', not '" +
                            cpu + "'; choose the CPU in an earlier phase");
  Builder builder(module.getContext());
  module->setAttr(graph::names::kCpu, builder.getStringAttr(cpu));
  if (!options.modelName.empty())
    module->setAttr(graph::names::kModel,
                    builder.getStringAttr(options.modelName));
  return success();
}

//===----------------------------------------------------------------------===//
// IR
//===----------------------------------------------------------------------===//

using Print = llvm::function_ref<LogicalResult(llvm::raw_ostream &)>;

/// Prints to an open file, of which messages say that it is `output`.
static LogicalResult printTo(llvm::raw_fd_ostream &stream, ModuleOp module,
                             StringRef output, Print print) {
  if (failed(print(stream)))
    return failure();
  stream.flush();
  std::error_code error = stream.error();
  stream.clear_error();
  if (error)
    return fail(module, llvm::toString(writeError(output, error.message())));
  return success();
}

/// Writes what is no file but the standard output, a pipe or a device.
static LogicalResult writeStream(ModuleOp module, StringRef output,
                                 Print print) {
  std::error_code error;
  llvm::raw_fd_ostream stream(output, error);
  if (error)
    return fail(module, llvm::toString(writeError(output, error.message())));
  return printTo(stream, module, output, print);
}

/// Writes to the file `output`, which has all of it or is not there, "-" being
/// the standard output.
static LogicalResult writeFile(ModuleOp module, StringRef output, Print print) {
  llvm::sys::fs::file_status status;
  if (output == "-" || (!llvm::sys::fs::status(output, status) &&
                        llvm::sys::fs::is_other(status)))
    return writeStream(module, output, print);
  llvm::SmallString<256> path(output);
  if (llvm::sys::fs::is_symlink_file(output) &&
      llvm::sys::fs::real_path(output, path))
    path = output; // It leads nowhere.
  auto file = PendingFile::create(path);
  if (!file)
    return fail(module, llvm::toString(file.takeError()));
  llvm::raw_fd_ostream stream = file->stream();
  if (failed(printTo(stream, module, output, print)))
    return failure();
  if (llvm::Error error = file->keep(0666))
    return fail(module, llvm::toString(std::move(error)));
  return success();
}

LogicalResult writeModule(ModuleOp module, StringRef output) {
  return writeFile(module, output, [&](llvm::raw_ostream &stream) {
    if (output.ends_with(".mlirbc"))
      return writeBytecode(module, stream);
    module->print(stream, OpPrintingFlags().enableDebugInfo());
    stream << "\n";
    return success();
  });
}

/// The PTX of all kernels for GPUs, one after the other.
static LogicalResult writePtx(ModuleOp module, StringRef output,
                              const CompileOptions &options) {
  auto toolkit =
      cuda::findToolkit(options.cuda ? options.cuda->toolkit : std::string());
  if (!toolkit)
    return fail(module, llvm::toString(toolkit.takeError()));
  std::string text;
  for (auto kernel : module.getOps<ModuleOp>()) {
    if (!graph::isOnCuda(kernel))
      continue;
    auto target = cuda::targetOf(kernel);
    if (failed(target))
      return failure();
    StringRef level = cuda::codeLevel(kernel, target->chips.front());
    auto ptx = cuda::emitPtx(kernel, level, *toolkit);
    if (!ptx)
      return kernel.emitError(llvm::toString(ptx.takeError()));
    text += *ptx;
  }
  if (text.empty())
    return fail(module, "no kernel of the model is for GPUs, which "
                        "--target=cuda asks for");
  return writeFile(module, output, [&](llvm::raw_ostream &stream) {
    stream << text;
    return success();
  });
}

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

namespace {

/// The code of all functions of an artifact but @init.
struct CompiledModule {
  cpu::Target target;
  artifact::Contents contents;
  std::vector<artifact::Object> kernels;
  std::unique_ptr<llvm::TargetMachine> machine;
};

/// What computes the weights: it runs here and now, whatever the CPU of the
/// artifact.
struct CompiledInit {
  plan::FunctionOp function; // May be null.
  artifact::Contents contents;
  std::vector<artifact::Object> kernels;
};

} // namespace

static void describe(const artifact::Program &program, bool withoutGpu,
                     CompileReport &report) {
  for (const artifact::Function &function : program.functions) {
    size_t dispatches =
        llvm::count_if(function.steps, [](const artifact::Step &step) {
          return step.opcode < TINH_OP_BRANCH;
        });
    report.functions.push_back({function.name, dispatches, function.arenaSize,
                                function.unplannedSize, function.lowerBoundSize,
                                function.deviceArenaSize,
                                function.deviceUnplannedSize,
                                function.deviceLowerBoundSize, withoutGpu});
  }
}

static void describe(const artifact::Contents &contents,
                     CompileReport &report) {
  describe(contents, /*withoutGpu=*/false, report);
  if (contents.withoutGpu) {
    describe(*contents.withoutGpu, /*withoutGpu=*/true, report);
    report.stateSizeWithoutGpu = contents.withoutGpu->stateSize;
  }
  report.kernels = contents.kernels.size();
  report.weightsSize = contents.weightsSize;
  report.stateSize = contents.stateSize;
  report.deviceStateSize = contents.deviceStateSize;
}

static FailureOr<CompiledModule> compileModule(ModuleOp module,
                                               const CompileOptions &options,
                                               CompileReport &report) {
  Stopwatch watch(report, "compile kernels");
  auto target = findTarget(module, cpuOf(module));
  if (failed(target))
    return failure();
  CompiledModule result{*target,
                        describeArtifact(module, *target),
                        {},
                        cpu::makeTargetMachine(*target)};
  describe(result.contents, report);
  if (failed(checkMemory(module, result.contents)))
    return failure();
  auto kernels =
      compileKernels(module, result.contents, *target, options, report);
  if (failed(kernels))
    return failure();
  result.kernels = std::move(*kernels);
  return result;
}

static FailureOr<CompiledInit> compileInit(ModuleOp module,
                                           const cpu::Target &host,
                                           const CompileOptions &options,
                                           CompileReport &report) {
  CompiledInit result;
  result.function = module.lookupSymbol<plan::FunctionOp>(graph::names::kInit);
  if (!result.function)
    return result;
  Stopwatch watch(report, "compile weight preparation");
  result.contents = describeInit(result.function, host);
  auto kernels = compileKernels(module, result.contents, host, options, report);
  if (failed(kernels))
    return failure();
  result.kernels = std::move(*kernels);
  return result;
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

static LogicalResult write(ModuleOp module, StringRef output,
                           artifact::Linkage linkage,
                           const CompileOptions &options,
                           CompileReport &report) {
  auto host = findTarget(module, "native");
  if (failed(host))
    return failure();
  auto compiled = compileModule(module, options, report);
  if (failed(compiled))
    return failure();
  if (options.linking)
    options.linking(compiled->contents, compiled->kernels);
  auto init = compileInit(module, *host, options, report);
  if (failed(init) || isRequested(options.phases.interruption))
    return failure();
  const artifact::Contents &contents = compiled->contents;
  Stopwatch watch(report, "write artifact");
  Interruption::Work at(options.phases.interruption, "writing the artifact");
  auto fill = [&](MutableArrayRef<char> memory) -> llvm::Error {
    if (!init->function)
      return llvm::Error::success();
    return runInit(init->function, init->contents, init->kernels, *host,
                   options.phases.modelDirectory, contents.weights, memory);
  };
  artifact::WriteOptions writing;
  writing.linkage = linkage;
  writing.externalWeights =
      options.weights == CompileOptions::Weights::External ||
      (options.weights == CompileOptions::Weights::Automatic &&
       contents.weightsSize >= (uint64_t(1) << 30));
  if (llvm::Error error =
          artifact::write(contents, compiled->kernels, *compiled->machine,
                          output, fill, writing))
    return fail(module, llvm::toString(std::move(error)));
  return success();
}

LogicalResult writeArtifact(ModuleOp module, StringRef output,
                            const CompileOptions &options,
                            CompileReport &report) {
  return write(module, output, artifact::Linkage::Shared, options, report);
}

LogicalResult writeObject(ModuleOp module, StringRef output,
                          const CompileOptions &options,
                          CompileReport &report) {
  return write(module, output, artifact::Linkage::Relocatable, options, report);
}

//===----------------------------------------------------------------------===//
// All of it
//===----------------------------------------------------------------------===//

/// The first phase that `module` might be in.
static std::optional<Phase> findPhase(ModuleOp module) {
  ScopedDiagnosticHandler silent(module.getContext(),
                                 [](Diagnostic &) { return success(); });
  for (Phase phase = Phase::Graph; phase <= Phase::LLVM;
       phase = static_cast<Phase>(static_cast<int>(phase) + 1))
    if (succeeded(verifyPhase(module, phase)))
      return phase;
  return std::nullopt;
}

OwningOpRef<ModuleOp> readModel(StringRef path, const ImportOptions &importing,
                                Phase phase, MLIRContext &context) {
  Interruption::Work at(importing.interruption, "reading the model");
  OwningOpRef<ModuleOp> module = importModel(path, importing, context);
  if (!module)
    return nullptr;
  if (!(*module)->hasAttr(graph::names::kModel))
    (*module)->setAttr(graph::names::kModel,
                       StringAttr::get(&context, llvm::sys::path::stem(path)));
  if (succeeded(verifyPhase(*module, phase)))
    return module;
  auto file = FileLineColLoc::get(StringAttr::get(&context, path), 0, 0);
  if (auto found = findPhase(*module))
    emitNote(file, "the IR was read as phase '" + phaseName(phase) +
                       "'; it looks like phase '" + phaseName(*found) +
                       "', for which graph-compile takes --from=" +
                       phaseName(*found));
  return nullptr;
}

static LogicalResult compileTo(ModuleOp module, const CompileJob &job,
                               const CompileOptions &options,
                               CompileReport &report) {
  // Object code is made from the kernels of phase plan or llvm.
  Phase last = job.to < Phase::Object ? std::min(job.to, Phase::LLVM)
                                      : std::max(job.from, Phase::Plan);
  if (failed(annotateModule(module, job.from, options)) ||
      failed(runPhases(module, job.from, last, options.phases, report)))
    return failure();
  if (job.to < Phase::Ptx)
    return writeModule(module, job.output);
  if (job.to == Phase::Ptx)
    return writePtx(module, job.output, options);
  options.phases.before(module, last);
  return job.to == Phase::Object
             ? writeObject(module, job.output, options, report)
             : writeArtifact(module, job.output, options, report);
}

CompileStatus compileFile(const CompileJob &job, const CompileOptions &options,
                          MLIRContext &context, CompileReport &report) {
  return watchCompilation(
      job, options, context, [&](const CompileOptions &watched) {
        llvm::StringSet<> weights;
        ImportOptions importing = job.importing;
        importing.interruption = watched.phases.interruption;
        if (watched.loadableWeights)
          importing.weights = &weights;
        auto module = readModel(job.model, importing, job.from, context);
        return success(module &&
                       (!watched.loadableWeights ||
                        succeeded(makeParameters(*module, weights))) &&
                       succeeded(compileTo(*module, job, watched, report)));
      });
}

} // namespace tinh
