//===- tinh/autocast.h - Products in a lower precision ----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What graph-compile does to a model by --precision, a scope does to operations
// on tensors, and to functions that are called in it:
//
//   {
//     tinh::Autocast scope(tinh::bfloat16);
//     y = model(x);                      // matmuls read bf16
//     loss = tinh::mean(tinh::square(y - target)); // sums are f32
//   }
//   tinh::backward(loss);                // of f32 parameters, in f32
//
// docs/tensor-api.md says which operations compute in what.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_AUTOCAST_H
#define TINH_AUTOCAST_H

#include "tinh/tensor.h"

namespace tinh {

/// While it lives, matmuls and the like of this thread round float32 operands
/// to `dtype`, bfloat16 or float16; float32 lets them be as they are, within
/// another scope too.
class Autocast : Scoped {
public:
  explicit Autocast(DType dtype, At at = At::current());
  ~Autocast();

private:
  DType previous;
};

/// What matmuls of this thread round to; float32 without a scope.
DType autocast_dtype();

} // namespace tinh

#endif // TINH_AUTOCAST_H
