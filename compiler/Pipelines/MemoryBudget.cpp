//===- MemoryBudget.cpp - Functions that fit into a given memory ----------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What counts is the arena that is planned: on the GPU, if there is one. The
// pass rematerialise has an estimate of it, from graph ops alone, and a limit
// for that: copies of the module are taken through the phases up to the plan,
// which is no code generation, until a limit is found with which the plan fits.
//
//===----------------------------------------------------------------------===//
#include "compiler/Pipelines/MemoryBudget.h"

#include "compiler/Transforms/Passes.h"
#include "dialects/graph/Graph.h"
#include "dialects/plan/Plan.h"
#include "tinh/artifact.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace mlir;

namespace tinh {

//===----------------------------------------------------------------------===//
// Budgets in words
//===----------------------------------------------------------------------===//

/// A positive number, times `factor`, that is no larger than sizes can be.
static std::optional<double> parsePositive(StringRef text, double factor) {
  double number = 0;
  if (text.empty() || !llvm::isDigit(text.front()) ||
      !llvm::isDigit(text.back()) || text.getAsDouble(number))
    return std::nullopt;
  number *= factor;
  return number > 0 && number < 0x1p62 ? std::optional(number) : std::nullopt;
}

std::optional<uint64_t> parseMemorySize(StringRef text) {
  static const std::pair<StringLiteral, double> kUnits[] = {
      {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"KB", 1e3},
      {"MB", 1e6},     {"GB", 1e9},     {"B", 1}};
  double factor = 1;
  for (auto [unit, bytes] : kUnits)
    if (text.consume_back(unit)) {
      factor = bytes;
      break;
    }
  auto number = parsePositive(text, factor);
  return number ? std::optional(static_cast<uint64_t>(*number)) : std::nullopt;
}

std::string malformedMemorySize(StringRef text) {
  return ("the limit on memory is '" + text +
          "'; expected bytes, such as 8000000000, 8GB or 8GiB")
      .str();
}

std::optional<MemoryBudget> parseMemoryBudget(StringRef text) {
  MemoryBudget budget;
  budget.text = text.str();
  if (text.consume_back("%")) {
    auto share = parsePositive(text, 0.01);
    budget.share = share.value_or(0);
    return share ? std::optional(budget) : std::nullopt;
  }
  auto bytes = parseMemorySize(text);
  budget.bytes = bytes.value_or(0);
  return bytes ? std::optional(budget) : std::nullopt;
}

std::string malformedMemoryBudget(StringRef text) {
  return ("the memory budget is '" + text +
          "'; expected bytes, such as 260000000, 260MB or 248MiB, or a share "
          "of what is taken without it, such as 60%")
      .str();
}

//===----------------------------------------------------------------------===//
// Planned memory
//===----------------------------------------------------------------------===//

namespace {

/// The memory of a module's functions.
struct Memory {
  llvm::StringMap<uint64_t> arenas;
  uint64_t variables = 0;

  /// With the variables.
  uint64_t takenBy(func::FuncOp function) const {
    return arenas.lookup(function.getName()) + variables;
  }
};

} // namespace

/// Plans a copy of `module`, which is in phase optimised.
static FailureOr<Memory> planCopy(ModuleOp module,
                                  const PhaseOptions &options) {
  OwningOpRef<ModuleOp> copy = module.clone();
  (*copy)->removeAttr(graph::names::kAlsoCpu); // The GPU's memory is to do.
  PhaseOptions quiet = options;
  quiet.memoryBudget.reset();
  quiet.remarks = false;
  quiet.before = {};
  CompileReport ignored;
  if (failed(runPhases(*copy, Phase::Optimised, Phase::Plan, quiet, ignored)))
    return failure();
  Memory memory;
  bool onCuda = module->hasAttr(graph::names::kCuda);
  for (auto function : copy->getOps<plan::FunctionOp>())
    memory.arenas[function.getName()] =
        onCuda ? function.getDeviceArena() : function.getArena();
  for (auto variable : copy->getOps<plan::VariableOp>())
    if (variable.getOnDevice() == onCuda)
      memory.variables += llvm::alignTo(
          graph::tensorSize(variable.getStoredType()), TINH_BUFFER_ALIGNMENT);
  return memory;
}

//===----------------------------------------------------------------------===//
// The search
//===----------------------------------------------------------------------===//

namespace {

/// Makes one function fit into an arena.
class ArenaFitter {
public:
  /// `arena` is what the function takes without this.
  ArenaFitter(func::FuncOp function, uint64_t arena, uint64_t target,
              const PhaseOptions &options)
      : function(function), target(target), options(options), least(arena) {}

