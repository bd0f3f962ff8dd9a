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

#include "compiler/Eager/Backend.h"

namespace tinh::eager {

class NaiveBackend final : public Backend {
public:
  void allocate(TensorImpl &out) override;

  void elementwise(ElementwiseOp op, std::span<const Input> inputs,
                   TensorImpl &out, const Call &call) override;
  void cast(const Input &x, TensorImpl &out, const Call &call) override;
  void reduce(ReduceOp op, const TensorImpl &x, std::span<const int64_t> axes,
              TensorImpl &out, const Call &call) override;
  void argReduce(ArgOp op, const TensorImpl &x, int64_t axis, TensorImpl &out,
                 const Call &call) override;
  void cumsum(const TensorImpl &x, int64_t axis, TensorImpl &out,
              const Call &call) override;
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
  void softmax(SoftmaxOp op, const TensorImpl &x, int64_t axis, TensorImpl &out,
               const Call &call) override;
  void layerNorm(const TensorImpl &x, const TensorImpl *scale,
                 const TensorImpl *bias, const Normalization &norm,
                 TensorImpl &out, const Call &call) override;
  void concat(std::span<const TensorImpl *const> inputs, int64_t axis,
              TensorImpl &out, const Call &call) override;
  void pad(const TensorImpl &x, const Dims &low, const Dims &high, PadMode mode,
           const Scalar &value, TensorImpl &out, const Call &call) override;
  void flip(const TensorImpl &x, std::span<const int64_t> axes, TensorImpl &out,
            const Call &call) override;
  void gather(const TensorImpl &x, const TensorImpl &indices, int64_t axis,
              TensorImpl &out, const Call &call) override;
  void gatherElements(const TensorImpl &x, const TensorImpl &indices,
                      int64_t axis, TensorImpl &out, const Call &call) override;
  void gatherNd(const TensorImpl &x, const TensorImpl &indices, TensorImpl &out,
                const Call &call) override;
  void scatterElements(ScatterOp op, const TensorImpl &indices,
                       const TensorImpl &updates, int64_t axis, TensorImpl &out,
                       const Call &call) override;
  void scatterNd(ScatterOp op, const TensorImpl &indices,
                 const TensorImpl &updates, TensorImpl &out,
                 const Call &call) override;
  void sort(const TensorImpl &x, int64_t axis, bool descending,
            TensorImpl *values, TensorImpl *indices, const Call &call) override;
  void iota(const Scalar &start, const Scalar &step, TensorImpl &out,
            const Call &call) override;
  void random(const Draw &draw, TensorImpl &out, const Call &call) override;
  void fromHost(const void *data, TensorImpl &out, const Call &call) override;
  const void *waitToRead(const TensorImpl &x, const Call &call) override;
  void *waitToWrite(const TensorImpl &x, const Call &call) override;
};

} // namespace tinh::eager

#endif // TINH_TESTS_EAGER_TENSOR_NAIVEBACKEND_H
