//===- Variables.cpp - Weights become variables -----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Before anything else is done with a model, so that nothing is computed from
// the values that its weights have now. What is not trained stays a constant.
//
//===----------------------------------------------------------------------===//
#include "compiler/Training/Training.h"

#include "compiler/Gradients/Gradients.h"
#include "compiler/Support/TensorName.h"
#include "compiler/Transforms/Constants/Constants.h"
#include "dialects/graph/Graph.h"
#include "dialects/graph/Scales.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/GlobPattern.h"

#include <cstdio>

using namespace mlir;

namespace tinh::training {

namespace {

class VariableMaker {
public:
  VariableMaker(func::FuncOp main, const TrainingOptions &options,
                const llvm::StringSet<> &weights)
      : main(main), options(options), weights(weights) {}

  LogicalResult run();

private:
  LogicalResult parsePatterns();
  void findRead();
  bool isRead(graph::ConstantOp op);
  std::optional<bool> isTrainable(graph::ConstantOp op);
  SmallVector<graph::ConstantOp> constants();
  StringAttr nameFor(graph::ConstantOp op);
  void makeVariable(graph::ConstantOp op, bool trainable);
  LogicalResult checkScales();
  void warnOfIntegers();

  func::FuncOp main;
  const TrainingOptions &options;
  const llvm::StringSet<> &weights;
  std::vector<llvm::GlobPattern> patterns;
  llvm::StringSet<> taken;
  bool hasScales = false; ///< Among the variables that are trained.
  /// Ops of the function that the first output, which the loss is of, depends
  /// on.
  llvm::DenseSet<Operation *> read;
};

LogicalResult VariableMaker::parsePatterns() {
  for (const std::string &text : options.trainable) {
    auto pattern = llvm::GlobPattern::create(text);
    if (!pattern)
      return main.emitError() << "the pattern \"" << text
                              << "\" of trainable weights is malformed: "
                              << llvm::toString(pattern.takeError());
    patterns.push_back(std::move(*pattern));
  }
  return success();
}

void VariableMaker::findRead() {
  Operation *end = main.front().getTerminator();
  SmallVector<Value> pending;
  if (end->getNumOperands())
    pending.push_back(end->getOperand(0));
  while (!pending.empty())
    if (Operation *op = pending.pop_back_val().getDefiningOp();
        op && read.insert(op).second)
      llvm::append_range(pending, graph::readValues(op));
}

/// Whether the loss may depend on it.
bool VariableMaker::isRead(graph::ConstantOp op) {
  return read.contains(main.front().findAncestorOpInBlock(*op));
}

StringRef nameOf(graph::ConstantOp op) {
  auto name = dyn_cast<NameLoc>(op.getLoc());
  return name ? name.getName().getValue() : StringRef();
}

/// Whether `op` is the running mean or variance of a batch norm.
bool isStatistic(graph::ConstantOp op) {
  return llvm::any_of(op->getUses(), [](OpOperand &use) {
    auto norm = dyn_cast<graph::BatchNormOp>(use.getOwner());
    return norm && (&use == &norm.getMeanMutable() ||
                    &use == &norm.getVarianceMutable());
  });
}

/// Whether the variable that `op` becomes is trained; nothing if it stays.
std::optional<bool> VariableMaker::isTrainable(graph::ConstantOp op) {
  auto type = cast<RankedTensorType>(op.getType());
  StringRef name = nameOf(op);
  if (!gradients::isDifferentiable(type) || name.empty())
    return std::nullopt;
  if (isStatistic(op))
    return false;
  bool isOfQuantization = graph::isScale(op.getY());
  if (isOfQuantization && !options.learnScales)
    return std::nullopt;
  // Single numbers are more often parts of formulas than weights.
  bool isWeight = (weights.empty() || weights.contains(name)) &&
                  (type.getRank() > 0 || !patterns.empty() || isOfQuantization);
  auto fits = [&](const llvm::GlobPattern &pattern) {
    return pattern.match(name);
  };
  bool isWanted = patterns.empty() ? isRead(op) : llvm::any_of(patterns, fits);
  if (!isWeight || !isWanted)
    return std::nullopt;
  hasScales |= isOfQuantization;
  return true;
}

/// Those of the function and of its branches and loops, which read variables
/// from above.
SmallVector<graph::ConstantOp> VariableMaker::constants() {
  SmallVector<graph::ConstantOp> found;
  main.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto constant = dyn_cast<graph::ConstantOp>(op))
      found.push_back(constant);
    return op == main || op->getNumRegions() == 0 || graph::isControlFlow(op)
               ? WalkResult::advance()
               : WalkResult::skip();
  });
  return found;
}

