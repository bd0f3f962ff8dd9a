//===- NaiveBackend.h - Operations, slowly and plainly ----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The slow, obvious twin of the engine: an operation is done when the call
// returns, element by element, in double precision or wide integers, and
// rounded at its end. For tests to compare with.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TESTS_EAGER_TENSOR_NAIVEBACKEND_H
#define TINH_TESTS_EAGER_TENSOR_NAIVEBACKEND_H

#include "compiler/Eager/Primitives/Primitive.h"

namespace tinh::eager {

class NaiveBackend final : public Backend {
public:
  void allocate(TensorImpl &out) override;

  void perform(const Primitive &primitive) override;
  void fromHost(const void *data, TensorImpl &out, const Call &call) override;
  const void *waitToRead(const TensorImpl &x, const Call &call) override;
  void *waitToWrite(const TensorImpl &x, const Call &call) override;
};

namespace naive {

// Of each kind, in the file of its family.
#define TINH_FUNCTION(NAME, FUNCTION) PrimitiveFunction FUNCTION;
TINH_PRIMITIVES(TINH_FUNCTION)
#undef TINH_FUNCTION

} // namespace naive

} // namespace tinh::eager

#endif // TINH_TESTS_EAGER_TENSOR_NAIVEBACKEND_H
