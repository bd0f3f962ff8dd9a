//===- EvaluateConstants.cpp - Computes small constants during import -----===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/EvaluateConstants.h"

#include "compiler/Import/GraphBuilder.h"
#include "compiler/Reference/Interpreter.h"

using namespace mlir;

namespace tinh {

std::optional<DenseElementsAttr>
evaluateConstant(Operation *op, ArrayRef<DenseElementsAttr> operands) {
  auto tensors = llvm::map_to_vector(operands, reference::fromAttribute);
  SmallVector<const reference::Tensor *> pointers;
  for (const reference::Tensor &tensor : tensors)
    pointers.push_back(&tensor);
  auto result = reference::evaluateOp(op, pointers);
  if (!result)
    return std::nullopt;
  return denseFromBytes(result->type, reference::toBytes(*result));
}

} // namespace tinh
