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
    fail({"Autocast", at}, "matmuls do not round to ", dtype,
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
  // The graph dialect's names of classes. Tests and comparisons are exact in
  // any dtype.
  constexpr bool Follows = false, Full = true;
  switch (op) {
#define UNARY_OP(NAME, MNEMONIC, PRECISION)                                    \
  case ElementwiseOp::NAME:                                                    \
    return PRECISION;
#define BINARY_OP UNARY_OP
#include "dialects/graph/ElementwiseOps.inc"
  case ElementwiseOp::Elu:
    return Full;
  default:
    return Follows;
  }
}
