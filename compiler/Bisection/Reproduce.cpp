//===- Reproduce.cpp - A small model that is computed wrong -----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Bisection/Reproduce.h"

#include "compiler/Export/GraphNames.h"

using namespace mlir;

namespace tinh::bisection {

namespace {

/// The options for a model that is compiled from phase graph on: what was made
/// of a step of training is a model like others.
CompileOptions optionsFor(const CompileOptions &options, Phase phase) {
  CompileOptions changed = options;
  changed.phases.training = std::nullopt;
  if (phase >= Phase::Differentiated)
    changed.phases.precision = {};
  return changed;
}

/// Whether candidates are computed wrong: by a tenth of what was found at
/// least, so that another, smaller difference is not taken for it.
class WrongResult {
public:
  WrongResult(const Culprit &culprit, const CompileOptions &compile,
              uint32_t threads)
      : eagerly(culprit.isEager), tolerance(culprit.alone.tolerance),
        threshold(culprit.alone.error() / 10), compile(compile),
        threads(threads), files(compile.phases.modelDirectory) {}

  /// A candidate that cannot be compiled is none.
  bool isIn(ModuleOp candidate, const Data &data) {
    ScopedDiagnosticHandler silent(candidate.getContext(),
                                   [](Diagnostic &) { return success(); });
    auto main = candidate.lookupSymbol<func::FuncOp>(graph::names::kMain);
    auto expected = evaluate(main, data, files);
    OwningOpRef<ModuleOp> copy = candidate.clone();
    CompileOptions fitting = optionsOfPart(candidate, compile);
    RunOptions run{fitting, threads};
    FailureOr<Run> found =
        failed(expected) ? FailureOr<Run>(failure())
        : eagerly
            ? runEager(*copy, Phase::Graph, data, run)
            : runCompiled(*copy, Phase::Graph, graph::names::kMain, data, run);
    return succeeded(found) &&
           llvm::any_of(llvm::zip_equal(found->results, *expected),
                        [&](const auto &pair) {
                          const auto &[x, y] = pair;
                          return isWrong(reference::largestDifference(x, y));
                        });
  }

private:
  bool isWrong(const reference::Difference &difference) const {
    double error = tolerance.errorOf(difference);
    return error > tolerance.limit && error >= threshold;
  }

  bool eagerly;
  Tolerance tolerance;
  double threshold;
  const CompileOptions &compile;
  uint32_t threads;
  MappedFiles files;
};

/// The values that a model may begin with, by the names that its reduction
/// gives them.
LogicalResult addValues(func::FuncOp main, ArrayRef<Operation *> originals,
                        const llvm::DenseMap<Value, Stored> &values,
                        Data &data) {
  GraphNames names;
  if (failed(names.assign(main)))
    return failure();
  for (auto [node, original] : llvm::zip_equal(nodesOf(main), originals))
    for (auto [result, value] :
         llvm::zip_equal(node->getResults(), original->getResults()))
      data[names.tensor(result)] = values.find(value)->second;
  return success();
}

/// The inputs of a model: its own, and if these do not show it, those that it
/// was found with.
void chooseInputs(WrongResult &test, const BisectOptions &options,
                  const Data &data, Reproducer &result) {
  // That there are none for a value that became an input is no error.
  ScopedDiagnosticHandler silent(result.module->getContext(),
                                 [](Diagnostic &) { return success(); });
  auto main = result.module->lookupSymbol<func::FuncOp>(graph::names::kMain);
  Data own;
  for (auto [i, stored] : llvm::enumerate(argumentsOf(main, data))) {
    std::string name = inputName(main, i);
    auto bytes = options.makeInput(name, stored.type);
    if (succeeded(bytes))
      own[name] = {stored.type, std::move(*bytes)};
    result.inputs[name] = std::move(stored);
  }
  result.needsInputs =
      own.size() != result.inputs.size() || !test.isIn(*result.module, own);
}

} // namespace

LogicalResult reproduceAt(func::FuncOp function, Value value, Phase phase,
                          const Data &data,
                          const llvm::DenseMap<Value, Stored> &values,
                          const BisectOptions &options, BisectReport &report) {
  OwningOpRef<ModuleOp> model = endAt(function, value);
  auto main = *model->getOps<func::FuncOp>().begin();
  flatten(main);
  Data known = data;
  if (failed(addValues(main, nodesBehind(function, value), values, known)))
    return failure();
  CompileOptions compile = optionsFor(options.compile, phase);
  WrongResult test(*report.culprit, compile, options.threads);
  Reproducer &result = report.reproducer;
  if (!test.isIn(*model, known))
    return success();
  reduction::ReduceOptions reduce{compile.phases.modelDirectory, {}};
  if (options.progress)
    reduce.progress = [&](const reduction::ReduceReport &so) {
      options.progress("a smaller model: " + std::to_string(so.ops) + " ops");
    };
  result.module = reduction::reduce(
      *model,
      [&](ModuleOp candidate) -> FailureOr<bool> {
        return test.isIn(candidate, known);
      },
      reduce, result.report);
  if (!result.module)
    return failure();
  chooseInputs(test, options, known, result);
  return success();
}

} // namespace tinh::bisection
