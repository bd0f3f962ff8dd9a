//===- LibraryCall.cpp - Libraries in an artifact's tables ------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Pipelines/Kernels/LibraryCall.h"

namespace tinh {

static tinh_view_t describeView(graph::ViewAttr view) {
  tinh_view_t result = {};
  result.operand = view ? view.getOperand() : TINH_NO_OPERAND;
  if (!view)
    return result;
  result.rank = static_cast<uint32_t>(view.getShape().size());
  llvm::copy(view.getShape().asArrayRef(), result.dims);
  llvm::copy(view.getStrides().asArrayRef(), result.strides);
  return result;
}

static tinh_activation_t describeActivation(graph::Activation activation) {
  switch (activation) {
  case graph::Activation::None:
    return TINH_ACTIVATION_NONE;
  case graph::Activation::Relu:
    return TINH_ACTIVATION_RELU;
  case graph::Activation::GeluTanh:
    return TINH_ACTIVATION_GELU_TANH;
  }
  llvm_unreachable("an activation of no kind");
}

tinh_library_call_t describeLibraryCall(graph::LibraryAttr library) {
  tinh_library_call_t call = {};
  call.kind = library.getKind() == graph::LibraryKind::MatMul
                  ? TINH_LIBRARY_MATMUL
                  : TINH_LIBRARY_CONVOLUTION;
  call.activation = describeActivation(library.getActivation());
  call.allow_tf32 = library.getTf32();
  call.left = describeView(library.getLeft());
  call.right = describeView(library.getRight());
  call.result = describeView(library.getResult());
  call.bias = describeView(library.getBias());
  call.residual = describeView(library.getResidual());
  if (graph::WindowAttr window = library.getWindow()) {
    llvm::copy(window.getLow().asArrayRef(), call.low);
    llvm::copy(window.getHigh().asArrayRef(), call.high);
    llvm::copy(window.getStrides().asArrayRef(), call.strides);
    llvm::copy(window.getDilations().asArrayRef(), call.dilations);
  }
  return call;
}

} // namespace tinh
