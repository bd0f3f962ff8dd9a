//===- Dispatch.h - What performs a primitive -------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A primitive, which begins in `perform` (Primitive.h), goes through these
// steps, all of which are chosen in Dispatch.cpp; each does its part and hands
// the primitive to the next:
//
//  1. This thread's backend takes it (Backend::current). While something is
//     traced, that is a TraceBackend, which adds ops to a graph, and is the
//     only step. In tests it may be the naive twin.
//  2. The tape records it if it has to do with gradients
//     (Autograd/OpNode.h, performAndRecord).
//  3. It goes to the device of its operands, once the program uses a GPU
//     (Cuda/DevicePlacement.h, performByDevice).
//  4. On the CPU its kernels are queued (Cpu/CpuPrimitives.h,
//     queueOnCpu); on a GPU, a graph of it (Cuda/GpuPrimitives.h, queueOnGpu).
//  5. With EngineOptions::check_numerics, a check of what the CPU computed is
//     queued behind (CheckNumerics.h, checkNumerics).
//
//===----------------------------------------------------------------------===//
#ifndef TINH_EAGER_PRIMITIVES_DISPATCH_H
#define TINH_EAGER_PRIMITIVES_DISPATCH_H

#include "compiler/Eager/Primitives/Primitive.h"

namespace tinh::eager {

/// From step 3 on: as eagerBackend() does.
void performOnEngine(const Primitive &primitive);
/// From step 4 on, of tensors on the CPU.
void performOnCpu(const Primitive &primitive);

/// Has primitives go through step 3 from now on. Until then, all is on the CPU.
void dispatchByDevice();

} // namespace tinh::eager

#endif // TINH_EAGER_PRIMITIVES_DISPATCH_H
