//===- PrimitiveBackend.cpp - Primitives in one form ----------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Primitives/PrimitiveBackend.h"

namespace tinh::eager {

using Inputs = llvm::ArrayRef<Input>;
using Outputs = llvm::ArrayRef<TensorImpl *>;

/// Puts a call together, for perform().
void PrimitiveBackend::call(
    Inputs inputs, Outputs outputs, const Call &at,
    llvm::function_ref<Signature()> sign,
    llvm::function_ref<void(Backend &, Inputs, Outputs)> replay,
    const Draw *draw) {
  perform({inputs, outputs, at, sign, replay, draw});
}

//===----------------------------------------------------------------------===//
// Element by element
//===----------------------------------------------------------------------===//

void PrimitiveBackend::elementwise(ElementwiseOp op,
                                   std::span<const Input> inputs,
                                   TensorImpl &out, const Call &at) {
  call(
      Inputs(inputs.data(), inputs.size()), &out, at,
      [&] { return Signature(PrimitiveKind::Elementwise).add(op); },
      [&](Backend &backend, Inputs in, Outputs outputs) {
        backend.elementwise(op, {in.data(), in.size()}, *outputs[0], at);
      });
}

void PrimitiveBackend::cast(const Input &x, TensorImpl &out, const Call &at) {
  call(
      x, &out, at, [&] { return Signature(PrimitiveKind::Cast); },
      [&](Backend &backend, Inputs in, Outputs outputs) {
        backend.cast(in[0], *outputs[0], at);
      });
}

//===----------------------------------------------------------------------===//
// Reductions and scans
//===----------------------------------------------------------------------===//

void PrimitiveBackend::reduce(ReduceOp op, const TensorImpl &x,
                              std::span<const int64_t> axes, TensorImpl &out,
                              const Call &at) {
  call(
      Input{&x, {}}, &out, at,
      [&] { return Signature(PrimitiveKind::Reduce).add(op).add(axes); },
      [&](Backend &backend, Inputs in, Outputs outputs) {
        backend.reduce(op, *in[0].tensor, axes, *outputs[0], at);
      });
}

void PrimitiveBackend::argReduce(ArgOp op, const TensorImpl &x, int64_t axis,
                                 TensorImpl &out, const Call &at) {
  call(
      Input{&x, {}}, &out, at,
      [&] { return Signature(PrimitiveKind::ArgReduce).add(op).add(axis); },
      [&](Backend &backend, Inputs in, Outputs outputs) {
        backend.argReduce(op, *in[0].tensor, axis, *outputs[0], at);
      });
}

void PrimitiveBackend::cumsum(const TensorImpl &x, int64_t axis,
                              TensorImpl &out, const Call &at) {
  call(
      Input{&x, {}}, &out, at,
      [&] { return Signature(PrimitiveKind::Cumsum).add(axis); },
      [&](Backend &backend, Inputs in, Outputs outputs) {
        backend.cumsum(*in[0].tensor, axis, *outputs[0], at);
      });
}

//===----------------------------------------------------------------------===//
// Products, windows, norms
//===----------------------------------------------------------------------===//

/// Those that are given.
static llvm::SmallVector<Input, 3>
present(std::initializer_list<const TensorImpl *> tensors) {
  llvm::SmallVector<Input, 3> inputs;
  for (const TensorImpl *tensor : tensors)
    if (tensor)
      inputs.push_back({tensor, {}});
  return inputs;
}

void PrimitiveBackend::matmul(const TensorImpl &a, const TensorImpl &b,
                              const TensorImpl *bias, TensorImpl &out,
                              const Call &at) {
  call(
      present({&a, &b, bias}), &out, at,
      [&] { return Signature(PrimitiveKind::Matmul); },
      [&](Backend &backend, Inputs in, Outputs outputs) {
        backend.matmul(*in[0].tensor, *in[1].tensor,
                       bias ? in[2].tensor : nullptr, *outputs[0], at);
      });
}

static void addWindow(Signature &signature, const Window &window) {
  for (const Dims *dims : {&window.kernel, &window.strides, &window.dilations,
                           &window.padLow, &window.padHigh, &window.ceilPad})
    signature.add(*dims);
  signature.add(window.groups);
}

void PrimitiveBackend::conv(const TensorImpl &x, const TensorImpl &weights,
                            const TensorImpl *bias, const Window &window,
                            TensorImpl &out, const Call &at) {
  call(
      present({&x, &weights, bias}), &out, at,
      [&] {
        Signature signature(PrimitiveKind::Conv);
        addWindow(signature, window);
        return signature;
      },
      [&](Backend &backend, Inputs in, Outputs outputs) {
        backend.conv(*in[0].tensor, *in[1].tensor,
                     bias ? in[2].tensor : nullptr, window, *outputs[0], at);
      });
}

void PrimitiveBackend::pool(PoolOp op, const TensorImpl &x,
                            const Window &window, TensorImpl &out,
                            const Call &at) {
  call(
      Input{&x, {}}, &out, at,
      [&] {
        Signature signature(PrimitiveKind::Pool);
        addWindow(signature.add(op), window);
        return signature;
      },
      [&](Backend &backend, Inputs in, Outputs outputs) {
        backend.pool(op, *in[0].tensor, window, *outputs[0], at);
      });
}

void PrimitiveBackend::windowGradient(PrimitiveKind kind,
                                      WindowGradient gradient,
                                      const TensorImpl &x, const TensorImpl &dy,
                                      const Window &window, TensorImpl &out,
                                      const Call &at) {
  call(
      present({&x, &dy}), &out, at,
      [&] {
        Signature signature(kind);
        addWindow(signature, window);
        return signature;
      },
      [&](Backend &backend, Inputs in, Outputs outputs) {
        (backend.*gradient)(*in[0].tensor, *in[1].tensor, window, *outputs[0],
                            at);
      });
}

void PrimitiveBackend::convWeightGradient(const TensorImpl &x,
                                          const TensorImpl &dy,
                                          const Window &window, TensorImpl &out,
                                          const Call &at) {
  windowGradient(PrimitiveKind::ConvWeightGradient,
                 &Backend::convWeightGradient, x, dy, window, out, at);
}

void PrimitiveBackend::maxPoolGradient(const TensorImpl &x,
                                       const TensorImpl &dy,
                                       const Window &window, TensorImpl &out,
                                       const Call &at) {
  windowGradient(PrimitiveKind::MaxPoolGradient, &Backend::maxPoolGradient, x,
                 dy, window, out, at);
}

void PrimitiveBackend::softmax(SoftmaxOp op, const TensorImpl &x, int64_t axis,
                               TensorImpl &out, const Call &at) {
  call(
      Input{&x, {}}, &out, at,
      [&] { return Signature(PrimitiveKind::Softmax).add(op).add(axis); },
      [&](Backend &backend, Inputs in, Outputs outputs) {
        backend.softmax(op, *in[0].tensor, axis, *outputs[0], at);
      });
}

void PrimitiveBackend::layerNorm(const TensorImpl &x, const TensorImpl *scale,
                                 const TensorImpl *bias,
                                 const Normalization &norm, TensorImpl &out,
                                 const Call &at) {
  call(
      present({&x, scale, bias}), &out, at,
      [&] {
        return Signature(PrimitiveKind::LayerNorm)
            .add(scale != nullptr)
            .add(norm.numDims)
            .add(norm.epsilon)
            .add(norm.rms);
      },
      [&](Backend &backend, Inputs in, Outputs outputs) {
        size_t next = 1;
        const TensorImpl *s = scale ? in[next++].tensor : nullptr;
        const TensorImpl *b = bias ? in[next++].tensor : nullptr;
        backend.layerNorm(*in[0].tensor, s, b, norm, *outputs[0], at);
      });
}

//===----------------------------------------------------------------------===//
// Movement
//===----------------------------------------------------------------------===//

void PrimitiveBackend::concat(std::span<const TensorImpl *const> inputs,
                              int64_t axis, TensorImpl &out, const Call &at) {
  llvm::SmallVector<Input, 8> operands;
  for (const TensorImpl *input : inputs)
    operands.push_back({input, {}});
  call(
      operands, &out, at,
      [&] { return Signature(PrimitiveKind::Concat).add(axis); },
      [&](Backend &backend, Inputs in, Outputs outputs) {
        llvm::SmallVector<const TensorImpl *, 8> parts;
        for (const Input &input : in)
          parts.push_back(input.tensor);
        backend.concat({parts.data(), parts.size()}, axis, *outputs[0], at);
      });
}

void PrimitiveBackend::pad(const TensorImpl &x, const Dims &low,
                           const Dims &high, PadMode mode, const Scalar &value,
                           TensorImpl &out, const Call &at) {
  call(
      Input{&x, {}}, &out, at,
      [&] {
        return Signature(PrimitiveKind::Pad)
            .add(low)
            .add(high)
            .add(mode)
            .add(value);
      },
      [&](Backend &backend, Inputs in, Outputs outputs) {
        backend.pad(*in[0].tensor, low, high, mode, value, *outputs[0], at);
      });
}

void PrimitiveBackend::flip(const TensorImpl &x, std::span<const int64_t> axes,
                            TensorImpl &out, const Call &at) {
  call(
      Input{&x, {}}, &out, at,
      [&] { return Signature(PrimitiveKind::Flip).add(axes); },
      [&](Backend &backend, Inputs in, Outputs outputs) {
        backend.flip(*in[0].tensor, axes, *outputs[0], at);
      });
}

void PrimitiveBackend::gather(const TensorImpl &x, const TensorImpl &indices,
                              int64_t axis, TensorImpl &out, const Call &at) {
  call(
      present({&x, &indices}), &out, at,
      [&] { return Signature(PrimitiveKind::Gather).add(axis); },
      [&](Backend &backend, Inputs in, Outputs outputs) {
        backend.gather(*in[0].tensor, *in[1].tensor, axis, *outputs[0], at);
      });
}

void PrimitiveBackend::gatherElements(const TensorImpl &x,
                                      const TensorImpl &indices, int64_t axis,
                                      TensorImpl &out, const Call &at) {
  call(
      present({&x, &indices}), &out, at,
      [&] { return Signature(PrimitiveKind::GatherElements).add(axis); },
      [&](Backend &backend, Inputs in, Outputs outputs) {
        backend.gatherElements(*in[0].tensor, *in[1].tensor, axis, *outputs[0],
                               at);
      });
}

void PrimitiveBackend::gatherNd(const TensorImpl &x, const TensorImpl &indices,
                                TensorImpl &out, const Call &at) {
  call(
      present({&x, &indices}), &out, at,
      [&] { return Signature(PrimitiveKind::GatherNd); },
      [&](Backend &backend, Inputs in, Outputs outputs) {
        backend.gatherNd(*in[0].tensor, *in[1].tensor, *outputs[0], at);
      });
}

/// What keeps elements of `out` reads it: on another backend, where that is a
/// new tensor, it holds them first.
static void holdBefore(Backend &backend, const Input &before,
                       TensorImpl &result, const Call &at) {
  if (before.tensor != &result)
    backend.cast(before, result, at);
}

void PrimitiveBackend::scatterElements(ScatterOp op, const TensorImpl &indices,
                                       const TensorImpl &updates, int64_t axis,
                                       TensorImpl &out, const Call &at) {
  call(
      present({&out, &indices, &updates}), &out, at,
      [&] {
        return Signature(PrimitiveKind::ScatterElements).add(op).add(axis);
      },
      [&](Backend &backend, Inputs in, Outputs outputs) {
        holdBefore(backend, in[0], *outputs[0], at);
        backend.scatterElements(op, *in[1].tensor, *in[2].tensor, axis,
                                *outputs[0], at);
      });
}

void PrimitiveBackend::scatterNd(ScatterOp op, const TensorImpl &indices,
                                 const TensorImpl &updates, TensorImpl &out,
                                 const Call &at) {
  call(
      present({&out, &indices, &updates}), &out, at,
      [&] { return Signature(PrimitiveKind::ScatterNd).add(op); },
      [&](Backend &backend, Inputs in, Outputs outputs) {
        holdBefore(backend, in[0], *outputs[0], at);
        backend.scatterNd(op, *in[1].tensor, *in[2].tensor, *outputs[0], at);
      });
}

void PrimitiveBackend::sort(const TensorImpl &x, int64_t axis, bool descending,
                            TensorImpl *values, TensorImpl *indices,
                            const Call &at) {
  llvm::SmallVector<TensorImpl *, 2> results;
  for (TensorImpl *result : {values, indices})
    if (result)
      results.push_back(result);
  call(
      Input{&x, {}}, results, at,
      [&] {
        return Signature(PrimitiveKind::Sort)
            .add(axis)
            .add(descending)
            .add(values != nullptr);
      },
      [&](Backend &backend, Inputs in, Outputs outputs) {
        backend.sort(*in[0].tensor, axis, descending,
                     values ? outputs[0] : nullptr,
                     indices ? outputs.back() : nullptr, at);
      });
}

//===----------------------------------------------------------------------===//
// Sources
//===----------------------------------------------------------------------===//

void PrimitiveBackend::iota(const Scalar &start, const Scalar &step,
                            TensorImpl &out, const Call &at) {
  call(
      {}, &out, at,
      [&] { return Signature(PrimitiveKind::Iota).add(start).add(step); },
      [&](Backend &backend, Inputs, Outputs outputs) {
        backend.iota(start, step, *outputs[0], at);
      });
}

void PrimitiveBackend::random(const Draw &draw, TensorImpl &out,
                              const Call &at) {
  call(
      {}, &out, at,
      [&] {
        return Signature(PrimitiveKind::Random)
            .add(draw.kind)
            .add(draw.a)
            .add(draw.b);
      },
      [&](Backend &backend, Inputs, Outputs outputs) {
        backend.random(draw, *outputs[0], at);
      },
      &draw);
}

} // namespace tinh::eager
