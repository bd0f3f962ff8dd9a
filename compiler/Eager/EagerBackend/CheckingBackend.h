//===- CheckingBackend.h - Operations whose results are checked -*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The engine's backend, with a check (CheckNumerics.h) behind each primitive
// that computes. What moves or chooses elements makes no number that was not
// there before.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_EAGER_EAGERBACKEND_CHECKINGBACKEND_H
#define TINH_EAGER_EAGERBACKEND_CHECKINGBACKEND_H

#include "compiler/Eager/EagerBackend/EagerBackend.h"
#include "compiler/Eager/Primitives/PrimitiveBackend.h"

namespace tinh::eager {

class CheckingBackend final : public PrimitiveBackend {
public:
  void perform(const Primitive &primitive) override;
  void fromHost(const void *data, TensorImpl &out, const Call &call) override {
    backend.fromHost(data, out, call);
  }
  const void *waitToRead(const TensorImpl &x, const Call &call) override {
    return backend.waitToRead(x, call);
  }
  void *waitToWrite(const TensorImpl &x, const Call &call) override {
    return backend.waitToWrite(x, call);
  }

private:
  EagerBackend backend; // That computes.
};

} // namespace tinh::eager

#endif // TINH_EAGER_EAGERBACKEND_CHECKINGBACKEND_H
