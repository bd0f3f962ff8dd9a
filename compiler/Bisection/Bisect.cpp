//===- Bisect.cpp - Which node is computed wrong ----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Bisection/Bisection.h"
#include "compiler/Bisection/Reproduce.h"
#include "compiler/Pipelines/InternalErrors.h"
#include "compiler/Transforms/Passes.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace tinh::bisection {

namespace {

/// What a function that ends after some nodes gives: all that the nodes behind
/// them, or the model's user, read.
struct Cut {
  SmallVector<Value> values;
  std::vector<ValueReport> reports; ///< Of each value.
  std::vector<Kernel> kernels;

  const ValueReport *find(Value value) const {
    auto at = llvm::find(values, value);
    return at == values.end() ? nullptr : &reports[at - values.begin()];
  }
  bool mismatches() const {
    return llvm::any_of(reports,
                        [](auto &value) { return value.mismatches(); });
  }
};

class Bisector {
public:
  Bisector(const Subject &subject, const BisectOptions &options,
           BisectReport &report)
      : subject(subject), options(options), report(report),
        function(ModuleOp(subject.module)
                     .lookupSymbol<func::FuncOp>(subject.function)),
        nodes(nodesOf(function)),
        tolerances(function, options.compile.phases.precision.type),
        files(options.compile.phases.modelDirectory) {}

  LogicalResult run();

private:
  LogicalResult findInputs();
  LogicalResult evaluateReference();
  LogicalResult runWhole();
  LogicalResult runWholeEager();
  FailureOr<Run> runOne(OwningOpRef<ModuleOp> module, bool eagerly);
  std::vector<ValueReport> compareResults(const Run &run);
  ValueReport compare(Value value, const reference::Tensor &found) const;
  Tolerance toleranceOf(Value value) const {
    return options.tolerance ? Tolerance{*options.tolerance}
                             : tolerances.of(value);
  }

  SmallVector<Value> liveAfter(size_t count);
  FailureOr<Cut> cutAt(ArrayRef<Value> values, bool eagerly);
  LogicalResult search();
  LogicalResult describe(size_t count, const Cut &before, const Cut &after);
  std::vector<std::string> kernelsOf(Value value, const Cut &cut) const;
  LogicalResult reproduce(Value value);
  void say(const Twine &what) const {
    if (options.progress)
      options.progress(what.str());
  }

