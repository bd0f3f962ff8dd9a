//===- Prune.cpp - A model becomes a smaller one ----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Target.h"
#include "compiler/Pruning/Apply.h"
#include "compiler/Pruning/Costs.h"
#include "compiler/Pruning/Coupling.h"
#include "compiler/Pruning/Scores.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/GlobPattern.h"

#include <numeric>

using namespace mlir;

namespace tinh::pruning {

namespace {

/// Units of a group that are cut at once, so that what is left is a multiple.
struct Step {
  const Group *group;
  std::vector<size_t> units;
  double score; ///< Their mean, as a multiple of the group's.
};

class Pruner {
public:
  Pruner(func::FuncOp main, const PruneOptions &options,
         const CompileOptions &compile, PruneReport &report)
      : module(main->getParentOfType<ModuleOp>()), main(main), options(options),
        compile(compile), report(report), files(compile.phases.modelDirectory),
        slots(coupleSlots(main)), layers(findLayers(main)) {}

  OwningOpRef<ModuleOp> run();

private:
  LogicalResult checkFloats();
  LogicalResult findKept();
  LogicalResult findGroups();
  FailureOr<int64_t> multiple();
  FailureOr<Scores> scores();
  void addSteps(const Group &group, ArrayRef<double> scores, int64_t multiple);
  LogicalResult planSteps();
  /// What is gone after the steps that are `taken`.
  Cut cutAfter(const std::vector<bool> &taken) const;
  FailureOr<double> cyclesOf(const Cut &cut);
  FailureOr<ModelCosts> costsOf(const Cut &cut);
  FailureOr<bool> isSmallEnough(const Cut &cut);
  FailureOr<std::vector<bool>> findSteps();
  LogicalResult giveBack(std::vector<bool> &taken);
  LogicalResult reportOutOfReach(const Cut &all);
  void reportLayers(const Cut &cut);
  std::string whyKept(const Layer &layer) const;

  LogicalResult fail(const Twine &message) const {
    return emitError(UnknownLoc::get(module->getContext()), message);
  }

