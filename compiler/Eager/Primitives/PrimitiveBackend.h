//===- PrimitiveBackend.h - Primitives in one form --------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For backends that do the same whatever the primitive: what it is called with,
// a signature that tells it from others, and a way to call it again, with other
// tensors and on another backend.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_EAGER_PRIMITIVES_PRIMITIVEBACKEND_H
#define TINH_EAGER_PRIMITIVES_PRIMITIVEBACKEND_H

#include "compiler/Eager/Backend.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <bit>

namespace tinh::eager {

/// Which primitive a signature is of.
enum class PrimitiveKind : uint64_t {
  Elementwise,
  Cast,
  Reduce,
  ArgReduce,
  Cumsum,
  Matmul,
  Conv,
  ConvWeightGradient,
  Pool,
  MaxPoolGradient,
  Softmax,
  LayerNorm,
  Concat,
  Pad,
  Flip,
  Gather,
  GatherElements,
  GatherNd,
  ScatterElements,
  ScatterNd,
  Sort,
  Iota,
  Random,
};

/// A primitive with its attributes.
class Signature {
public:
  Signature(PrimitiveKind primitive) { add(primitive); }
  Signature &add(double value) { return add(std::bit_cast<uint64_t>(value)); }
  Signature &add(std::span<const int64_t> values) {
    words.push_back(values.size());
    words.append(values.begin(), values.end());
    return *this;
  }
  Signature &add(const Dims &dims) {
    return add(std::span<const int64_t>(dims));
  }
  template <typename T>
    requires std::is_integral_v<T> || std::is_enum_v<T>
  Signature &add(T value) {
    words.push_back(static_cast<uint64_t>(value));
    return *this;
  }
  Signature &add(const Scalar &scalar) {
    return add(scalar.dtype).add(scalar.integer);
  }

  llvm::SmallVector<uint64_t, 64> words;
};

struct Primitive {
  llvm::ArrayRef<Input> inputs;
  llvm::ArrayRef<TensorImpl *> outputs;
  const Call &call;
  llvm::function_ref<Signature()> sign;
  /// Calls it again, with other inputs and outputs, on another backend.
  llvm::function_ref<void(Backend &, llvm::ArrayRef<Input>,
                          llvm::ArrayRef<TensorImpl *>)>
      replay;
  const Draw *draw; ///< Null unless it draws random numbers.
};

class PrimitiveBackend : public Backend {
public:
  virtual void perform(const Primitive &primitive) = 0;

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

private:
  void call(llvm::ArrayRef<Input> inputs, llvm::ArrayRef<TensorImpl *> outputs,
            const Call &at, llvm::function_ref<Signature()> sign,
            llvm::function_ref<void(Backend &, llvm::ArrayRef<Input>,
                                    llvm::ArrayRef<TensorImpl *>)>
                replay,
            const Draw *draw = nullptr);

  using WindowGradient = void (Backend::*)(const TensorImpl &x,
                                           const TensorImpl &dy,
                                           const Window &window,
                                           TensorImpl &out, const Call &call);
  void windowGradient(PrimitiveKind kind, WindowGradient gradient,
                      const TensorImpl &x, const TensorImpl &dy,
                      const Window &window, TensorImpl &out, const Call &at);
};

} // namespace tinh::eager

#endif // TINH_EAGER_PRIMITIVES_PRIMITIVEBACKEND_H
