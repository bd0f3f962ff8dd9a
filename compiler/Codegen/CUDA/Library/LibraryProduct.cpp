//===- LibraryProduct.cpp - Products of matrices for libraries --*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loops of the product step through the memory of each operand. Where those of
// a role (Contraction.h) follow each other in all operands they have, they are
// one dimension of a matrix; else the kernel may still be a convolution.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/Library/LibraryDescriber.h"

using namespace mlir;

namespace tinh::cuda {

/// The step of `loops` as one dimension, or nothing if they are none.
static std::optional<int64_t> stepOf(const Product &p, const Loops &loops,
                                     ArrayRef<int64_t> steps) {
  if (loops.empty())
    return 0;
  for (size_t i = 0; i + 1 < loops.size(); ++i)
    if (steps[loops[i]] != steps[loops[i + 1]] * p.extents[loops[i + 1]])
      return std::nullopt;
  return steps[loops.back()];
}

graph::ViewAttr LibraryDescriber::view(unsigned operand,
                                       ArrayRef<Loops> dimensions,
                                       ArrayRef<int64_t> steps) {
  SmallVector<int64_t> shape, strides;
  for (const Loops &loops : dimensions) {
    std::optional<int64_t> step = stepOf(p, loops, steps);
    if (!step)
      return {};
    shape.push_back(p.extentOf(loops));
    strides.push_back(*step);
  }
  return makeView(operand, shape, strides);
}

/// Whether elements of the rows, or of the columns, lie side by side.
static bool isMatrix(graph::ViewAttr view, bool columnsOnly = false) {
  auto follow = [&](unsigned dim, unsigned other) {
    int64_t extent = view.getShape()[dim], rest = view.getShape()[other];
    return (view.getStrides()[dim] == 1 || extent == 1) &&
           (view.getStrides()[other] >= extent || rest == 1);
  };
  return follow(2, 1) || (!columnsOnly && follow(1, 2));
}

graph::LibraryAttr LibraryDescriber::product() {
  const MemoryAccess &ofLeft = *p.left.access, &ofRight = *p.right.access;
  if (!ofLeft.staysInside(p.extents) || !ofRight.staysInside(p.extents))
    return {};
  auto viewOf = [&](unsigned operand, ArrayRef<int64_t> steps) {
    return view(operand, {p.batch, p.left.loops, p.right.loops}, steps);
  };
  auto left = view(ofLeft.argument.getArgNumber(),
                   {p.batch, p.left.loops, p.depth}, ofLeft.steps);
  auto right = view(ofRight.argument.getArgNumber(),
                    {p.batch, p.depth, p.right.loops}, ofRight.steps);
  auto result = resultView(viewOf);
  if (!left || !right || !result || !isMatrix(left) || !isMatrix(right) ||
      !isMatrix(result, /*columnsOnly=*/true))
    return {};
  auto isBias = [](graph::ViewAttr view) {
    ArrayRef<int64_t> strides = view.getStrides();
    return strides[0] == 0 && strides[1] == 0 && strides[2] == 1;
  };
  auto isResidual = [](graph::ViewAttr view) {
    return isMatrix(view, /*columnsOnly=*/true);
  };
  auto added = addends(viewOf, isBias, isResidual);
  if (!added)
    return {};
  return makeCall(graph::LibraryKind::MatMul, left, right, result, *added);
}

} // namespace tinh::cuda
