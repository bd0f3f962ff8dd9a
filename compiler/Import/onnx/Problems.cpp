//===- Problems.cpp - All that is wrong with an ONNX model ---- -*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/onnx/Problems.h"

#include "compiler/Import/ShownProblems.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Location.h"

#include <iterator>

using namespace mlir;

namespace tinh::onnx {

void Problems::append(Problems &&others) {
  list.insert(list.end(), std::make_move_iterator(others.list.begin()),
              std::make_move_iterator(others.list.end()));
  others.list.clear();
}

void Problems::report(StringRef path, MLIRContext &context) const {
  Location file = FileLineColLoc::get(StringAttr::get(&context, path), 0, 0);
  for (const Problem &problem : ArrayRef(list).take_front(kShownProblems)) {
    Location loc = file;
    if (!problem.node.empty())
      loc = NameLoc::get(StringAttr::get(&context, problem.node), file);
    emitError(loc) << problem.message;
  }
  if (list.size() > kShownProblems)
    emitError(file) << describeRest(list.size() - kShownProblems);
}

} // namespace tinh::onnx
