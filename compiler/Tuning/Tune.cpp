//===- Tune.cpp - Which plans are fastest here ------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Tuning/Tune.h"

#include "compiler/Tuning/Neighbours.h"
#include "compiler/Tuning/Trial.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FileSystem.h"

#include <chrono>
#include <limits>

using namespace mlir;

namespace tinh::tuning {

using Plan = graph::KernelPlanInterface;
using Clock = std::chrono::steady_clock;

static double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

static Plan planOf(func::FuncOp kernel) {
  return kernel->getAttrOfType<Plan>(graph::names::kPlan);
}

static std::string textOf(Plan plan) {
  std::string text;
  llvm::raw_string_ostream(text) << plan;
  return text;
}

namespace {

/// What is known of a plan after a trial.
struct Timed {
  codegen::Candidate candidate;
  double seconds;
};

class Tuner {
public:
  Tuner(ModuleOp module, const cpu::Target &target, const TuneOptions &tuning,
        const CompileOptions &compiling)
      : module(module), target(target), tuning(tuning), compiling(compiling) {}

  FailureOr<TuneReport> run(PlanFile &file);

private:
  SmallVector<func::FuncOp> kernelsByCost();
  LogicalResult tune(func::FuncOp kernel);
  FailureOr<SmallVector<Timed>> time(func::FuncOp kernel,
                                     ArrayRef<codegen::Candidate> candidates);
  SmallVector<codegen::Candidate> candidatesBeside(func::FuncOp kernel,
                                                   Plan plan);
  LogicalResult compareInPlace();
  void decide(const llvm::StringMap<double> &before,
              const llvm::StringMap<double> &after);

