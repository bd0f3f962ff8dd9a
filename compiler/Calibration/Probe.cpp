//===- Probe.cpp - Runs of a model with other results -----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Calibration/Probe.h"

#include "compiler/Support/Files.h"
#include "tinh/runtime.hpp"

using namespace mlir;

namespace tinh::calibration {

static func::FuncOp mainOf(ModuleOp module) {
  return module.lookupSymbol<func::FuncOp>(graph::names::kMain);
}

func::FuncOp Model::main() const { return mainOf(module); }

Probe::Probe(const Model &model)
    : b(model.location(), model.location().getContext()), model(model),
      module(cast<ModuleOp>(ModuleOp(model.module)->clone(copy))) {
  b.setInsertionPoint(mainOf(*module).getBody().front().getTerminator());
}

void Probe::give(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  results.push_back(
      type.getElementType().isF32()
          ? value
          : Value(graph::CastOp::create(b, type.clone(b.getF32Type()), value)));
}

void Probe::setResults() {
  func::FuncOp main = mainOf(*module);
  main.getBody().front().getTerminator()->setOperands(results);
  SmallVector<DictionaryAttr> names;
  for (size_t i = 0; i < results.size(); ++i)
    names.push_back(b.getDictionaryAttr(b.getNamedAttr(
        graph::names::kName, b.getStringAttr("result " + Twine(i)))));
  main.setType(FunctionType::get(b.getContext(), main.getArgumentTypes(),
                                 ValueRange(results).getTypes()));
  main.setAllResultAttrs(names);
}

LogicalResult Probe::run(llvm::function_ref<void(const Results &)> visit) {
  setResults();
  return runOnSamples(*module, Phase::Normalised, model.samples, model.options,
                      visit);
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

static LogicalResult compile(ModuleOp module, Phase from,
                             CompileOptions options, StringRef path) {
  CompileReport report;
  options.weights = CompileOptions::Weights::Embedded;
  return success(
      succeeded(runPhases(module, from, Phase::Plan, options.phases, report)) &&
      succeeded(writeArtifact(module, path, options, report)));
}

LogicalResult runOnSamples(ModuleOp module, Phase from, const Samples &samples,
                           const CompileOptions &options,
                           llvm::function_ref<void(const Results &)> visit) {
  Results values;
  std::vector<tinh_buffer_t> outputs;
  for (Type type : mainOf(module).getResultTypes())
    values.emplace_back(cast<RankedTensorType>(type).getNumElements());
  for (std::vector<float> &value : values)
    outputs.push_back(buffer(value));
  ScratchFile file("tinh-calibrate");
  if (failed(compile(module, from, options, file.name)))
    return failure();
  try {
    Module loaded(file.name);
    Context context(loaded);
    for (auto [i, inputs] : llvm::enumerate(samples)) {
      if (options.progress)
        options.progress("running sample", i + 1, samples.size());
      context.run(inputs, outputs);
      visit(values);
    }
  } catch (const Error &error) {
    return emitError(UnknownLoc::get(module.getContext())) << error.what();
  }
  return success();
}

} // namespace tinh::calibration
