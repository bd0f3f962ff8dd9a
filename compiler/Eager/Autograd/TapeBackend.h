//===- TapeBackend.h - Operations that are recorded -------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The backend of threads that do nothing else: it hands all to the engine's,
// and records on the tape what is done with tensors that require gradients.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_EAGER_AUTOGRAD_TAPEBACKEND_H
#define TINH_EAGER_AUTOGRAD_TAPEBACKEND_H

#include "compiler/Eager/Primitives/PrimitiveBackend.h"

namespace tinh::eager {

class TapeBackend final : public PrimitiveBackend {
public:
  void perform(const Primitive &primitive) override;
  void view(const View &view, const TensorImpl &x, TensorImpl &out) override;
  void fromHost(const void *data, TensorImpl &out, const Call &call) override;
  const void *waitToRead(const TensorImpl &x, const Call &call) override;
  void *waitToWrite(const TensorImpl &x, const Call &call) override;
};

} // namespace tinh::eager

#endif // TINH_EAGER_AUTOGRAD_TAPEBACKEND_H