  ModuleOp module;
  const cpu::Target &target;
  const TuneOptions &tuning;
  const CompileOptions &compiling;
  Clock::time_point start = Clock::now();
  TuneReport report;
  llvm::DenseMap<func::FuncOp, codegen::Candidate> before; // Of those changed.
  SmallVector<func::FuncOp> looked;
  llvm::SetVector<Attribute> tried; // Of one kernel.
};

} // namespace

//===----------------------------------------------------------------------===//
// Kernels alone
//===----------------------------------------------------------------------===//

/// Those that function 0 runs, the one that takes longest first.
SmallVector<func::FuncOp> Tuner::kernelsByCost() {
  auto functions = module.getOps<func::FuncOp>();
  auto first = llvm::find_if(functions, [](func::FuncOp function) {
    return function.isPublic() && function.getName() != graph::names::kInit;
  });
  SymbolTable symbols(module);
  llvm::MapVector<func::FuncOp, double> cycles;
  if (first != functions.end())
    (*first).walk([&](graph::DispatchOp dispatch) {
      auto kernel = symbols.lookup<func::FuncOp>(dispatch.getKernel());
      auto estimate =
          kernel->getAttrOfType<IntegerAttr>(graph::names::kEstimate);
      if (estimate && planOf(kernel) && !graph::isOnCuda(kernel))
        cycles[kernel] += estimate.getInt();
    });
  auto sorted = cycles.takeVector();
  llvm::stable_sort(
      sorted, [](const auto &x, const auto &y) { return x.second > y.second; });
  return llvm::map_to_vector(sorted,
                             [](const auto &each) { return each.first; });
}

/// Plans to try next that have not been tried.
SmallVector<codegen::Candidate> Tuner::candidatesBeside(func::FuncOp kernel,
                                                        Plan plan) {
  // So many at a time; by estimates these have a chance.
  constexpr size_t kMost = 12;
  constexpr double kHopeful = 1.5;
  SmallVector<codegen::Candidate> all =
      cpu::strategies().candidates(kernel, target);
  llvm::append_range(all, neighboursOf(kernel, plan, target));
  double least = cpu::strategies().candidate(kernel, plan, target)->cost();
  SmallVector<codegen::Candidate> chosen;
  for (const codegen::Candidate &candidate : all)
    if (chosen.size() < kMost && candidate.cost() < kHopeful * least &&
        tried.insert(candidate.plan))
      chosen.push_back(candidate);
  return chosen;
}

/// The least time of each in some runs in turns.
FailureOr<SmallVector<Timed>>
Tuner::time(func::FuncOp kernel, ArrayRef<codegen::Candidate> candidates) {
  constexpr int kLeastRounds = 5, kMostRounds = 100;
  constexpr double kSeconds = 0.3; // For all together.
  SmallVector<Plan> plans = llvm::map_to_vector(
      candidates, [](const codegen::Candidate &c) { return c.plan; });
  OwningOpRef<ModuleOp> alone = isolate(kernel, plans);
  auto trial = Trial::make(*alone, compiling, tuning.threads,
                           /*measuresSteps=*/false);
  if (!trial)
    return failure();
  SmallVector<Timed> timed;
  for (const codegen::Candidate &candidate : candidates)
    timed.push_back({candidate, std::numeric_limits<double>::infinity()});
  auto begin = Clock::now();
  for (int round = 0; round < kMostRounds; ++round) {
    if (round >= kLeastRounds && since(begin) > kSeconds)
      break;
    for (auto [i, each] : llvm::enumerate(timed))
      each.seconds = std::min(each.seconds, trial->run(i));
  }
  for (const Timed &each : timed)
    report.errors
        .cyclesPerMicrosecond[cpu::strategies().find(each.candidate.plan)->name]
        .push_back(each.candidate.cycles / (1e6 * each.seconds));
  report.tried += timed.size();
  return timed;
}

LogicalResult Tuner::tune(func::FuncOp kernel) {
  // What is not faster by so much is taken for noise.
  constexpr double kFaster = 0.98;
  constexpr int kMostSteps = 4;
  codegen::Candidate best =
      *cpu::strategies().candidate(kernel, planOf(kernel), target);
  const codegen::Candidate first = best;
  tried.clear();
  tried.insert(best.plan);
  for (int step = 0; step < kMostSteps; ++step) {
    SmallVector<codegen::Candidate> candidates =
        candidatesBeside(kernel, best.plan);
    if (candidates.empty())
      break;
    candidates.insert(candidates.begin(), best);
    auto timed = time(kernel, candidates);
    if (failed(timed))
      return failure();
    auto fastest = llvm::min_element(*timed, [](const auto &x, const auto &y) {
      return x.seconds < y.seconds;
    });
    if (fastest->seconds >= kFaster * timed->front().seconds)
      break;
    best = fastest->candidate;
  }
  ++report.kernels;
  looked.push_back(kernel);
  if (best.plan != first.plan) {
    before.insert({kernel, first});
    cpu::setPlan(kernel, best);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// In their place
//===----------------------------------------------------------------------===//

/// Gives back plans that are no faster in their place.
void Tuner::decide(const llvm::StringMap<double> &timesBefore,
                   const llvm::StringMap<double> &timesAfter) {
  for (auto kernel : module.getOps<func::FuncOp>()) {
    double was = timesBefore.lookup(kernel.getName()),
           is = timesAfter.lookup(kernel.getName());
    report.microsecondsBefore += was;
    auto changed = before.find(kernel);
    if (changed == before.end()) {
      report.microsecondsAfter += was;
    } else if (is < was) {
      report.microsecondsAfter += is;
      report.tuned.push_back({kernel.getName().str(),
                              textOf(changed->second.plan),
                              textOf(planOf(kernel)), was, is});
    } else {
      report.microsecondsAfter += was;
      cpu::setPlan(kernel, changed->second);
    }
  }
}

LogicalResult Tuner::compareInPlace() {
  constexpr int kLeastRounds = 5, kMostRounds = 100;
  constexpr double kSeconds = 4;
  if (before.empty())
    return success();
  OwningOpRef<ModuleOp> after = module.clone(), first = module.clone();
  for (auto &[kernel, candidate] : before)
    cpu::setPlan(first->lookupSymbol<func::FuncOp>(kernel.getName()),
                 candidate);
  auto trialBefore = Trial::make(*first, compiling, tuning.threads,
                                 /*measuresSteps=*/true),
       trialAfter = Trial::make(*after, compiling, tuning.threads,
                                /*measuresSteps=*/true);
  if (!trialBefore || !trialAfter)
    return failure();
  auto begin = Clock::now();
  for (int round = 0; round < kMostRounds; ++round) {
    if (round >= kLeastRounds && since(begin) > kSeconds)
      break;
    trialBefore->run(0);
    trialAfter->run(0);
  }
  decide(trialBefore->microsecondsOfKernels(),
         trialAfter->microsecondsOfKernels());
  return success();
}

FailureOr<TuneReport> Tuner::run(PlanFile &file) {
  for (func::FuncOp kernel : kernelsByCost()) {
    if (since(start) > tuning.seconds)
      break;
    if (failed(tune(kernel)))
      return failure();
  }
  if (failed(compareInPlace()))
    return failure();
  for (func::FuncOp kernel : looked)
    file.entries[hashOf(kernel, target)] = {target.name, kernel.getName().str(),
                                            textOf(planOf(kernel))};
  return report;
}

FailureOr<TuneReport> tune(ModuleOp module, PlanFile &file,
                           const TuneOptions &tuning,
                           const CompileOptions &compiling) {
  auto target = cpu::targetOf(module);
  auto here = cpu::lookupTarget("native");
  if (failed(target))
    return failure();
  bool runs = here && !target->isEmulated() &&
              (target->featureBits & ~here->featureBits) == 0;
  if (!here)
    llvm::consumeError(here.takeError());
  if (!runs)
    return emitError(UnknownLoc::get(module.getContext()))
           << "a model for CPU '" << target->name
           << "' can only be tuned on a machine that runs its code, which this "
              "one does not";
  return Tuner(module, *target, tuning, compiling).run(file);
}

//===----------------------------------------------------------------------===//
// Files and trials together
//===----------------------------------------------------------------------===//

/// The plans to begin with: a file that is tuned into may be empty, or not be
/// there yet.
static llvm::Expected<PlanFile> readPlans(const PlanSources &sources) {
  uint64_t size = 0;
  bool isThere = !llvm::sys::fs::file_size(sources.file, size);
  bool isNew =
      sources.tune &&
      (!isThere || (size == 0 && llvm::sys::fs::is_regular_file(sources.file)));
  return sources.file.empty() || isNew ? PlanFile()
                                       : PlanFile::read(sources.file);
}

/// Tunes, and keeps what is found. That the file can be written is seen before
/// time is spent.
static llvm::Expected<bool> tuneInto(PlanFile &plans, ModuleOp module,
                                     const PlanSources &sources,
                                     const CompileOptions &options,
                                     std::optional<TuneReport> *report) {
  std::optional<PendingFile> pending;
  if (!sources.file.empty()) {
    auto created = PendingFile::create(sources.file);
    if (!created)
      return created.takeError();
    pending.emplace(std::move(*created));
  }
  auto found = tune(module, plans, *sources.tune, options);
  if (failed(found))
    return false;
  if (report)
    *report = std::move(*found);
  if (pending)
    if (llvm::Error error = plans.write(std::move(*pending)))
      return error;
  return true;
}

static LogicalResult choosePlans(ModuleOp module, const PlanSources &sources,
                                 const CompileOptions &options,
                                 std::optional<TuneReport> *report) {
  auto fail = [&](llvm::Error error) {
    return emitError(UnknownLoc::get(module.getContext()))
           << llvm::toString(std::move(error));
  };
  auto plans = readPlans(sources);
  if (!plans)
    return fail(plans.takeError());
  if (failed(plans->apply(module, sources.file,
                          sources.tune ? PlanFile::Unfit::Dropped
                                       : PlanFile::Unfit::Refused)))
    return failure();
  if (!sources.tune)
    return success();
  auto tuned = tuneInto(*plans, module, sources, options, report);
  if (!tuned)
    return fail(tuned.takeError());
  return success(*tuned);
}

void choosePlansFrom(const PlanSources &sources, CompileOptions &options,
                     std::optional<TuneReport> *report) {
  if (sources.file.empty() && !sources.tune)
    return;
  options.phases.choosePlans = [&sources, &options, report](ModuleOp module) {
    return choosePlans(module, sources, options, report);
  };
}

} // namespace tinh::tuning