StringAttr VariableMaker::nameFor(graph::ConstantOp op) {
  std::string name = nameOf(op).str();
  for (int64_t i = 1; !taken.insert(name).second; ++i)
    name = (nameOf(op) + "." + llvm::Twine(i)).str();
  return StringAttr::get(op.getContext(), name);
}

void VariableMaker::makeVariable(graph::ConstantOp op, bool trainable) {
  OpBuilder builder(main);
  StringAttr name = nameFor(op);
  graph::VariableOp::create(builder, op.getLoc(), name, op.getValue(),
                            trainable ? builder.getUnitAttr() : UnitAttr());
  unsigned index = main.getNumArguments();
  (void)main.insertArgument(index, op.getType(),
                            builder.getDictionaryAttr(builder.getNamedAttr(
                                graph::names::kVariable, name)),
                            op.getLoc());
  op.getResult().replaceAllUsesWith(main.getArgument(index));
  op.erase();
}

LogicalResult VariableMaker::checkScales() {
  if (!options.learnScales || hasScales)
    return success();
  return main.emitError(
      patterns.empty()
          ? "--learn-scales finds no scale that the first output depends on; "
            "`graph-quantize --weights=f32` makes a model that has some"
          : "--learn-scales finds no scale that fits --trainable");
}

/// Warns of weights that no one trains, unless what is trained was chosen.
void VariableMaker::warnOfIntegers() {
  if (!patterns.empty() || options.learnScales)
    return;
  main.walk([&](graph::DequantizeOp op) {
    if (!transforms::isConstantExpression(op.getX()) ||
        cast<RankedTensorType>(op.getX().getType()).getRank() < 2 ||
        !read.contains(main.front().findAncestorOpInBlock(*op)))
      return WalkResult::advance();
    op.emitWarning("weights that are integers are not trained; "
                   "`graph-quantize --weights=f32` leaves floats that are");
    return WalkResult::interrupt();
  });
}

LogicalResult VariableMaker::run() {
  if (failed(parsePatterns()))
    return failure();
  findRead();
  for (auto variable :
       main->getParentOfType<ModuleOp>().getOps<graph::VariableOp>())
    taken.insert(variable.getName());
  bool any = !taken.empty();
  for (graph::ConstantOp op : constants())
    if (std::optional<bool> trainable = isTrainable(op)) {
      if (failed(checkTensorName(op, nameOf(op))))
        return failure();
      any |= *trainable;
      makeVariable(op, *trainable);
    }
  if (failed(checkScales()))
    return failure();
  warnOfIntegers();
  if (any)
    return success();
  if (patterns.empty())
    return main.emitError("the model has no weights that could be trained: its "
                          "first output depends on no floating-point "
                          "constants with names");
  return main.emitError() << "no weight of the model fits \""
                          << llvm::join(options.trainable, "\" or \"")
                          << "\", which is to say what is trained";
}

} // namespace

LogicalResult declareVariables(ModuleOp module, const TrainingOptions &options,
                               const llvm::StringSet<> &weights) {
  auto main = module.lookupSymbol<func::FuncOp>(graph::names::kMain);
  if (!main)
    return module.emitError("only a model with a function @main can be "
                            "trained; this module has functions of its own");
  return VariableMaker(main, options, weights).run();
}

