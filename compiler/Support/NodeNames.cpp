//===- NodeNames.cpp - Nodes of the model behind an op ----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Support/NodeNames.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace tinh {

SmallVector<StringRef> nodeNames(Location location) {
  llvm::SmallSetVector<StringRef, 4> names;
  location->walk([&](Location inner) {
    if (auto name = dyn_cast<NameLoc>(inner))
      names.insert(name.getName().getValue());
    return WalkResult::advance();
  });
  return SmallVector<StringRef>(names.begin(), names.end());
}

} // namespace tinh
