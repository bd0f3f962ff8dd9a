//===- Library.cpp - What libraries can be asked to compute -----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/Library.h"
#include "dialects/graph/Graph.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tinh::graph {

using EmitError = function_ref<InFlightDiagnostic()>;

/// Batch, images and channels, and up to three spatial dimensions.
static constexpr int64_t kMaxRank = 5;

LogicalResult ViewAttr::verify(EmitError emitError, unsigned,
                               DenseI64ArrayAttr shape,
                               DenseI64ArrayAttr strides) {
  if (shape.size() != strides.size() || shape.size() > kMaxRank)
    return emitError() << "a view has up to " << kMaxRank
                       << " dimensions with a stride each, found "
                       << shape.size() << " and " << strides.size();
  if (llvm::any_of(shape.asArrayRef(), [](int64_t x) { return x < 1; }) ||
      llvm::any_of(strides.asArrayRef(), [](int64_t x) { return x < 0; }))
    return emitError() << "a view has positive extents and no negative "
                          "strides";
  return success();
}

static LogicalResult verifyProduct(EmitError emitError, ArrayRef<int64_t> left,
                                   ArrayRef<int64_t> right,
                                   ArrayRef<int64_t> result) {
  if (left.size() == 3 && right.size() == 3 && result.size() == 3 &&
      left[0] == right[0] && left[0] == result[0] && left[1] == result[1] &&
      left[2] == right[1] && right[2] == result[2])
    return success();
  return emitError() << "the views of a product are b × m × k, b × k × n and "
                        "b × m × n";
}

static LogicalResult verifyConvolution(EmitError emitError,
                                       ArrayRef<int64_t> image,
                                       ArrayRef<int64_t> filter,
                                       ArrayRef<int64_t> result, WindowAttr w) {
  size_t rank = image.size();
  if (rank < 4 || filter.size() != rank || result.size() != rank)
    return emitError() << "the views of a convolution have two or three "
                          "spatial dimensions each";
  for (DenseI64ArrayAttr list :
       {w.getLow(), w.getHigh(), w.getStrides(), w.getDilations()})
    if (static_cast<size_t>(list.size()) != rank - 2)
      return emitError() << "the window has " << list.size()
                         << " numbers for each of " << rank - 2
                         << " dimensions";
  if (image[0] != result[0] || filter[0] != result[1] ||
      image[1] % filter[1] != 0 || filter[0] % (image[1] / filter[1]) != 0)
    return emitError() << "channels of a convolution do not fit its groups";
  for (size_t i = 0; i < rank - 2; ++i) {
    int64_t stride = w.getStrides()[i], dilation = w.getDilations()[i];
    int64_t room = image[i + 2] + w.getLow()[i] + w.getHigh()[i] -
                   (filter[i + 2] - 1) * dilation - 1;
    if (w.getLow()[i] < 0 || w.getHigh()[i] < 0 || stride < 1 || dilation < 1 ||
        room < 0 || room / stride + 1 != result[i + 2])
      return emitError() << "the window does not come to the result in "
                            "dimension "
                         << i;
  }
  return success();
}

LogicalResult LibraryAttr::verify(EmitError emitError, LibraryKind kind,
                                  ViewAttr left, ViewAttr right,
                                  ViewAttr result, ViewAttr bias,
                                  ViewAttr residual, WindowAttr window,
                                  Activation, bool) {
  ArrayRef<int64_t> l = left.getShape(), r = right.getShape(),
                    y = result.getShape();
  for (ViewAttr added : {bias, residual})
    if (added && added.getShape() != result.getShape())
      return emitError() << "what is added has the result's shape";
  if (bool(window) != (kind == LibraryKind::Convolution))
    return emitError() << "a convolution has a window, and no product has one";
  return window ? verifyConvolution(emitError, l, r, y, window)
                : verifyProduct(emitError, l, r, y);
}

/// Elements from the first one of a view to behind the last.
static int64_t reach(ViewAttr view) {
  int64_t last = 0;
  for (auto [extent, stride] : llvm::zip_equal(view.getShape().asArrayRef(),
                                               view.getStrides().asArrayRef()))
    last += (extent - 1) * stride;
  return last + 1;
}

LogicalResult verifyViews(LibraryAttr library,
                          ArrayRef<int64_t> operandElements,
                          EmitError emitError) {
  for (ViewAttr view :
       {library.getLeft(), library.getRight(), library.getResult(),
        library.getBias(), library.getResidual()}) {
    if (!view)
      continue;
    if (view.getOperand() >= operandElements.size())
      return emitError() << "has a view of operand " << view.getOperand()
                         << ", which does not exist";
    if (reach(view) > operandElements[view.getOperand()])
      return emitError() << "has a view of " << reach(view)
                         << " elements of operand " << view.getOperand()
                         << ", which has "
                         << operandElements[view.getOperand()];
  }
  return success();
}

} // namespace tinh::graph