  const Subject &subject;
  const BisectOptions &options;
  BisectReport &report;
  func::FuncOp function;
  SmallVector<Operation *> nodes;
  Tolerances tolerances;
  MappedFiles files;
  Data data;
  /// What the reference gives: for all nodes, and the function's results.
  llvm::DenseMap<Value, Stored> values;
  std::vector<reference::Tensor> expected;
  bool eagerly = false; ///< What mismatches is the eager mode.
};

//===----------------------------------------------------------------------===//
// All of the function
//===----------------------------------------------------------------------===//

LogicalResult Bisector::findInputs() {
  for (auto [i, type] : llvm::enumerate(function.getArgumentTypes())) {
    if (function.getArgAttr(i, graph::names::kVariable))
      continue;
    auto tensor = cast<RankedTensorType>(type);
    std::string name = inputName(function, i);
    auto bytes = options.makeInput(name, tensor);
    if (failed(bytes))
      return failure();
    data[name] = {tensor, std::move(*bytes)};
  }
  return addVariables(function, files, data);
}

LogicalResult Bisector::evaluateReference() {
  say("the reference interpreter");
  auto results = evaluate(function, data, files,
                          [&](Value value, const reference::Tensor &tensor) {
                            values[value] = {tensor.type, toBytes(tensor)};
                          });
  if (failed(results))
    return failure();
  expected = std::move(*results);
  return success();
}

std::vector<ValueReport> Bisector::compareResults(const Run &run) {
  std::vector<ValueReport> reports;
  Operation *end = function.front().getTerminator();
  for (auto [i, found] : llvm::enumerate(run.results)) {
    auto variable =
        function.getResultAttrOfType<StringAttr>(i, graph::names::kVariable);
    auto name =
        function.getResultAttrOfType<StringAttr>(i, graph::names::kName);
    reports.push_back({variable ? variable.str() : name.str(), "", found.type,
                       reference::largestDifference(found, expected[i]),
                       toleranceOf(end->getOperand(i)),
                       llvm::any_of(expected[i].floats,
                                    [](double x) { return std::isnan(x); })});
  }
  return reports;
}

/// As an artifact has it: with its other functions, and variables.
LogicalResult Bisector::runWhole() {
  say("all of it, compiled");
  OwningOpRef<ModuleOp> copy = ModuleOp(subject.module).clone();
  auto run = runCompiled(*copy, subject.phase, subject.function, data,
                         {options.compile, options.threads});
  if (failed(run))
    return failure();
  report.compiled.results = compareResults(*run);
  return success();
}

/// The eager mode does not take each model; that is said, and no failure,
/// unless it is a defect.
LogicalResult Bisector::runWholeEager() {
  say("all of it, op by op");
  bool internal = false;
  ScopedDiagnosticHandler note(
      function.getContext(), [&](Diagnostic &diagnostic) {
        std::string text = diagnostic.str();
        internal |= StringRef(text).starts_with(kInternalError);
        if (report.eager.failure.empty())
          report.eager.failure = std::move(text);
        return failure(internal); // Others report it then.
      });
  auto results =
      llvm::to_vector(function.front().getTerminator()->getOperands());
  auto run = runOne(endAt(function, results), /*eagerly=*/true);
  if (succeeded(run))
    report.eager.results = compareResults(*run);
  return failure(internal);
}

/// Runs the one function of a module.
FailureOr<Run> Bisector::runOne(OwningOpRef<ModuleOp> module, bool eagerly) {
  CompileOptions compile = optionsOfPart(*module, options.compile);
  RunOptions run{compile, options.threads};
  auto only = *module->getOps<func::FuncOp>().begin();
  if (!eagerly)
    return runCompiled(*module, subject.phase, only.getName().str(), data, run);
  flatten(only);
  return runEager(*module, subject.phase, data, run);
}

//===----------------------------------------------------------------------===//
// Parts of it
//===----------------------------------------------------------------------===//

/// What the first nodes compute and others read.
SmallVector<Value> Bisector::liveAfter(size_t count) {
  Block &body = function.front();
  llvm::DenseSet<Operation *> done(nodes.begin(), nodes.begin() + count);
  SmallVector<Value> live;
  for (Operation *node : ArrayRef(nodes).take_front(count))
    for (Value result : node->getResults())
      if (llvm::any_of(result.getUsers(), [&](Operation *user) {
            return !done.contains(body.findAncestorOpInBlock(*user));
          }))
        live.push_back(result);
  return live;
}

ValueReport Bisector::compare(Value value,
                              const reference::Tensor &found) const {
  Operation *op = value.getDefiningOp();
  return {
      nodeText(value),
      op->getName().stripDialect().str(),
      found.type,
      reference::largestDifference(found, values.find(value)->second.tensor()),
      toleranceOf(value),
      /*hasNaNs=*/false};
}

FailureOr<Cut> Bisector::cutAt(ArrayRef<Value> values, bool eagerly) {
  Cut cut;
  cut.values.assign(values.begin(), values.end());
  if (values.empty())
    return cut;
  ++report.runs;
  auto run = runOne(endAt(function, values), eagerly);
  if (failed(run))
    return failure();
  for (auto [value, found] : llvm::zip_equal(values, run->results))
    cut.reports.push_back(compare(value, found));
  cut.kernels = std::move(run->kernels);
  return cut;
}

/// After how many nodes a value diverges for the first time: what has done so
/// stays so among the values that are read later.
LogicalResult Bisector::search() {
  Cut before;
  FailureOr<Cut> after = cutAt(liveAfter(nodes.size()), eagerly);
  size_t low = 0, high = nodes.size();
  if (failed(after))
    return failure();
  if (!after->mismatches())
    return success();
  while (low + 1 < high) {
    size_t count = (low + high) / 2;
    say(llvm::formatv("nodes {0} to {1} of {2}", low + 1, high, nodes.size())
            .str());
    FailureOr<Cut> cut = cutAt(liveAfter(count), eagerly);
    if (failed(cut))
      return failure();
    bool mismatch = cut->mismatches();
    (mismatch ? high : low) = count;
    (mismatch ? *after : before) = std::move(*cut);
  }
  return describe(high, before, *after);
}

//===----------------------------------------------------------------------===//
// The node
//===----------------------------------------------------------------------===//

std::vector<std::string> Bisector::kernelsOf(Value value,
                                             const Cut &cut) const {
  std::vector<std::string> names;
  for (const Kernel &kernel : cut.kernels)
    if (llvm::is_contained(kernel.nodes, nodeText(value)) &&
        !llvm::is_contained(names, kernel.name))
      names.push_back(kernel.name);
  return names;
}

/// The node is the last one of those after which a value diverges; or another
/// one, whose value diverges only where the last one's is computed, too.
LogicalResult Bisector::describe(size_t count, const Cut &before,
                                 const Cut &after) {
  auto mismatching = llvm::make_filter_range(after.values, [&](Value value) {
    return after.find(value)->mismatches();
  });
  Value value = *mismatching.begin();
  for (Value other : mismatching)
    if (other.getDefiningOp() == nodes[count - 1])
      value = other;
  auto alone = cutAt(value, eagerly);
  if (failed(alone))
    return failure();
  Culprit &culprit = report.culprit.emplace();
  culprit.isEager = eagerly;
  culprit.position =
      llvm::find(nodes, value.getDefiningOp()) - nodes.begin() + 1;
  culprit.value = *after.find(value);
  culprit.alone = alone->reports.front();
  culprit.kernels =
      kernelsOf(value, culprit.alone.mismatches() ? *alone : after);
  if (report.eager.failure.empty()) {
    auto other = cutAt(value, !eagerly);
    if (failed(other))
      return failure();
    culprit.other = other->reports.front();
  }
  for (Value read : graph::readValues(value.getDefiningOp()))
    for (const Cut *cut : {&before, &after})
      if (const ValueReport *found = cut->find(read)) {
        culprit.feeding.push_back(*found);
        break;
      }
  return culprit.alone.mismatches() ? reproduce(value) : success();
}

LogicalResult Bisector::reproduce(Value value) {
  say("a smaller model");
  return reproduceAt(function, value, subject.phase, data, values, options,
                     report);
}

LogicalResult Bisector::run() {
  report.nodes = nodes.size();
  if (failed(findInputs()) || failed(evaluateReference()) ||
      failed(runWhole()) || failed(runWholeEager()))
    return failure();
  eagerly = !report.compiled.mismatches();
  if (!report.compiled.mismatches() && !report.eager.mismatches())
    return success();
  return search();
}

} // namespace

LogicalResult bisect(const Subject &subject, const BisectOptions &options,
                     BisectReport &report) {
  if (subject.phase >= Phase::Differentiated) // Files cannot say it.
    for (auto function : ModuleOp(subject.module).getOps<func::FuncOp>())
      transforms::forgetGradients(function);
  return Bisector(subject, options, report).run();
}

} // namespace tinh::bisection
