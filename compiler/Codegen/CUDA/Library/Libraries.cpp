//===- Libraries.cpp - Kernels that libraries can compute -------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/Library/Libraries.h"

#include "compiler/Codegen/CUDA/Library/LibraryDescriber.h"

#include "dialects/graph/Strides.h"

using namespace mlir;

namespace tinh::cuda {

//===----------------------------------------------------------------------===//
// What products of matrices and convolutions have in common
//===----------------------------------------------------------------------===//

SmallVector<int64_t>
LibraryDescriber::stepsInProduct(ArrayRef<int64_t> strides) {
  SmallVector<int64_t> unmerged(strides);
  if (auto merge = p.result.getDefiningOp<tensor::CollapseShapeOp>()) {
    ArrayRef<int64_t> shape = merge.getSrcType().getShape();
    unmerged.assign(shape.size(), 0);
    for (auto [stride, group] :
         llvm::zip_equal(strides, merge.getReassociationIndices())) {
      int64_t each = stride;
      for (int64_t dim : llvm::reverse(group)) {
        unmerged[dim] = each;
        each *= shape[dim];
      }
    }
  }
  SmallVector<int64_t> steps(p.extents.size(), 0);
  for (auto [expr, stride] : llvm::zip_equal(p.output.getResults(), unmerged))
    steps[cast<AffineDimExpr>(expr).getPosition()] = stride;
  return steps;
}

graph::ViewAttr LibraryDescriber::resultView(ViewOf viewOf) {
  return viewOf(kernel.getNumArguments(),
                stepsInProduct(graph::resultStrides(kernel, 0)));
}

std::optional<LibraryDescriber::Addends>
LibraryDescriber::addends(ViewOf viewOf, Test isBias, Test isResidual) {
  Addends addends;
  for (const Addend &addend : epilogue.addends) {
    auto view = viewOf(addend.argument, stepsInProduct(addend.strides));
    if (!view)
      return std::nullopt;
    bool bias = isBias(view);
    if (!bias && !isResidual(view))
      return std::nullopt;
    if (std::exchange(bias ? addends.bias : addends.residual, view))
      return std::nullopt; // Two of them.
  }
  return addends;
}

graph::ViewAttr LibraryDescriber::makeView(unsigned operand,
                                           ArrayRef<int64_t> shape,
                                           ArrayRef<int64_t> strides) {
  MLIRContext *context = kernel.getContext();
  return graph::ViewAttr::get(context, operand,
                              DenseI64ArrayAttr::get(context, shape),
                              DenseI64ArrayAttr::get(context, strides));
}

graph::LibraryAttr
LibraryDescriber::makeCall(graph::LibraryKind kind, graph::ViewAttr left,
                           graph::ViewAttr right, graph::ViewAttr result,
                           const Addends &addends, graph::WindowAttr window) {
  bool tf32 = target.allowTf32 && getElementTypeOrSelf(p.left.value).isF32();
  return graph::LibraryAttr::get(kernel.getContext(), kind, left, right, result,
                                 addends.bias, addends.residual, window,
                                 epilogue.activation, tf32);
}

//===----------------------------------------------------------------------===//
// Any kernel
//===----------------------------------------------------------------------===//

/// Whether libraries multiply such factors to such a result, adding its like.
static bool haveTypes(func::FuncOp kernel, const Product &p,
                      const LibraryEpilogue &epilogue) {
  Type factor = getElementTypeOrSelf(p.left.value);
  Type result = getElementTypeOrSelf(kernel.getResultTypes()[0]);
  return p.element().isF32() &&
         (factor.isF32() || factor.isF16() || factor.isBF16()) &&
         getElementTypeOrSelf(p.right.value) == factor &&
         (result == factor || result.isF32()) &&
         llvm::all_of(epilogue.addends, [&](const Addend &addend) {
           return getElementTypeOrSelf(
                      kernel.getArgumentTypes()[addend.argument]) == result;
         });
}

graph::LibraryAttr describeForLibrary(func::FuncOp kernel,
                                      const Target &target) {
  auto p = ContractionStrategy::match(kernel);
  if (!p)
    return {};
  auto epilogue = matchEpilogue(kernel, p->result);
  if (!epilogue || !haveTypes(kernel, *p, *epilogue))
    return {};
  for (const Factor *factor : {&p->left, &p->right})
    if (!factor->access || !factor->access->argument ||
        factor->access->isSliced)
      return {};
  LibraryDescriber describer{kernel, target, *p, *epilogue};
  if (auto product = describer.product())
    return product;
  return describer.convolution();
}

} // namespace tinh::cuda
