//===- TraceBackend.h - Operations on tensors as graph ops ------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the front end asks for while a function is traced becomes ops of the
// graph dialect.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_EAGER_FUNCTION_TRACEBACKEND_H
#define TINH_EAGER_FUNCTION_TRACEBACKEND_H

#include "compiler/Eager/Backend.h"
#include "compiler/Eager/Function/Trace.h"
#include "compiler/Eager/Function/TraceAutograd.h"

namespace tinh::eager {

class TraceBackend final : public Backend {
public:
  /// Gradients are those of `autograd`; without it, none are asked for.
  explicit TraceBackend(Trace &trace, TraceAutograd *traceAutograd = nullptr)
      : trace(trace), traceAutograd(traceAutograd) {}

  /// The one of this thread; null if nothing is being traced.
  static TraceBackend *current();

  Trace &trace;

  bool isTracing() const override { return true; }
  Autograd &autograd() override {
    return traceAutograd ? *traceAutograd : Backend::autograd();
  }
  /// What an op gave, as far as gradients go.
  mlir::Value result(mlir::Value value, const Call &call) {
    return traceAutograd ? traceAutograd->result(value, call) : value;
  }
  void allocate(TensorImpl &out) override { trace.allocate(out); }
  void view(const View &view, const TensorImpl &x, TensorImpl &out) override {
    trace.addView(x, view, out);
  }

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

private:
  TraceAutograd *traceAutograd;
  using Build = llvm::function_ref<mlir::Value(GraphOps &)>;
  /// Adds the ops for `call`; `out` holds their result from here on.
  void write(TensorImpl &out, const Call &call, Build build);
};

/// A constant of rank 0.
mlir::Value buildScalar(GraphOps &ops, const Scalar &scalar);

/// The numbers of a draw, [count] of type `element`, from a generator's seed
/// and counter, [2] of u64, `blocks` blocks further on.
mlir::Value buildDraw(GraphOps &ops, const Draw &draw, mlir::Value generator,
                      uint64_t blocks, tinh_dtype_t dtype, mlir::Type element,
                      int64_t count);

} // namespace tinh::eager

#endif // TINH_EAGER_FUNCTION_TRACEBACKEND_H
