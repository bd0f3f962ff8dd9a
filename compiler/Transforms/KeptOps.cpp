//===- KeptOps.cpp - What stays in f32 by its name --------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/KeptOps.h"

#include "dialects/graph/Graph.h"

using namespace mlir;

namespace tinh::transforms {

LogicalResult KeptOps::parse(ModuleOp module, ArrayRef<std::string> texts) {
  for (const std::string &text : texts) {
    auto glob = llvm::GlobPattern::create(text);
    if (!glob)
      return emitError(UnknownLoc::get(module.getContext()))
             << "the pattern \"" << text << "\" of what is kept in f32 is "
             << "malformed: " << llvm::toString(glob.takeError());
    patterns.push_back({text, std::move(*glob)});
  }
  return success();
}

bool KeptOps::contains(Operation *op) {
  if (patterns.empty() || isa<graph::ConstantOp>(op))
    return false;
  llvm::StringSet<> names = graph::namesOf(op);
  bool any = false;
  for (Pattern &pattern : patterns)
    if (llvm::any_of(names.keys(),
                     [&](StringRef name) { return pattern.glob.match(name); }))
      any = pattern.fitsSome = true;
  return any;
}

LogicalResult KeptOps::checkUse(ModuleOp module) const {
  for (const Pattern &pattern : patterns)
    if (!pattern.fitsSome)
      return emitError(UnknownLoc::get(module.getContext()))
             << "no op and no node of the model fits \"" << pattern.text
             << "\", which is to say what is kept in f32";
  return success();
}

} // namespace tinh::transforms
