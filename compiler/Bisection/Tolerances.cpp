//===- Tolerances.cpp - How far values may be from the reference ----------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Bisection/Tolerances.h"

#include "dialects/graph/Graph.h"

#include "llvm/ADT/StringExtras.h"

#include <cmath>

using namespace mlir;

namespace tinh::bisection {

double partOf(const reference::Difference &difference) {
  return std::isinf(difference.relative) ? difference.absolute
                                         : difference.relative;
}

std::string indexText(int64_t index, ArrayRef<int64_t> shape) {
  SmallVector<std::string> parts;
  for (int64_t stride : reference::rowMajorStrides(shape)) {
    parts.push_back(std::to_string(index / stride));
    index %= stride;
  }
  return "[" + llvm::join(parts, ", ") + "]";
}

static double coarseness(Type element) {
  if (element.isF64())
    return 1e-9;
  if (element.isF32())
    return 1e-3;
  if (element.isF16())
    return 2e-2;
  if (element.isBF16())
    return 1e-1;
  if (isa<FloatType>(element))
    return 0.25;
  // What a value that is one off makes of floats behind it.
  return element.isInteger(8) ? 1.0 / 64 : 0;
}

static double coarseness(Operation *op) {
  double result = 0;
  op->walk([&](Operation *inner) {
    for (Type type : inner->getResultTypes())
      result = std::max(result, coarseness(getElementTypeOrSelf(type)));
  });
  return result;
}

Tolerances::Tolerances(func::FuncOp function, StringRef precision) {
  Builder b(function.getContext());
  double least = precision == "bf16"  ? coarseness(b.getBF16Type())
                 : precision == "f16" ? coarseness(b.getF16Type())
                                      : 0;
  for (BlockArgument argument : function.getArguments())
    coarsest[argument] =
        std::max(least, coarseness(getElementTypeOrSelf(argument)));
  for (Operation &op : function.front()) {
    double result = std::max(least, coarseness(&op));
    for (Value read : graph::readValues(&op))
      result = std::max(result, coarsest.lookup(read));
    for (Value made : op.getResults())
      coarsest[made] = result;
  }
}

Tolerance Tolerances::of(Value value) const {
  Type element = getElementTypeOrSelf(value);
  if (isa<FloatType>(element))
    return {coarsest.lookup(value)};
  return element.isInteger(8) ? Tolerance{1, /*isAbsolute=*/true} : Tolerance{};
}

} // namespace tinh::bisection
