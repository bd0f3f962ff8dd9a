//===- TapeBackend.cpp - Operations that are recorded ---------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Autograd/TapeBackend.h"

#include "compiler/Eager/Autograd/GradMode.h"
#include "compiler/Eager/Autograd/OpNode.h"

#include <bit>

namespace tinh::eager {

namespace {

/// Which primitive a signature is of.
enum class Primitive : uint64_t {
  Elementwise,
  Cast,
  Reduce,
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
};

/// A primitive with its attributes.
class Signature {
public:
  Signature(Primitive primitive) { add(primitive); }
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

using Inputs = llvm::ArrayRef<Input>;
using Outputs = llvm::ArrayRef<TensorImpl *>;

bool matters(const Input &input) {
  return input.tensor && mayHaveHistory(*input.tensor);
}

/// Whether a call has to do with gradients.
bool mustRecord(Inputs inputs, const TensorImpl &out) {
  if (!mayHaveHistory(out) &&
      std::none_of(inputs.begin(), inputs.end(), matters)) [[likely]]
    return false;
  return gradEnabled;
}

void noteWrite(const TensorImpl &out, const Call &call) {
  out.storage->noteWrite(call.name, call.at);
}

/// Calls a primitive of one output. `run` calls it on a backend, with inputs
/// like those given; `sign` gives its signature.
template <typename Sign, typename Run>
void perform(Inputs inputs, TensorImpl &out, const Call &call, Sign sign,
             Run run) {
  if (!mustRecord(inputs, out)) [[likely]] {
    run(eagerBackend(), inputs, out);
    return noteWrite(out, call);
  }
  Signature signature = sign();
  TensorImpl *outputs[] = {&out};
  record(signature.words, {inputs,
                           outputs,
                           call,
                           {},
                           [&](Backend &backend, Inputs in, Outputs results) {
                             run(backend, in, *results[0]);
                           }});
}

} // namespace

//===----------------------------------------------------------------------===//
// Element by element
//===----------------------------------------------------------------------===//

void TapeBackend::view(const View &, const TensorImpl &x, TensorImpl &out) {
  // A view that is made without recording is a constant.
  if (gradEnabled)
    out.base = x.base ? x.base : Ref(const_cast<TensorImpl *>(&x));
}

void TapeBackend::elementwise(ElementwiseOp op, std::span<const Input> inputs,
                              TensorImpl &out, const Call &at) {
  perform(
      Inputs(inputs.data(), inputs.size()), out, at,
      [&] { return Signature(Primitive::Elementwise).add(op); },
      [&](Backend &backend, Inputs in, TensorImpl &result) {
        backend.elementwise(op, {in.data(), in.size()}, result, at);
      });
}

void TapeBackend::cast(const Input &x, TensorImpl &out, const Call &at) {
  perform(
      x, out, at, [&] { return Signature(Primitive::Cast); },
      [&](Backend &backend, Inputs in, TensorImpl &result) {
        backend.cast(in[0], result, at);
      });
}

//===----------------------------------------------------------------------===//
// Reductions and scans
//===----------------------------------------------------------------------===//

void TapeBackend::reduce(ReduceOp op, const TensorImpl &x,
                         std::span<const int64_t> axes, TensorImpl &out,
                         const Call &at) {
  perform(
      Input{&x, {}}, out, at,
      [&] { return Signature(Primitive::Reduce).add(op).add(axes); },
      [&](Backend &backend, Inputs in, TensorImpl &result) {
        backend.reduce(op, *in[0].tensor, axes, result, at);
      });
}

void TapeBackend::argReduce(ArgOp op, const TensorImpl &x, int64_t axis,
                            TensorImpl &out, const Call &at) {
  eagerBackend().argReduce(op, x, axis, out, at); // Integers.
  noteWrite(out, at);
}

void TapeBackend::cumsum(const TensorImpl &x, int64_t axis, TensorImpl &out,
                         const Call &at) {
  perform(
      Input{&x, {}}, out, at,
      [&] { return Signature(Primitive::Cumsum).add(axis); },
      [&](Backend &backend, Inputs in, TensorImpl &result) {
        backend.cumsum(*in[0].tensor, axis, result, at);
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

void TapeBackend::matmul(const TensorImpl &a, const TensorImpl &b,
                         const TensorImpl *bias, TensorImpl &out,
                         const Call &at) {
  perform(
      present({&a, &b, bias}), out, at,
      [&] { return Signature(Primitive::Matmul); },
      [&](Backend &backend, Inputs in, TensorImpl &result) {
        backend.matmul(*in[0].tensor, *in[1].tensor,
                       bias ? in[2].tensor : nullptr, result, at);
      });
}

static void addWindow(Signature &signature, const Window &window) {
  for (const Dims *dims : {&window.kernel, &window.strides, &window.dilations,
                           &window.padLow, &window.padHigh, &window.ceilPad})
    signature.add(*dims);
  signature.add(window.groups);
}

void TapeBackend::conv(const TensorImpl &x, const TensorImpl &weights,
                       const TensorImpl *bias, const Window &window,
                       TensorImpl &out, const Call &at) {
  perform(
      present({&x, &weights, bias}), out, at,
      [&] {
        Signature signature(Primitive::Conv);
        addWindow(signature, window);
        return signature;
      },
      [&](Backend &backend, Inputs in, TensorImpl &result) {
        backend.conv(*in[0].tensor, *in[1].tensor,
                     bias ? in[2].tensor : nullptr, window, result, at);
      });
}

void TapeBackend::pool(PoolOp op, const TensorImpl &x, const Window &window,
                       TensorImpl &out, const Call &at) {
  perform(
      Input{&x, {}}, out, at,
      [&] {
        Signature signature(Primitive::Pool);
        addWindow(signature.add(op), window);
        return signature;
      },
      [&](Backend &backend, Inputs in, TensorImpl &result) {
        backend.pool(op, *in[0].tensor, window, result, at);
      });
}

void TapeBackend::convWeightGradient(const TensorImpl &x, const TensorImpl &dy,
                                     const Window &window, TensorImpl &out,
                                     const Call &at) {
  perform(
      present({&x, &dy}), out, at,
      [&] {
        Signature signature(Primitive::ConvWeightGradient);
        addWindow(signature, window);
        return signature;
      },
      [&](Backend &backend, Inputs in, TensorImpl &result) {
        backend.convWeightGradient(*in[0].tensor, *in[1].tensor, window, result,
                                   at);
      });
}

void TapeBackend::maxPoolGradient(const TensorImpl &x, const TensorImpl &dy,
                                  const Window &window, TensorImpl &out,
                                  const Call &at) {
  perform(
      present({&x, &dy}), out, at,
      [&] {
        Signature signature(Primitive::MaxPoolGradient);
        addWindow(signature, window);
        return signature;
      },
      [&](Backend &backend, Inputs in, TensorImpl &result) {
        backend.maxPoolGradient(*in[0].tensor, *in[1].tensor, window, result,
                                at);
      });
}

void TapeBackend::softmax(SoftmaxOp op, const TensorImpl &x, int64_t axis,
                          TensorImpl &out, const Call &at) {
  perform(
      Input{&x, {}}, out, at,
      [&] { return Signature(Primitive::Softmax).add(op).add(axis); },
      [&](Backend &backend, Inputs in, TensorImpl &result) {
        backend.softmax(op, *in[0].tensor, axis, result, at);
      });
}

void TapeBackend::layerNorm(const TensorImpl &x, const TensorImpl *scale,
                            const TensorImpl *bias, const Normalization &norm,
                            TensorImpl &out, const Call &at) {
  perform(
      present({&x, scale, bias}), out, at,
      [&] {
        return Signature(Primitive::LayerNorm)
            .add(scale != nullptr)
            .add(norm.numDims)
            .add(norm.epsilon)
            .add(norm.rms);
      },
      [&](Backend &backend, Inputs in, TensorImpl &result) {
        size_t next = 1;
        const TensorImpl *s = scale ? in[next++].tensor : nullptr;
        const TensorImpl *b = bias ? in[next++].tensor : nullptr;
        backend.layerNorm(*in[0].tensor, s, b, norm, result, at);
      });
}

//===----------------------------------------------------------------------===//
// Movement
//===----------------------------------------------------------------------===//

void TapeBackend::concat(std::span<const TensorImpl *const> inputs,
                         int64_t axis, TensorImpl &out, const Call &at) {
  llvm::SmallVector<Input, 8> operands;
  for (const TensorImpl *input : inputs)
    operands.push_back({input, {}});
  perform(
      operands, out, at, [&] { return Signature(Primitive::Concat).add(axis); },
      [&](Backend &backend, Inputs in, TensorImpl &result) {
        llvm::SmallVector<const TensorImpl *, 8> parts;
        for (const Input &input : in)
          parts.push_back(input.tensor);
        backend.concat({parts.data(), parts.size()}, axis, result, at);
      });
}

void TapeBackend::pad(const TensorImpl &x, const Dims &low, const Dims &high,
                      PadMode mode, const Scalar &value, TensorImpl &out,
                      const Call &at) {
  perform(
      Input{&x, {}}, out, at,
      [&] {
        return Signature(Primitive::Pad)
            .add(low)
            .add(high)
            .add(mode)
            .add(value);
      },
      [&](Backend &backend, Inputs in, TensorImpl &result) {
        backend.pad(*in[0].tensor, low, high, mode, value, result, at);
      });
}

void TapeBackend::flip(const TensorImpl &x, std::span<const int64_t> axes,
                       TensorImpl &out, const Call &at) {
  perform(
      Input{&x, {}}, out, at,
      [&] { return Signature(Primitive::Flip).add(axes); },
      [&](Backend &backend, Inputs in, TensorImpl &result) {
        backend.flip(*in[0].tensor, axes, result, at);
      });
}

void TapeBackend::gather(const TensorImpl &x, const TensorImpl &indices,
                         int64_t axis, TensorImpl &out, const Call &at) {
  perform(
      present({&x, &indices}), out, at,
      [&] { return Signature(Primitive::Gather).add(axis); },
      [&](Backend &backend, Inputs in, TensorImpl &result) {
        backend.gather(*in[0].tensor, *in[1].tensor, axis, result, at);
      });
}

void TapeBackend::gatherElements(const TensorImpl &x, const TensorImpl &indices,
                                 int64_t axis, TensorImpl &out,
                                 const Call &at) {
  perform(
      present({&x, &indices}), out, at,
      [&] { return Signature(Primitive::GatherElements).add(axis); },
      [&](Backend &backend, Inputs in, TensorImpl &result) {
        backend.gatherElements(*in[0].tensor, *in[1].tensor, axis, result, at);
      });
}

void TapeBackend::gatherNd(const TensorImpl &x, const TensorImpl &indices,
                           TensorImpl &out, const Call &at) {
  perform(
      present({&x, &indices}), out, at,
      [&] { return Signature(Primitive::GatherNd); },
      [&](Backend &backend, Inputs in, TensorImpl &result) {
        backend.gatherNd(*in[0].tensor, *in[1].tensor, result, at);
      });
}

/// What keeps elements of `out` reads it: on another backend, where that is a
/// new tensor, it holds them first.
static void holdBefore(Backend &backend, const Input &before,
                       TensorImpl &result, const Call &at) {
  if (before.tensor != &result)
    backend.cast(before, result, at);
}

void TapeBackend::scatterElements(ScatterOp op, const TensorImpl &indices,
                                  const TensorImpl &updates, int64_t axis,
                                  TensorImpl &out, const Call &at) {
  perform(
      present({&out, &indices, &updates}), out, at,
      [&] { return Signature(Primitive::ScatterElements).add(op).add(axis); },
      [&](Backend &backend, Inputs in, TensorImpl &result) {
        holdBefore(backend, in[0], result, at);
        backend.scatterElements(op, *in[1].tensor, *in[2].tensor, axis, result,
                                at);
      });
}

void TapeBackend::scatterNd(ScatterOp op, const TensorImpl &indices,
                            const TensorImpl &updates, TensorImpl &out,
                            const Call &at) {
  perform(
      present({&out, &indices, &updates}), out, at,
      [&] { return Signature(Primitive::ScatterNd).add(op); },
      [&](Backend &backend, Inputs in, TensorImpl &result) {
        holdBefore(backend, in[0], result, at);
        backend.scatterNd(op, *in[1].tensor, *in[2].tensor, result, at);
      });
}

void TapeBackend::sort(const TensorImpl &x, int64_t axis, bool descending,
                       TensorImpl *values, TensorImpl *indices,
                       const Call &at) {
  Input input{&x, {}};
  if (!values || !mustRecord(input, *values)) {
    eagerBackend().sort(x, axis, descending, values, indices, at);
    for (TensorImpl *out : {values, indices})
      if (out)
        noteWrite(*out, at);
    return;
  }
  llvm::SmallVector<TensorImpl *, 2> outputs = {values};
  if (indices)
    outputs.push_back(indices);
  Signature signature = Signature(Primitive::Sort).add(axis).add(descending);
  record(
      signature.words,
      {input, outputs, at, {}, [&](Backend &backend, Inputs in, Outputs out) {
         backend.sort(*in[0].tensor, axis, descending, out[0],
                      out.size() > 1 ? out[1] : nullptr, at);
       }});
}

//===----------------------------------------------------------------------===//
// Sources
//===----------------------------------------------------------------------===//

/// Writes what depends on no tensor.
template <typename Run>
static void source(TensorImpl &out, const Call &at, Run run) {
  bool changesHistory = mustRecord({}, out);
  if (changesHistory)
    requireNoLeaf(out, at);
  run();
  noteWrite(out, at);
  if (changesHistory)
    setHistory(out, {}, at);
}

void TapeBackend::iota(const Scalar &start, const Scalar &step, TensorImpl &out,
                       const Call &at) {
  source(out, at, [&] { eagerBackend().iota(start, step, out, at); });
}

void TapeBackend::random(const Draw &draw, TensorImpl &out, const Call &at) {
  source(out, at, [&] { eagerBackend().random(draw, out, at); });
}

void TapeBackend::fromHost(const void *data, TensorImpl &out, const Call &at) {
  source(out, at, [&] { eagerBackend().fromHost(data, out, at); });
}

const void *TapeBackend::waitToRead(const TensorImpl &x, const Call &at) {
  return eagerBackend().waitToRead(x, at);
}

void *TapeBackend::waitToWrite(const TensorImpl &x, const Call &at) {
  noteWrite(x, at);
  return eagerBackend().waitToWrite(x, at);
}

//===----------------------------------------------------------------------===//
// The threads' own
//===----------------------------------------------------------------------===//

Backend &recordingBackend() {
  // Never destroyed: static tensors may outlive anything else.
  static auto *backend = new TapeBackend;
  return *backend;
}

} // namespace tinh::eager
