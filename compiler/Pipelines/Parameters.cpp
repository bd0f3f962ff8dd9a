//===- Parameters.cpp - Weights that may be replaced ------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   %w = graph.constant dense<…> : tensor<10xf32> loc("fc.bias")
// becomes
//   %w = graph.constant #graph.parameter<"fc.bias", dense<…>> : tensor<10xf32>
//
// so that whatever is computed from it is left to @init, which the artifact
// then carries.
//
//===----------------------------------------------------------------------===//
#include "compiler/Pipelines/Parameters.h"

#include "compiler/Support/TensorName.h"
#include "dialects/graph/Graph.h"

#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace tinh {

LogicalResult makeParameters(ModuleOp module,
                             const llvm::StringSet<> &weights) {
  llvm::StringMap<TypedAttr> found;
  WalkResult result = module.walk([&](graph::ConstantOp op) {
    auto location = dyn_cast<NameLoc>(op.getLoc());
    auto type = cast<RankedTensorType>(op.getType());
    if (!location || !isa<FloatType>(type.getElementType()) ||
        type.getRank() == 0)
      return WalkResult::advance();
    StringRef name = location.getName().getValue();
    if (name.empty() || (!weights.empty() && !weights.contains(name)))
      return WalkResult::advance();
    if (failed(checkTensorName(op, name)))
      return WalkResult::interrupt();
    TypedAttr elements = graph::elementsOf(op.getValue());
    TypedAttr &known = found.try_emplace(name, elements).first->second;
    if (known != elements) {
      op.emitError() << "two weights have the name \"" << name
                     << "\", by which others would be found for them";
      return WalkResult::interrupt();
    }
    op.setValueAttr(
        graph::ParameterAttr::get(op.getContext(), type, name, elements));
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  if (found.empty())
    return module.emitError("the model has no weights that could be loaded: no "
                            "floating-point constants with names");
  return success();
}

} // namespace tinh
