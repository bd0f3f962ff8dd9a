//===- Autocast.cpp - Operands in a lower precision -------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Tensor/Autocast.h"

#include "tinh/autocast.h"

#include <utility>

using namespace tinh;
using namespace tinh::eager;

constinit thread_local tinh_dtype_t eager::autocastDType = TINH_DTYPE_F32;

Autocast::Autocast(DType dtype, At at) : previous(autocastDType) {
  if (dtype != float32 && dtype != bfloat16 && dtype != float16)
    fail({"Autocast", at}, "products do not round to ", dtype,
         "; they can to bf16 and f16, and f32 ends that");
  autocastDType = dtype;
}

Autocast::~Autocast() { autocastDType = previous; }

DType tinh::autocast_dtype() { return autocastDType; }

Tensor eager::lowered(const Tensor &x, const Call &call) {
  if (!x.defined() || use(x, call).dtype != TINH_DTYPE_F32)
    return x;
  return converted(use(x, call), autocastDType, call);
}

bool eager::isFull(ElementwiseOp op) {
  switch (op) {
  case ElementwiseOp::Exp:
  case ElementwiseOp::Log:
  case ElementwiseOp::Sqrt:
  case ElementwiseOp::Rsqrt:
  case ElementwiseOp::Reciprocal:
  case ElementwiseOp::Softplus:
  case ElementwiseOp::Sin:
  case ElementwiseOp::Cos:
  case ElementwiseOp::Tan:
  case ElementwiseOp::Asin:
  case ElementwiseOp::Acos:
  case ElementwiseOp::Atan:
  case ElementwiseOp::Sinh:
  case ElementwiseOp::Cosh:
  case ElementwiseOp::Asinh:
  case ElementwiseOp::Acosh:
  case ElementwiseOp::Atanh:
  case ElementwiseOp::Pow:
  case ElementwiseOp::Mod:
  case ElementwiseOp::Fmod:
  case ElementwiseOp::Elu:
    return true;
  default:
    return false;
  }
}
