//===- Prepare.cpp - All that quantising layers takes -----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Quantization/Prepare.h"

#include "compiler/Graph/GraphBuilder.h"
#include "compiler/Quantization/Equalize.h"
#include "compiler/Quantization/Errors.h"

#include <cmath>

using namespace mlir;

namespace tinh::quantization {

static func::FuncOp mainFunction(ModuleOp module) {
  return module.lookupSymbol<func::FuncOp>(graph::names::kMain);
}

static LogicalResult planWeights(Prepared &prepared, MappedFiles &files) {
  for (const Layer &layer : prepared.layers) {
    auto weights = evaluate(layer.weights->get(), files);
    if (failed(weights))
      return failure();
    if (!llvm::all_of(*weights, [](float x) { return std::isfinite(x); }))
      return layer.op->emitError("has weights that are not finite");
    prepared.plans.push_back({quantizeWeights(layer, *weights), {}});
  }
  return success();
}

FailureOr<Prepared> prepare(OwningOpRef<ModuleOp> module, const Model &model,
                            Method method, MappedFiles &files) {
  Prepared prepared;
  prepared.module = std::move(module);
  prepared.layers = findLayers(mainFunction(*prepared.module));
  if (failed(planWeights(prepared, files)))
    return failure();
  Model of{*prepared.module, model.samples, model.options};
  std::vector<const Layer *> all;
  for (const Layer &layer : prepared.layers)
    all.push_back(&layer);
  auto ranges = observeRanges(of, activationsOf(all).getArrayRef(), method);
  if (failed(ranges))
    return failure();
  prepared.ranges = std::move(*ranges);
  auto errors =
      measureErrors(of, prepared.layers, prepared.plans, prepared.ranges);
  if (failed(errors))
    return failure();
  for (auto [plan, error] : llvm::zip_equal(prepared.plans, *errors)) {
    plan.correction = std::move(error.correction);
    prepared.sqnr.push_back(error.sqnr);
  }
  return std::move(prepared);
}

//===----------------------------------------------------------------------===//
// Equalisation
//===----------------------------------------------------------------------===//

/// What the readers of a group lose, as the mean of their decibels.
static double meanSqnr(const Prepared &prepared, const ChannelGroup &group) {
  double sum = 0;
  for (size_t reader : group.readers)
    sum += prepared.sqnr[reader];
  return sum / static_cast<double>(group.readers.size());
}

/// A copy of the module with the channels of these groups scaled.
static OwningOpRef<ModuleOp> scaledCopy(const Prepared &plain,
                                        ArrayRef<ChannelGroup> groups,
                                        ArrayRef<std::vector<float>> factors,
                                        MappedFiles &files) {
  IRMapping copy;
  OwningOpRef<ModuleOp> module(
      cast<ModuleOp>(ModuleOp(*plain.module)->clone(copy)));
  std::vector<Layer> layers;
  for (const Layer &layer : plain.layers)
    layers.push_back(copied(layer, copy));
  for (auto [original, of] : llvm::zip_equal(groups, factors)) {
    ChannelGroup group = original;
    group.value = copy.lookup(original.value);
    if (failed(scaleChannels(layers, group, of, files)))
      return {};
  }
  return module;
}

FailureOr<Prepared> prepareAlike(Prepared plain, const Model &model,
                                 Method method, MappedFiles &files,
                                 size_t &count) {
  auto groups = findGroups(plain.layers);
  if (groups.empty())
    return std::move(plain);
  auto factors = chooseFactors({*plain.module, model.samples, model.options},
                               plain.layers, groups, files);
  if (failed(factors))
    return failure();
  auto scaled = [&]() -> FailureOr<Prepared> {
    auto module = scaledCopy(plain, groups, *factors, files);
    if (!module)
      return failure();
    return prepare(std::move(module), model, method, files);
  };
  auto all = scaled();
  if (failed(all))
    return failure();
  size_t found = groups.size();
  for (size_t i = groups.size(); i-- > 0;)
    if (meanSqnr(*all, groups[i]) <= meanSqnr(plain, groups[i])) {
      groups.erase(groups.begin() + static_cast<ptrdiff_t>(i));
      factors->erase(factors->begin() + static_cast<ptrdiff_t>(i));
    }
  count += groups.size();
  if (groups.empty())
    return std::move(plain);
  return groups.size() == found ? std::move(all) : scaled();
}

//===----------------------------------------------------------------------===//
// Models
//===----------------------------------------------------------------------===//

OwningOpRef<ModuleOp> quantized(const Prepared &prepared,
                                ArrayRef<size_t> chosen, bool floatWeights,
                                MappedFiles &files) {
  std::vector<const Layer *> layers;
  std::vector<const LayerPlan *> plans;
  for (size_t i : chosen) {
    layers.push_back(&prepared.layers[i]);
    plans.push_back(&prepared.plans[i]);
  }
  IRMapping copy;
  OwningOpRef<ModuleOp> module(
      cast<ModuleOp>(ModuleOp(*prepared.module)->clone(copy)));
  if (failed(insertQuantization(layers, plans, prepared.ranges, copy,
                                floatWeights, files)))
    return {};
  // Nothing reads the weights any more that others were made of.
  eraseDeadOps(mainFunction(*module).getBody().front());
  return module;
}

} // namespace tinh::quantization
