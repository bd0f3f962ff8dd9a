//===- Quantize.cpp - A model in f32 becomes one in int8 --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Quantization/Errors.h"
#include "compiler/Quantization/Prepare.h"

#include "llvm/Support/GlobPattern.h"

using namespace mlir;

namespace tinh::quantization {

namespace {

class Quantizer {
public:
  Quantizer(const Model &model, const QuantizeOptions &options,
            QuantizeReport &report)
      : model(model), options(options), report(report),
        files(model.options.phases.modelDirectory) {}

  OwningOpRef<ModuleOp> run();

private:
  LogicalResult check();
  LogicalResult findLayers();
  LogicalResult keepNamed(ArrayRef<Layer> layers, StringRef text);
  LogicalResult prepareLayers();
  /// The model with the layers quantised that are not kept, compared with it.
  FailureOr<Agreement> tryBuild(OwningOpRef<ModuleOp> &built);
  bool isGoodEnough(const Agreement &agreement) const;
  OwningOpRef<ModuleOp> buildGoodEnough();
  /// Keeps the `count` layers that lose most.
  void keepWorst(size_t count);
  std::vector<size_t> worstFirst() const;

  const Model &model;
  const QuantizeOptions &options;
  QuantizeReport &report;
  MappedFiles files;
  Prepared prepared;
  std::optional<Outputs> expected;
};

constexpr llvm::StringLiteral kLosesMost = "loses most";

LogicalResult Quantizer::check() {
  WalkResult found = model.main().walk([&](Operation *op) {
    if (!isa<graph::QuantizeOp, graph::DequantizeOp>(op))
      return WalkResult::advance();
    op->emitError("the model is quantised already: give the one in f32 that it "
                  "was made of");
    return WalkResult::interrupt();
  });
  if (found.wasInterrupted())
    return failure();
  if (model.samples.empty())
    return emitError(model.location(), "there are no samples to quantise for");
  return success();
}

LogicalResult Quantizer::findLayers() {
  std::vector<Layer> layers = quantization::findLayers(model.main());
  if (layers.empty())
    return emitError(model.location(),
                     "there is nothing to quantise: no matmul or convolution "
                     "of f32 has constant weights");
  for (auto [i, layer] : llvm::enumerate(layers)) {
    StringRef op = layer.op->getName().stripDialect();
    std::string name =
        layer.name.empty() ? (op + " " + Twine(i)).str() : layer.name;
    report.layers.push_back({name, op.str(), 0, ""});
  }
  for (const std::string &pattern : options.keep)
    if (failed(keepNamed(layers, pattern)))
      return failure();
  if (llvm::all_of(report.layers,
                   [](const LayerReport &line) { return !line.kept.empty(); }))
    return emitError(model.location())
           << "all layers that can be quantised fit '"
           << llvm::join(options.keep, "' or '")
           << "' and are to be kept: nothing is left to quantise";
  return success();
}

/// Keeps the layers whose op, or a node of the model, has a name that fits.
LogicalResult Quantizer::keepNamed(ArrayRef<Layer> layers, StringRef text) {
  auto pattern = llvm::GlobPattern::create(text);
  if (!pattern)
    return emitError(model.location())
           << "'" << text << "' is no pattern of names: "
           << llvm::toString(pattern.takeError());
  bool fits = false;
  for (auto [layer, line] : llvm::zip_equal(layers, report.layers))
    for (const auto &name : graph::namesOf(layer.op))
      if (pattern->match(name.getKey())) {
        line.kept = "asked for";
        fits = true;
      }
  if (!fits)
    return emitError(model.location())
           << "no layer that can be quantised fits '" << text
           << "'; the first one is called '" << report.layers.front().name
           << "'";
  return success();
}

/// Finds what all layers take and lose.
LogicalResult Quantizer::prepareLayers() {
  OwningOpRef<ModuleOp> copy(cast<ModuleOp>(ModuleOp(model.module)->clone()));
  auto found = prepare(std::move(copy), model, options.method, files);
  // A model that is trained on keeps the weights that it was trained with:
  // with others, the learning rate would be another.
  if (succeeded(found) && !options.floatWeights)
    found = prepareAlike(std::move(*found), model, options.method, files,
                         report.equalized);
  if (failed(found))
    return failure();
  prepared = std::move(*found);
  for (auto [layer, sqnr] : llvm::zip_equal(report.layers, prepared.sqnr))
    layer.sqnr = sqnr;
  return success();
}

FailureOr<Agreement> Quantizer::tryBuild(OwningOpRef<ModuleOp> &built) {
  std::vector<size_t> chosen;
  for (size_t i = 0; i < report.layers.size(); ++i)
    if (report.layers[i].kept.empty())
      chosen.push_back(i);
  built = quantized(prepared, chosen, options.floatWeights, files);
  if (!built)
    return failure();
  auto found = Outputs::of({*built, model.samples, model.options});
  if (failed(found))
    return failure();
  return found->compare(*expected);
}

bool Quantizer::isGoodEnough(const Agreement &agreement) const {
  return (!options.minSqnr || agreement.sqnr >= *options.minSqnr) &&
         (!options.maxTop1Mismatch ||
          agreement.changed <= *options.maxTop1Mismatch);
}

std::vector<size_t> Quantizer::worstFirst() const {
  std::vector<size_t> order;
  for (size_t i = 0; i < report.layers.size(); ++i)
    if (report.layers[i].kept.empty() || report.layers[i].kept == kLosesMost)
      order.push_back(i);
  llvm::sort(order, [&](size_t a, size_t b) {
    return std::pair(report.layers[a].sqnr, a) <
           std::pair(report.layers[b].sqnr, b);
  });
  return order;
}

void Quantizer::keepWorst(size_t count) {
  for (auto [rank, layer] : llvm::enumerate(worstFirst()))
    report.layers[layer].kept = rank < count ? kLosesMost.str() : "";
}

/// As few layers are kept as are enough, by bisection: each try compiles the
/// model.
OwningOpRef<ModuleOp> Quantizer::buildGoodEnough() {
  OwningOpRef<ModuleOp> best, built;
  size_t low = 0, high = worstFirst().size();
  for (size_t count = 0; low < high; count = (low + high) / 2) {
    keepWorst(count);
    auto agreement = tryBuild(built);
    if (failed(agreement))
      return {};
    if (isGoodEnough(*agreement)) {
      best = std::move(built);
      report.agreement = *agreement;
      high = count;
    } else {
      low = count + 1;
    }
  }
  keepWorst(high);
  if (!best)
    emitError(model.location(),
              "no layer can be quantised within what is asked of the outputs");
  return best;
}

OwningOpRef<ModuleOp> Quantizer::run() {
  if (failed(check()) || failed(findLayers()))
    return {};
  auto outputs = Outputs::of(model);
  if (failed(outputs))
    return {};
  expected = std::move(*outputs);
  if (options.maxTop1Mismatch && !expected->haveDecisions()) {
    emitError(model.location(),
              "the first output has no rows to choose the largest element of, "
              "which --max-top1-mismatch is about");
    return {};
  }
  if (failed(prepareLayers()))
    return {};
  return buildGoodEnough();
}

} // namespace

OwningOpRef<ModuleOp> quantize(ModuleOp module, const Samples &samples,
                               const QuantizeOptions &options,
                               const CompileOptions &compile,
                               QuantizeReport &report) {
  Model model{module, samples, compile};
  return Quantizer(model, options, report).run();
}

} // namespace tinh::quantization
