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

namespace tinh::eager {

class CheckingBackend final : public EagerBackend {
public:
  void elementwise(ElementwiseOp op, std::span<const Input> inputs,
                   TensorImpl &out, const Call &call) override;
  void cast(const Input &x, TensorImpl &out, const Call &call) override;
  void reduce(ReduceOp op, const TensorImpl &x, std::span<const int64_t> axes,
              TensorImpl &out, const Call &call) override;
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
  void scatterElements(ScatterOp op, const TensorImpl &indices,
                       const TensorImpl &updates, int64_t axis, TensorImpl &out,
                       const Call &call) override;
  void scatterNd(ScatterOp op, const TensorImpl &indices,
                 const TensorImpl &updates, TensorImpl &out,
                 const Call &call) override;
};

} // namespace tinh::eager

#endif // TINH_EAGER_EAGERBACKEND_CHECKINGBACKEND_H
