//===- ReplaceWeights.cpp - A model with other weights --------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/ReplaceWeights.h"

#include "compiler/Graph/ExternalData.h"
#include "compiler/Import/json/Safetensors.h"
#include "compiler/Reference/Tensor.h"
#include "dialects/graph/Graph.h"
#include "dialects/graph/Scales.h"

#include "llvm/Support/FileSystem.h"

#include <cmath>

using namespace mlir;

namespace tinh {

namespace {

/// Whether a training step keeps such a variable for itself
/// (compiler/Training).
bool isStateOfTraining(StringRef name) {
  return name.starts_with("optimizer.") || name.starts_with("loss_scale") ||
         name.starts_with("random.generator");
}

class WeightReplacer {
public:
  WeightReplacer(ModuleOp module, const llvm::StringSet<> &weights,
                 StringRef path)
      : module(module), weights(weights), path(path) {}

  LogicalResult run();

private:
  InFlightDiagnostic fail() {
    return module.emitError() << "'" << path << "': ";
  }
  LogicalResult read();
  LogicalResult replace(graph::ConstantOp op);
  LogicalResult checkScale(StringRef name, TypedAttr value);
  LogicalResult checkAllUsed();

  ModuleOp module;
  const llvm::StringSet<> &weights;
  StringRef path;
  json::Safetensors tensors;
  MappedFiles files{""}; // The tensors' names of files are absolute.
  llvm::StringSet<> used;
};

LogicalResult WeightReplacer::read() {
  SmallString<256> absolute(path);
  llvm::sys::fs::make_absolute(absolute);
  DataFile file{absolute.str().str(), path.str(), 0};
  std::string error;
  if (llvm::sys::fs::file_size(path, file.size))
    return fail() << "cannot read the file";
  if (!json::readSafetensors(file, module.getContext(), tensors, error))
    return module.emitError(error);
  return success();
}

LogicalResult WeightReplacer::replace(graph::ConstantOp op) {
  auto location = dyn_cast<NameLoc>(op.getLoc());
  StringRef name = location ? location.getName().getValue() : StringRef();
  auto found = tensors.find(name);
  if (found == tensors.end() || (!weights.empty() && !weights.contains(name)))
    return success();
  Type type = op.getType(), given = found->second.getType();
  if (type != given)
    return fail() << "the tensor \"" << name << "\" is of type " << given
                  << ", and the model's weight of that name of type " << type;
  if (graph::isScale(op) && failed(checkScale(name, found->second)))
    return failure();
  op.setValueAttr(found->second);
  used.insert(name);
  return success();
}

/// What training has lost is said here, where it is known that scales come from
/// training: integers of no size stand for nothing.
LogicalResult WeightReplacer::checkScale(StringRef name, TypedAttr value) {
  auto element = dyn_cast<FloatType>(getElementTypeOrSelf(value.getType()));
  if (!element)
    return success();
  reference::Tensor scale;
  if (auto dense = dyn_cast<DenseElementsAttr>(value)) {
    scale = reference::fromAttribute(dense);
  } else {
    auto bytes = files.read(cast<graph::ExternalAttr>(value));
    if (!bytes)
      return module.emitError(llvm::toString(bytes.takeError()));
    scale =
        reference::fromBytes(cast<RankedTensorType>(value.getType()), *bytes);
  }
  double least =
      llvm::APFloat::getSmallestNormalized(element.getFloatSemantics())
          .convertToDouble();
  for (double x : scale.floats)
    if (!(x >= least && std::isfinite(x)))
      return fail() << "the tensor \"" << name << "\" is a scale of integers "
                    << "and has to hold positive normal numbers, found " << x
                    << "; train with a lower learning rate";
  return success();
}

/// A tensor that nothing reads is one of another model.
LogicalResult WeightReplacer::checkAllUsed() {
  for (const auto &tensor : tensors)
    if (!used.contains(tensor.getKey()) && !isStateOfTraining(tensor.getKey()))
      return fail() << "the tensor \"" << tensor.getKey()
                    << "\" is no weight of the model; give the model that the "
                       "weights were trained in";
  if (used.empty())
    return fail() << "there is no weight of the model in it";
  return success();
}

LogicalResult WeightReplacer::run() {
  if (failed(read()))
    return failure();
  WalkResult result = module.walk([&](graph::ConstantOp op) {
    return succeeded(replace(op)) ? WalkResult::advance()
                                  : WalkResult::interrupt();
  });
  return success(!result.wasInterrupted() && succeeded(checkAllUsed()));
}

} // namespace

LogicalResult replaceWeights(ModuleOp module, const llvm::StringSet<> &weights,
                             StringRef path) {
  return WeightReplacer(module, weights, path).run();
}

} // namespace tinh
