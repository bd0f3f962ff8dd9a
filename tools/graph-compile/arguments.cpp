//===- arguments.cpp - What the command line asks for -----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "arguments.h"

#include "compiler/Pipelines/MemoryBudget.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FileSystem.h"

using namespace llvm;

namespace tinh::tools {
namespace {

/// NAME=1x3x224x224
bool parseShape(llvm::StringRef text, ImportOptions &options) {
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

/// Checks the arguments of an export.
bool checkExport(const Arguments &arguments, Phase from) {
  if (from > Phase::Normalised) {
    llvm::errs() << "error: --emit=" << arguments.emit
                 << " writes models in phase " << phaseNames(Phase::Normalised)
                 << ", not '" << arguments.from << "'\n";
    return false;
  }
  if (arguments.output.empty() || arguments.output == "-") {
    llvm::errs() << "error: -o OUT." << arguments.emit << " is missing\n";
    return false;
  }
  return true;
}

/// Finds the phases that --from and --emit name, or says what is wrong.
bool findPhases(const Arguments &arguments, Phase &from, Phase &to) {
  auto first = parsePhase(arguments.from), last = parsePhase(arguments.emit);
  if (!first || *first > Phase::LLVM) {
    llvm::errs() << "error: --from takes " << phaseNames(Phase::LLVM)
                 << ", not '" << arguments.from << "'\n";
    return false;
  }
  if (isFormat(arguments.emit)) {
    from = to = *first;
    return checkExport(arguments, from);
  }
  if (!last) {
    llvm::errs() << "error: --emit takes onnx, json, "
                 << phaseNames(Phase::Library) << ", not '" << arguments.emit
                 << "'\n";
    return false;
  }
  if (*first > *last) {
    llvm::errs() << "error: phase '" << arguments.emit
                 << "' comes before phase '" << arguments.from << "'\n";
    return false;
  }
  if (*last < Phase::Object && arguments.report) {
    llvm::errs() << "error: --report is about --emit=obj and --emit=so\n";
    return false;
  }
  if (*last >= Phase::Object && arguments.output.empty()) {
    llvm::errs() << "error: -o OUT." << (arguments.emit == "so" ? "so" : "o")
                 << " is missing\n";
    return false;
  }
  from = *first;
  to = *last;
  return true;
}

/// Whether --train has what it needs, and the rest does not come without it.
bool checkTraining(const Arguments &arguments, Phase from) {
  const training::TrainingOptions &training = arguments.training;
  auto fail = [](const llvm::Twine &what) {
    llvm::errs() << "error: " << what << "\n";
    return false;
  };
  if (!arguments.train)
    return (training.loss.empty() && training.optimizer.empty() &&
            training.trainable.empty() && training.mixedPrecision.empty()) ||
           fail("--loss, --optimizer, --trainable and --mixed-precision are "
                "about --train");
  if (from >= Phase::Differentiated)
    return fail("--train takes models in phase " +
                phaseNames(Phase::Normalised) + ", not '" + arguments.from +
                "'");
  return !isFormat(arguments.emit) || fail("--emit=" + arguments.emit +
                                           " writes models as they are read, "
                                           "which --train does not change");
}

/// Whether --loadable-weights comes with what it is for.
bool checkLoadableWeights(const Arguments &arguments, Phase from) {
  if (!arguments.compile.loadableWeights)
    return true;
  auto fail = [](const llvm::Twine &what) {
    llvm::errs() << "error: --loadable-weights " << what << "\n";
    return false;
  };
  if (arguments.train)
    return fail("is about inference: the weights of a model that is trained "
                "are its state, which can be loaded");
  if (from != Phase::Graph)
    return fail("takes models in phase 'graph', not '" + arguments.from + "'");
  return !isFormat(arguments.emit) ||
         fail("is about artifacts, not --emit=" + arguments.emit);
}

/// Reads --memory-budget and checks that there is something to do about it.
bool checkMemoryBudget(Arguments &arguments, Phase from, Phase to) {
  if (arguments.memoryBudget.empty())
    return true;
  auto fail = [](const llvm::Twine &what) {
    llvm::errs() << "error: " << what << "\n";
    return false;
  };
  auto &budget = arguments.compile.phases.memoryBudget;
  budget = parseMemoryBudget(arguments.memoryBudget);
  if (!budget)
    return fail(malformedMemoryBudget(arguments.memoryBudget));
  return (from < Phase::Optimised && to >= Phase::Optimised) ||
         fail("--memory-budget is about phase 'optimised', which is not "
              "between '" +
              arguments.from + "' and '" + arguments.emit + "'");
}

/// Whether the options about GPUs come with a target that is one.
bool checkCuda(Arguments &arguments) {
  auto fail = [](const llvm::Twine &what) {
    llvm::errs() << "error: " << what << "\n";
    return false;
  };
  const CudaOptions &cuda = arguments.cuda;
  if (arguments.target == "cpu")
    return (cuda.chips.empty() && cuda.place.empty() && !cuda.allowTf32 &&
            cuda.toolkit.empty()) ||
           fail("--cuda-chips, --place, --allow-tf32 and --cuda-path are about "
                "--target=cuda and --target=cpu,cuda");
  arguments.compile.cuda = cuda;
  arguments.compile.cuda->alsoCpu = arguments.target != "cuda";
  return !isFormat(arguments.emit) ||
         fail("--target=" + arguments.target +
              " is about artifacts, not --emit=" + arguments.emit);
}

CompileOptions::Weights parseWeights(llvm::StringRef name) {
  using Weights = CompileOptions::Weights;
  return llvm::StringSwitch<Weights>(name)
      .Case("embedded", Weights::Embedded)
      .Case("external", Weights::External)
      .Default(Weights::Automatic);
}

} // namespace

ExitCode checkArguments(Arguments &arguments, CompileJob &job) {
  for (const std::string &shape : arguments.shapes)
    if (!parseShape(shape, job.importing)) {
      llvm::errs() << "error: --shape " << shape
                   << ": expected NAME=1x3x224x224\n";
      return exit_usage;
    }
  if (!findPhases(arguments, job.from, job.to) ||
      !checkTraining(arguments, job.from) ||
      !checkMemoryBudget(arguments, job.from, job.to) ||
      !checkLoadableWeights(arguments, job.from) || !checkCuda(arguments))
    return exit_usage;
  if (llvm::sys::fs::equivalent(arguments.model, arguments.output)) {
    llvm::errs() << "error: the output '" << arguments.output
                 << "' is the model itself\n";
    return exit_wrong_input;
  }
  arguments.compile.weights = parseWeights(arguments.weights);
  job.model = arguments.model;
  job.output = arguments.output.empty() ? "-" : arguments.output;
  return exit_success;
}

} // namespace tinh::tools
