//===- EagerBackend.h - Operations as work of the engine --------*- C++ -*-===//
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
#ifndef TINH_EAGER_EAGERBACKEND_EAGERBACKEND_H
#define TINH_EAGER_EAGERBACKEND_EAGERBACKEND_H

#include "compiler/Eager/Backend.h"

namespace tinh::eager {

class Kernel;

class EagerBackend : public Backend {
public:
  // Elementwise.cpp
  void elementwise(ElementwiseOp op, std::span<const Input> inputs,
                   TensorImpl &out, const Call &call) override;
  void cast(const Input &x, TensorImpl &out, const Call &call) override;
  void flip(const TensorImpl &x, std::span<const int64_t> axes, TensorImpl &out,
            const Call &call) override;

  // Reductions.cpp
  void reduce(ReduceOp op, const TensorImpl &x, std::span<const int64_t> axes,
              TensorImpl &out, const Call &call) override;

  // Axes.cpp
  void argReduce(ArgOp op, const TensorImpl &x, int64_t axis, TensorImpl &out,
                 const Call &call) override;
  void softmax(SoftmaxOp op, const TensorImpl &x, int64_t axis, TensorImpl &out,
               const Call &call) override;
  void layerNorm(const TensorImpl &x, const TensorImpl *scale,
                 const TensorImpl *bias, const Normalization &norm,
                 TensorImpl &out, const Call &call) override;
  void cumsum(const TensorImpl &x, int64_t axis, TensorImpl &out,
              const Call &call) override;

  // Contractions.cpp
  void matmul(const TensorImpl &a, const TensorImpl &b, const TensorImpl *bias,
              TensorImpl &out, const Call &call) override;
  void conv(const TensorImpl &x, const TensorImpl &weights,
            const TensorImpl *bias, const Window &window, TensorImpl &out,
            const Call &call) override;
  void convWeightGradient(const TensorImpl &x, const TensorImpl &dy,
                          const Window &window, TensorImpl &out,
                          const Call &call) override;
  void pool(PoolOp op, const TensorImpl &x, const Window &window,
            TensorImpl &out, const Call &call) override;
  void maxPoolGradient(const TensorImpl &x, const TensorImpl &dy,
                       const Window &window, TensorImpl &out,
                       const Call &call) override;

  // Movement.cpp
  void concat(std::span<const TensorImpl *const> inputs, int64_t axis,
              TensorImpl &out, const Call &call) override;
  void pad(const TensorImpl &x, const Dims &low, const Dims &high, PadMode mode,
           const Scalar &value, TensorImpl &out, const Call &call) override;

  // Gather.cpp
  void gather(const TensorImpl &x, const TensorImpl &indices, int64_t axis,
              TensorImpl &out, const Call &call) override;
  void gatherElements(const TensorImpl &x, const TensorImpl &indices,
                      int64_t axis, TensorImpl &out, const Call &call) override;
  void gatherNd(const TensorImpl &x, const TensorImpl &indices, TensorImpl &out,
                const Call &call) override;

  // Scatter.cpp
  void scatterElements(ScatterOp op, const TensorImpl &indices,
                       const TensorImpl &updates, int64_t axis, TensorImpl &out,
                       const Call &call) override;
  void scatterNd(ScatterOp op, const TensorImpl &indices,
                 const TensorImpl &updates, TensorImpl &out,
                 const Call &call) override;

  // Sort.cpp
  void sort(const TensorImpl &x, int64_t axis, bool descending,
            TensorImpl *values, TensorImpl *indices, const Call &call) override;

  // Sources.cpp
  void iota(const Scalar &start, const Scalar &step, TensorImpl &out,
            const Call &call) override;
  void random(const Draw &draw, TensorImpl &out, const Call &call) override;
  void fromHost(const void *data, TensorImpl &out, const Call &call) override;
  const void *waitToRead(const TensorImpl &x, const Call &call) override;
  void *waitToWrite(const TensorImpl &x, const Call &call) override;
};

/// The engine's of tensors on the CPU.
Backend &cpuBackend();

constexpr size_t kMaxElementwiseInputs = 5;
/// Queues a kernel that computes `out` element by element from at most so many
/// inputs, which broadcast to its shape.
void queueElementwise(Kernel &kernel, std::span<const Input> inputs,
                      TensorImpl &out, const Call &call);

} // namespace tinh::eager

#endif // TINH_EAGER_EAGERBACKEND_EAGERBACKEND_H