/// What the options leave open is what the model's file says.
static FailureOr<TrainingOptions>
complete(ModuleOp module, TrainingOptions options, const TrainingInfo &info) {
  if (options.loss.empty())
    options.loss = info.loss;
  if (options.optimizer.empty())
    options.optimizer = info.optimizer;
  if (options.trainable.empty())
    options.trainable = info.trainable;
  for (auto [what, text] : {std::pair("loss", &options.loss),
                            std::pair("optimizer", &options.optimizer)})
    if (text->empty())
      return module.emitError() << "the model's file names no " << what
                                << "; --" << what << "=NAME does";
  return options;
}

/// What `asked` leaves open is what the model's file says.
static transforms::Precision complete(transforms::Precision asked,
                                      const TrainingInfo &info) {
  if (asked.type.empty())
    asked.type = info.precision;
  if (asked.keepF32.empty())
    asked.keepF32 = info.keepF32;
  return asked;
}

/// The loss scale with which a model is trained in a precision; empty: none. A
/// file may have one for a precision that the command line replaces.
static FailureOr<std::string> lossScaleFor(ModuleOp module,
                                           const std::string &precision,
                                           const TrainingOptions &options,
                                           const TrainingInfo &info) {
  bool isOfFile = options.lossScale.empty();
  const std::string &scale = isOfFile ? info.lossScale : options.lossScale;
  if (precision == "f16")
    return scale.empty() ? "dynamic" : scale;
  if (scale.empty() || (isOfFile && info.precision == "f16"))
    return std::string();
  return emitError(UnknownLoc::get(module.getContext()))
         << "the loss scale \"" << scale
         << "\" is for gradients in f16, and the model is trained in "
         << (precision.empty() ? "f32" : precision)
         << ", whose range needs none; leave it out, or take --precision=f16";
}

/// The number with as many digits as it takes to read the same one.
static std::string exactText(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}

TrainingSteps trainingSteps(const TrainingOptions &options,
                            const TrainingInfo &info) {
  TrainingSteps steps;
  steps.declareVariables = [options, &info](ModuleOp module) {
    auto all = complete(module, options, info);
    return success(succeeded(all) &&
                   succeeded(declareVariables(module, *all, info.weights)));
  };
  steps.precision =
      [options,
       &info](ModuleOp module,
              transforms::Precision asked) -> FailureOr<transforms::Precision> {
    transforms::Precision precision = complete(std::move(asked), info);
    if (failed(lossScaleFor(module, precision.type, options, info)))
      return failure();
    return precision;
  };
  steps.differentiate = [options,
                         &info](ModuleOp module,
                                const transforms::Precision &precision) {
    auto all = complete(module, options, info);
    auto scale = lossScaleFor(module, precision.type, options, info);
    if (failed(all) || failed(scale))
      return failure();
    all->lossScale = *scale;
    return differentiate(module, *all);
  };
  steps.commandLine = {"--train"};
  if (!options.loss.empty())
    steps.commandLine.push_back("--loss=" + options.loss);
  if (!options.optimizer.empty())
    steps.commandLine.push_back("--optimizer=" + options.optimizer);
  for (const std::string &pattern : options.trainable)
    steps.commandLine.push_back("--trainable=" + pattern);
  if (!options.distill.empty())
    steps.commandLine.push_back("--distill=" + options.distill);
  if (options.learnScales)
    steps.commandLine.push_back("--learn-scales");
  if (!options.lossScale.empty())
    steps.commandLine.push_back("--loss-scale=" + options.lossScale);
  if (options.accumulate > 1)
    steps.commandLine.push_back("--accumulate=" +
                                std::to_string(options.accumulate));
  if (options.clipGradNorm)
    steps.commandLine.push_back("--clip-grad-norm=" +
                                exactText(*options.clipGradNorm));
  if (const auto &ranks = options.dataParallel) {
    steps.commandLine.push_back("--data-parallel");
    if (ranks->syncBatchNorm)
      steps.commandLine.push_back("--sync-batch-norm");
    if (ranks->shards)
      steps.commandLine.push_back("--shard-optimizer=" +
                                  std::to_string(ranks->shards));
    if (!ranks->communicationDtype.empty())
      steps.commandLine.push_back("--communication-dtype=" +
                                  ranks->communicationDtype);
  }
  return steps;
}

} // namespace tinh::training