  /// Changes the function if it can be made to fit.
  LogicalResult run();

  struct Fit {
    OwningOpRef<ModuleOp> module;
    transforms::Rematerialisation result;
    Memory memory;
  };
  /// What fits, with the least arithmetic; nothing if nothing does.
  std::optional<Fit> best;
  /// The smallest arena that was planned, if nothing fits.
  uint64_t leastArena() const { return least; }

private:
  /// What came of a limit: bytes that are live, as estimated, and the arena.
  struct Attempt {
    uint64_t peak, arena;
  };
  FailureOr<Attempt> attempt(uint64_t limit);
  LogicalResult findLimit();
  LogicalResult findLeast();

  /// What is closer than this is not worth being tried.
  static constexpr double kSlack = 0.02;
  func::FuncOp function;
  uint64_t target;
  const PhaseOptions &options;
  uint64_t least;
};

} // namespace

/// The whole module is planned, since functions share the variables' layouts.
FailureOr<ArenaFitter::Attempt> ArenaFitter::attempt(uint64_t limit) {
  OwningOpRef<ModuleOp> module = function->getParentOfType<ModuleOp>().clone();
  auto copy = module->lookupSymbol<func::FuncOp>(function.getName());
  auto result = transforms::rematerialise(copy, limit, options.fuse);
  auto memory = planCopy(*module, options);
  if (failed(memory))
    return failure();
  uint64_t arena = memory->arenas.lookup(function.getName());
  if (arena <= target && (!best || result.arithmetic < best->result.arithmetic))
    best = Fit{std::move(module), result, std::move(*memory)};
  return Attempt{result.peak, arena};
}

/// Looks for the highest limit with which the plan fits.
LogicalResult ArenaFitter::findLimit() {
  constexpr int kMostAttempts = 6;
  double fits = 0, misses = INFINITY;
  auto wanted = static_cast<double>(target), limit = wanted;
  for (int i = 0; i < kMostAttempts; ++i) {
    auto tried = attempt(static_cast<uint64_t>(limit));
    if (failed(tried))
      return failure();
    auto arena = static_cast<double>(tried->arena);
    (arena <= wanted ? fits : misses) = limit;
    bool isClose = arena <= wanted && arena > wanted * (1 - kSlack);
    bool isHopeless = !best && static_cast<double>(tried->peak) > limit;
    if (isClose || isHopeless || misses - fits < fits * kSlack)
      break;
    // By as much as the plan is off, but not by too little.
    limit *= best ? wanted / std::max(arena, 1.0)
                  : std::min(wanted / arena, 1 - kSlack);
    if (best && (limit <= fits || limit >= misses))
      limit = (fits + std::min(misses, 2 * fits)) / 2;
  }
  return success();
}

/// Goes down to the lowest limit that can be kept, on a way that does not
/// depend on the target: what it says is the least can be had.
LogicalResult ArenaFitter::findLeast() {
  double unreachable = 0, reachable = static_cast<double>(least);
  least = UINT64_MAX;
  while (!best && reachable - unreachable > reachable * kSlack) {
    double limit = (unreachable + reachable) / 2;
    auto tried = attempt(static_cast<uint64_t>(limit));
    if (failed(tried))
      return failure();
    least = std::min(least, tried->arena);
    (static_cast<double>(tried->peak) <= limit ? reachable : unreachable) =
        limit;
  }
  return success();
}

LogicalResult ArenaFitter::run() {
  if (failed(findLimit()) || (!best && failed(findLeast())))
    return failure();
  if (best)
    function.getBody().takeBody(
        best->module->lookupSymbol<func::FuncOp>(function.getName()).getBody());
  return success();
}

//===----------------------------------------------------------------------===//
// All functions
//===----------------------------------------------------------------------===//

static LogicalResult refuse(func::FuncOp function, uint64_t budget,
                            uint64_t arena, uint64_t variables) {
  std::string text = llvm::formatv(
      "@{0} does not fit into the memory budget of {1:N} bytes: the least that "
      "was reached is {2:N}, {3:N} for its arena and {4:N} for the variables; "
      "allow that much, or make batches smaller",
      function.getName(), budget, arena + variables, arena, variables);
  return emitError(UnknownLoc::get(function.getContext()), text);
}

static void describe(const RecomputationReport &done, uint64_t variables,
                     MLIRContext *context) {
  std::string text = llvm::formatv(
      "@{0} takes {1:N} bytes for its arena and the variables, not {2:N}: {3} "
      "kernels are computed again, {4:F1} % more arithmetic",
      done.function, done.arenaSize + variables,
      done.unlimitedArenaSize + variables, done.kernels,
      100 * done.extraArithmetic);
  emitRemark(UnknownLoc::get(context), text);
}

/// What moves elements alone is no arithmetic.
static double extraArithmetic(const transforms::Rematerialisation &result) {
  return result.arithmeticBefore == 0
             ? 0
             : static_cast<double>(result.arithmetic) /
                       static_cast<double>(result.arithmeticBefore) -
                   1;
}

/// Makes one function after the other fit, and reports all but the arenas.
/// `memory` is that of the module, and stays so.
static LogicalResult fitFunctions(ModuleOp module, uint64_t budget,
                                  Memory &memory, const PhaseOptions &options,
                                  CompileReport &report) {
  for (auto function : module.getOps<func::FuncOp>()) {
    if (!graph::isEntry(function) || memory.takenBy(function) <= budget)
      continue;
    uint64_t target = budget - std::min(budget, memory.variables);
    ArenaFitter fitter(function, memory.arenas.lookup(function.getName()),
                       target, options);
    if (failed(fitter.run()))
      return failure();
    if (!fitter.best)
      return refuse(function, budget, fitter.leastArena(), memory.variables);
    memory = std::move(fitter.best->memory);
    const transforms::Rematerialisation &result = fitter.best->result;
    report.recomputations.push_back({function.getName().str(),
                                     static_cast<size_t>(result.repeated),
                                     extraArithmetic(result)});
  }
  return success();
}

/// The most that a function of `module` takes.
static uint64_t largest(ModuleOp module, const Memory &memory) {
  uint64_t most = 0;
  for (auto function : module.getOps<func::FuncOp>())
    if (graph::isEntry(function))
      most = std::max(most, memory.takenBy(function));
  return most;
}

LogicalResult fitMemoryBudget(ModuleOp module, const PhaseOptions &options,
                              CompileReport &report) {
  auto memory = planCopy(module, options);
  if (failed(memory))
    return failure();
  const Memory unlimited = *memory;
  uint64_t peak = largest(module, unlimited);
  uint64_t budget = options.memoryBudget->bytes;
  if (options.memoryBudget->share > 0)
    budget = static_cast<uint64_t>(options.memoryBudget->share *
                                   static_cast<double>(peak));
  if (failed(fitFunctions(module, budget, *memory, options, report)))
    return failure();
  // A function that was changed may have changed the layouts of variables, and
  // so what others take that were made to fit before it.
  for (auto function : module.getOps<func::FuncOp>())
    if (graph::isEntry(function) && memory->takenBy(function) > budget)
      return refuse(function, budget, memory->arenas.lookup(function.getName()),
                    memory->variables);
  for (RecomputationReport &done : report.recomputations) {
    done.arenaSize = memory->arenas.lookup(done.function);
    done.unlimitedArenaSize = unlimited.arenas.lookup(done.function);
    describe(done, memory->variables, module.getContext());
  }
  if (report.recomputations.empty())
    emitRemark(UnknownLoc::get(module.getContext()),
               llvm::formatv("{0:N} bytes for an arena and the variables are "
                             "within the memory budget",
                             peak)
                   .str());
  return success();
}

} // namespace tinh