  ModuleOp module;
  func::FuncOp main;
  const PruneOptions &options;
  const CompileOptions &compile;
  PruneReport &report;
  MappedFiles files;
  Slots slots;
  std::vector<Layer> layers;
  llvm::DenseSet<Operation *> kept; ///< Layers that are asked for.
  std::vector<Group> groups;
  std::vector<Step> steps; ///< In the order in which they are cut.
};

//===----------------------------------------------------------------------===//
// What can be cut
//===----------------------------------------------------------------------===//

LogicalResult Pruner::checkFloats() {
  WalkResult found = main.walk([&](Operation *op) {
    if (!isa<graph::QuantizeOp, graph::DequantizeOp>(op))
      return WalkResult::advance();
    op->emitError("the model is quantised: prune the one in f32 that it was "
                  "made of, and quantise what is left");
    return WalkResult::interrupt();
  });
  return failure(found.wasInterrupted());
}

/// The layers that a pattern names.
LogicalResult Pruner::findKept() {
  for (const std::string &text : options.keep) {
    auto pattern = llvm::GlobPattern::create(text);
    if (!pattern)
      return fail("'" + text + "' is no pattern of names: " +
                  llvm::toString(pattern.takeError()));
    bool fits = false;
    for (const Layer &layer : layers)
      for (const auto &name : graph::namesOf(layer.op))
        if (pattern->match(name.getKey())) {
          kept.insert(layer.op);
          fits = true;
        }
    if (!fits)
      return fail("no matmul or convolution with constant weights fits '" +
                  text + "'" +
                  (layers.empty() ? Twine()
                                  : "; the first one is called '" +
                                        Twine(layers.front().name) + "'"));
  }
  return success();
}

LogicalResult Pruner::findGroups() {
  groups = pruning::findGroups(slots, layers, [&](const Layer &layer) {
    return kept.contains(layer.op);
  });
  if (!groups.empty())
    return success();
  std::string reasons;
  for (const Layer &layer : layers)
    if (reasons.empty())
      reasons = ": the outputs of '" + layer.name + "' stay, " + whyKept(layer);
  return fail("there is nothing to prune" +
              (layers.empty()
                   ? Twine(": no matmul or convolution has constant weights")
                   : Twine(reasons)));
}

std::string Pruner::whyKept(const Layer &layer) const {
  if (kept.contains(layer.op))
    return "asked for";
  const std::string *why = nullptr;
  size_t first = slots.firstSlot(slots.numberOf(layer.outputs));
  for (int64_t i = 0; i < layer.outputs.extent(); ++i) {
    why = slots.whyKept(first + i);
    if (!why)
      return "";
  }
  return why ? *why : "";
}

//===----------------------------------------------------------------------===//
// In which order
//===----------------------------------------------------------------------===//

FailureOr<int64_t> Pruner::multiple() {
  if (options.multiple)
    return *options.multiple;
  auto name = module->getAttrOfType<StringAttr>(graph::names::kCpu);
  auto target = cpu::lookupTarget(name ? name.getValue() : "native");
  if (!target)
    return fail(llvm::toString(target.takeError()));
  return target->lanes();
}

FailureOr<Scores> Pruner::scores() {
  return options.score == Score::Taylor
             ? taylorScores(main, slots, groups, options, compile)
             : magnitudes(main, slots, groups, files);
}

/// The units that are worth least go first. What is left of a width that is no
/// multiple goes at first; the last multiple stays.
void Pruner::addSteps(const Group &group, ArrayRef<double> scores,
                      int64_t multiple) {
  std::vector<size_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  llvm::stable_sort(order,
                    [&](size_t a, size_t b) { return scores[a] < scores[b]; });
  double sum = std::accumulate(scores.begin(), scores.end(), 0.0);
  double mean = sum > 0 ? sum / static_cast<double>(scores.size()) : 1;
  size_t size = multiple / std::gcd(multiple, group.width);
  size_t count = order.size() % size ? order.size() % size : size;
  for (size_t at = 0; at + count < order.size(); at += count, count = size) {
    Step step{&group, {}, 0};
    for (size_t unit : ArrayRef(order).slice(at, count)) {
      step.units.push_back(unit);
      step.score += scores[unit] / mean / static_cast<double>(count);
    }
    steps.push_back(std::move(step));
  }
}

LogicalResult Pruner::planSteps() {
  auto found = scores();
  auto width = multiple();
  if (failed(found) || failed(width))
    return failure();
  for (auto [group, values] : llvm::zip_equal(groups, *found))
    addSteps(group, values, *width);
  llvm::stable_sort(
      steps, [](const Step &a, const Step &b) { return a.score < b.score; });
  if (!steps.empty())
    return success();
  return fail("there is nothing to prune: no layer that can be cut is wider "
              "than " +
              Twine(*width) + ", the multiple that is left");
}

//===----------------------------------------------------------------------===//
// How far
//===----------------------------------------------------------------------===//

Cut Pruner::cutAfter(const std::vector<bool> &taken) const {
  Cut cut(slots);
  for (auto [step, isTaken] : llvm::zip_equal(steps, taken))
    if (isTaken)
      for (size_t unit : step.units)
        cut.add(step.group->units[unit]);
  return cut;
}

/// Compiles what is left as far as to know its plans.
FailureOr<double> Pruner::cyclesOf(const Cut &cut) {
  OwningOpRef<ModuleOp> candidate = withCut(module, cut, files);
  return candidate ? estimateCycles(*candidate, compile)
                   : FailureOr<double>(failure());
}

FailureOr<ModelCosts> Pruner::costsOf(const Cut &cut) {
  auto cycles = cyclesOf(cut);
  if (failed(cycles))
    return failure();
  return ModelCosts{multiplications(main, cut), weightBytes(main, cut),
                    *cycles};
}

FailureOr<bool> Pruner::isSmallEnough(const Cut &cut) {
  auto fits = [](std::optional<double> share, double after, double before) {
    return !share || after <= *share * before;
  };
  const ModelCosts &before = report.before;
  if (!fits(options.maxMacs, multiplications(main, cut), before.macs) ||
      !fits(options.maxBytes, weightBytes(main, cut), before.bytes))
    return false;
  if (!options.maxTime)
    return true;
  auto cycles = cyclesOf(cut);
  if (failed(cycles))
    return failure();
  return fits(options.maxTime, *cycles, before.cycles);
}

LogicalResult Pruner::reportOutOfReach(const Cut &all) {
  auto least = costsOf(all);
  if (failed(least))
    return failure();
  const ModelCosts &before = report.before;
  return fail(llvm::formatv(
      "what is asked for is out of reach: without all that can be pruned, "
      "{0:P1} of the multiplications, {1:P1} of the estimated time and {2:P1} "
      "of the bytes are left",
      least->macs / before.macs, least->cycles / before.cycles,
      least->bytes / before.bytes));
}

/// Takes steps back, the last one first, that are not needed: the last one that
/// is may be a large one. Steps of a group stay in their order. Each try may
/// compile the model, so a few in vain are the end.
LogicalResult Pruner::giveBack(std::vector<bool> &taken) {
  constexpr size_t kTriesInVain = 8;
  llvm::DenseSet<const Group *> done;
  for (size_t i = taken.size(); i-- > 0 && done.size() < kTriesInVain;) {
    if (!taken[i] || done.contains(steps[i].group))
      continue;
    taken[i] = false;
    auto isEnough = isSmallEnough(cutAfter(taken));
    if (failed(isEnough))
      return failure();
    if (*isEnough)
      continue;
    taken[i] = true;
    done.insert(steps[i].group);
  }
  return success();
}

/// As few steps as are enough, by bisection.
FailureOr<std::vector<bool>> Pruner::findSteps() {
  auto firstSteps = [&](size_t count) {
    std::vector<bool> taken(steps.size(), false);
    std::fill_n(taken.begin(), count, true);
    return taken;
  };
  size_t low = 0, high = steps.size();
  for (size_t count = high; low < high; count = (low + high) / 2) {
    Cut cut = cutAfter(firstSteps(count));
    auto isEnough = isSmallEnough(cut);
    if (failed(isEnough))
      return failure();
    if (!*isEnough && count == steps.size())
      return reportOutOfReach(cut);
    (*isEnough ? high : low) = *isEnough ? count : count + 1;
  }
  std::vector<bool> taken = firstSteps(high);
  if (failed(giveBack(taken)))
    return failure();
  return taken;
}

void Pruner::reportLayers(const Cut &cut) {
  for (const Layer &layer : layers)
    report.layers.push_back(
        {layer.name, layer.op->getName().stripDialect().str(),
         layer.inputs.extent(), layer.outputs.extent(),
         cut.extent(layer.inputs), cut.extent(layer.outputs), whyKept(layer)});
}

OwningOpRef<ModuleOp> Pruner::run() {
  if (failed(checkFloats()) || failed(findKept()) || failed(findGroups()) ||
      failed(planSteps()))
    return {};
  auto before = costsOf(Cut(slots));
  if (failed(before))
    return {};
  report.before = *before;
  auto taken = findSteps();
  if (failed(taken))
    return {};
  Cut cut = cutAfter(*taken);
  auto after = costsOf(cut);
  if (failed(after))
    return {};
  report.after = *after;
  reportLayers(cut);
  return withCut(module, cut, files);
}

} // namespace

OwningOpRef<ModuleOp> prune(ModuleOp module, const PruneOptions &options,
                            const CompileOptions &compile,
                            PruneReport &report) {
  func::FuncOp main = findMain(module);
  if (!main)
    return {};
  return Pruner(main, options, compile, report).run();
}

} // namespace tinh::pruning
