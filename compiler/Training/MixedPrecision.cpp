//===- MixedPrecision.cpp - bf16 between f32 weights ------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Before the model is copied into the functions of training, so that all of
// them compute alike, and gradients follow by the rule of casts. The loss and
// the updates are added later, in f32.
//
//===----------------------------------------------------------------------===//
#include "compiler/Training/Training.h"

#include "compiler/Transforms/Passes.h"
#include "dialects/graph/Graph.h"

using namespace mlir;

namespace tinh::training {

static LogicalResult checkName(ModuleOp module, StringRef name) {
  if (name == "bf16")
    return success();
  auto error = module.emitError();
  if (name == "f16")
    return error << "mixed precision \"f16\" is not supported: its range is so "
                    "small that losses would have to be scaled; bf16 has that "
                    "of f32, take it instead";
  return error << "there is no mixed precision \"" << name
               << "\"; there is bf16";
}

LogicalResult mixPrecision(ModuleOp module, const TrainingOptions &options) {
  StringRef name = options.mixedPrecision;
  auto main = module.lookupSymbol<func::FuncOp>(graph::names::kMain);
  if (name.empty() || !main)
    return success();
  if (failed(checkName(module, name)))
    return failure();
  if (transforms::lowerPrecision(main, BFloat16Type::get(module.getContext())) >
      0)
    return success();
  return main.emitError() << "mixed precision \"" << name
                          << "\" changes nothing: the model has no products or "
                             "convolutions in f32; leave it out";
}

} // namespace tinh::training
