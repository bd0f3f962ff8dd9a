//===- CpuPrimitives.h - Primitives as work of the engine -------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each primitive is an operation of the engine, or a few. What computes is done
// by compiled kernels (Kernels/); what only moves elements, by loops in C++.
// How work is cut into chunks depends on sizes alone.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_EAGER_CPU_CPUPRIMITIVES_H
#define TINH_EAGER_CPU_CPUPRIMITIVES_H

#include "compiler/Eager/Primitives/Primitive.h"

namespace tinh::eager {

class Kernel;

/// Queues a primitive whose tensors lie on the CPU, by the function that
/// CpuPrimitives.cpp lists for its kind.
void queueOnCpu(const Primitive &primitive);

namespace kernels {

// Of each kind, in the file of its family.
#define TINH_FUNCTION(NAME, FUNCTION) PrimitiveFunction FUNCTION;
TINH_PRIMITIVES(TINH_FUNCTION)
#undef TINH_FUNCTION

// As the functions of Backend.
void fromHost(const void *data, TensorImpl &out, const Call &call);
const void *waitToRead(const TensorImpl &x);
void *waitToWrite(const TensorImpl &x);

} // namespace kernels

void queueCast(const Input &x, TensorImpl &out, const Call &call);
void queueReduce(ReduceOp op, const TensorImpl &x,
                 std::span<const int64_t> axes, TensorImpl &out,
                 const Call &call);

constexpr size_t kMaxElementwiseInputs = 5;
/// Queues a kernel that computes `out` element by element from at most so many
/// inputs, which broadcast to its shape.
void queueElementwise(Kernel &kernel, std::span<const Input> inputs,
                      TensorImpl &out, const Call &call);

} // namespace tinh::eager

#endif // TINH_EAGER_CPU_CPUPRIMITIVES_H
