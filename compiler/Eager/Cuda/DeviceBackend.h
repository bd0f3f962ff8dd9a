//===- DeviceBackend.h - Operations where their operands lie ----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The engine's backend of a program that uses a GPU: each primitive goes to the
// device of its operands.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_EAGER_CUDA_DEVICEBACKEND_H
#define TINH_EAGER_CUDA_DEVICEBACKEND_H

#include "compiler/Eager/Primitives/PrimitiveBackend.h"

namespace tinh::eager {

class DeviceBackend final : public PrimitiveBackend {
public:
  void perform(const Primitive &primitive) override;
  /// Copies to another device, too, if `out` is not new.
  void cast(const Input &x, TensorImpl &out, const Call &call) override;
  void fromHost(const void *data, TensorImpl &out, const Call &call) override;
  /// Of tensors on the CPU these give where they lie; of others, null.
  const void *waitToRead(const TensorImpl &x, const Call &call) override;
  void *waitToWrite(const TensorImpl &x, const Call &call) override;
};

/// Has eagerBackend() be such a backend from now on. Until then, all is on the
/// CPU.
void dispatchByDevice();

} // namespace tinh::eager

#endif // TINH_EAGER_CUDA_DEVICEBACKEND_H
