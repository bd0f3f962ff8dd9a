//===- Primitive.h - What operations on tensors are made of -----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A primitive is data: its attributes, whose type is its kind, its inputs and
// its outputs. The front end (Tensor/) makes one once it has checked operands
// and found the shapes and dtypes of the results; what performs it is decided
// in Dispatch.cpp. What can perform all of them has a table with a function for
// each kind: the CPU's kernels (Cpu/CpuPrimitives.cpp), the ops of a
// graph that is being traced (Function/TraceBackend.cpp), the tests' naive
// twin.
//
// What holds for all primitives:
//  - All shapes and dtypes are final and fit; nothing is promoted here, and
//    nothing broadcast unless said so.
//  - An output is new and contiguous, or a view (any strides, none of them 0
//    but in dimensions of 1) that is written in place. An input either does not
//    overlap an output in memory or, in element-wise ops and casts from the
//    same dtype, is the very same view of it.
//  - Inputs have any strides, 0 included. They are tensors; numbers only in
//    element-wise ops and casts.
//  - Neither inputs nor outputs are empty: the front end does what little there
//    is to do about empty tensors. A storage that nothing has written yet
//    may be read all the same; what it holds then is undefined.
//  - The primitive and all that it refers to are the caller's and may be gone
//    when the call returns; what works later keeps copies of attributes and
//    metadata, and references to the storages.
//  - f16 and bf16 are computed in f32 and rounded once.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_EAGER_PRIMITIVES_PRIMITIVE_H
#define TINH_EAGER_PRIMITIVES_PRIMITIVE_H

#include "compiler/Eager/Backend.h"
#include "compiler/Eager/Primitives/Attributes.h"

#include <tuple>
#include <variant>

namespace tinh::eager {

/// The kinds of primitives, each with its attributes, and as key() those that
/// tell calls apart which share what is compiled for them.
namespace primitives {

//===----------------------------------------------------------------------===//
// Element by element
//===----------------------------------------------------------------------===//

/// Inputs broadcast to the shape of the output by NumPy's rule.
struct Elementwise {
  ElementwiseOp op;
  auto key() const { return std::tie(op); }
};
/// Converts as graph.cast does, or copies if the dtypes are equal; the input
/// broadcasts to the shape of the output, and a number fills it.
struct Cast {
  auto key() const { return std::tie(); }
};

//===----------------------------------------------------------------------===//
// Reductions and scans of x. Axes are ascending and non-negative; the output
// has the rank of x, with 1 for the axes that are reduced.
//===----------------------------------------------------------------------===//

/// x and the output have the same dtype; Mean is of floating-point dtypes. Of
/// bool, only Max ("any") and Min ("all"). Max and Min propagate NaN.
struct Reduce {
  ReduceOp op;
  Dims axes;
  auto key() const { return std::tie(op, axes); }
};
/// The i64 index of the first extreme element; NaN counts as extreme.
struct ArgReduce {
  ArgOp op;
  int64_t axis;
  auto key() const { return std::tie(op, axis); }
};
/// y[i] combines x[j] for all j ≤ i along the axis; same shape and dtype.
struct Cumulative {
  CumulativeOp op;
  int64_t axis;
  auto key() const { return std::tie(op, axis); }
};

//===----------------------------------------------------------------------===//
// Products, windows, norms. One dtype for all operands. Biases, and the scale
// of LayerNorm, may be left out.
//===----------------------------------------------------------------------===//

/// Of a, b, bias: y[…, m, n] = Σ_k a[…, m, k] · b[…, k, n] + bias[…, m, n].
/// Ranks are at least 2; leading dimensions broadcast to those of the output,
/// and all of bias to its shape. Any dtype but bool.
struct Matmul {
  auto key() const { return std::tie(); }
};
/// Of x [N, C, spatial…], weights [O, C / groups, kernel…], bias [O]; the
/// output is [N, O, spatial…]. Padding is zeros.
struct Conv {
  Window window;
  auto key() const { return std::tie(window); }
};
/// Of x, dy: the gradient of such a convolution by its weights, in the shape of
/// these, where dy is that by its result:
/// y[o, c, k…] = Σ dy[n, o, i…] · x[n, c, i · stride + k · dilation - pad…].
struct ConvWeightGradient {
  Window window;
  auto key() const { return std::tie(window); }
};
/// x is [N, C, spatial…]. Padding is never the largest; Mean divides by the
/// number of elements of x in the window. No window lies in padding alone.
struct Pool {
  PoolOp op;
  Window window;
  auto key() const { return std::tie(op, window); }
};
/// Of x, dy: the gradient of Max by x, in its shape, where dy is that by the
/// result: each element of dy is added where the first of its window's largest
/// elements is; NaN counts as the largest. Floating-point.
struct MaxPoolGradient {
  Window window;
  auto key() const { return std::tie(window); }
};
/// Along any one axis, after subtracting the maximum. Floating-point.
struct Softmax {
  SoftmaxOp op;
  int64_t axis;
  auto key() const { return std::tie(op, axis); }
};
/// Of x, scale, bias: (x - mean) / sqrt(variance + epsilon) · scale + bias, the
/// variance biased; scale and bias have the shape of the dimensions normalised
/// over.
struct LayerNorm {
  Normalization norm;
  bool hasScale; ///< Else the second input is the bias, if there is one.
  auto key() const {
    return std::tie(norm.numDims, norm.epsilon, norm.rms, hasScale);
  }
};

//===----------------------------------------------------------------------===//
// Movement: x and the output have the same dtype. Indices are i64 and may be
// negative, to count from the end. One out of bounds is found when the
// operation runs, which then fails with TINH_INVALID_ARGUMENT and a sentence
// that names the index, the dimension and its extent.
//===----------------------------------------------------------------------===//

/// Any number of inputs.
struct Concat {
  int64_t axis;
  auto key() const { return std::tie(axis); }
};
/// Adds low[d] ≥ 0 elements before and high[d] ≥ 0 after dimension d; `value`
/// for Constant. Reflect: fewer than there are; Wrap: at most as many.
struct Pad {
  Dims low, high;
  PadMode mode;
  Scalar value;
  auto key() const { return std::tie(low, high, mode, value); }
};
/// The order of elements reversed along `axes`.
struct Flip {
  Dims axes;
  auto key() const { return std::tie(axes); }
};
/// Of x, indices: y[a…, i…, b…] = x[a…, indices[i…], b…], a… the dimensions
/// before `axis`.
struct Gather {
  int64_t axis;
  auto key() const { return std::tie(axis); }
};
/// Of x, indices: y[i] = x[i with its entry for `axis` replaced by indices[i]];
/// indices and y have the same shape, at most x's in the other dimensions.
struct GatherElements {
  int64_t axis;
  auto key() const { return std::tie(axis); }
};
/// Of x, indices [i…, k]: y[i…, b…] = x[indices[i…, 0], …, indices[i…, k-1],
/// b…].
struct GatherNd {
  auto key() const { return std::tie(); }
};
/// Of y, indices, updates, in row-major order of the indices: y[i with its
/// entry for `axis` replaced by indices[i]] = or += … updates[i]. updates has
/// the shape of indices, which is at most y's in the other dimensions. Other
/// elements stay as they are: y is an input, too, the very same as the output,
/// but for those in graphs, which have values and no memory. Max and Min
/// propagate NaN.
struct ScatterElements {
  ScatterOp op;
  int64_t axis;
  auto key() const { return std::tie(op, axis); }
};
/// Of y (as above), indices [i…, k], updates [i…, b…]: y[indices[i…, 0], …,
/// indices[i…, k-1], b…] = or += … updates[i…, b…], in row-major order of the
/// indices.
struct ScatterNd {
  ScatterOp op;
  auto key() const { return std::tie(op); }
};
/// The outputs are elements sorted (stably) along the axis, and their i64
/// indices, or one of the two: as many as the outputs have along it. NaN is
/// larger than all numbers.
struct Sort {
  int64_t axis;
  bool descending;
  bool hasValues; ///< Else the only output is indices.
  auto key() const { return std::tie(axis, descending, hasValues); }
};

//===----------------------------------------------------------------------===//
// Sources: no inputs.
//===----------------------------------------------------------------------===//

/// y[i] = start + i · step, computed in f64 or i64 (the dtype of both
/// numbers), then converted. Of rank 1.
struct Iota {
  Scalar start, step;
  auto key() const { return std::tie(start, step); }
};
struct Random {
  Draw draw;
  auto key() const { return std::tie(draw.kind, draw.a, draw.b); }
};

} // namespace primitives

/// All kinds, each with the name of the functions that perform it. Who has a
/// function for each makes its table, in the order of Attributes, of this.
#define TINH_PRIMITIVES(KIND)                                                  \
  KIND(Elementwise, elementwise)                                               \
  KIND(Cast, cast)                                                             \
  KIND(Reduce, reduce)                                                         \
  KIND(ArgReduce, argReduce)                                                   \
  KIND(Cumulative, cumulative)                                                 \
  KIND(Matmul, matmul)                                                         \
  KIND(Conv, conv)                                                             \
  KIND(ConvWeightGradient, convWeightGradient)                                 \
  KIND(Pool, pool)                                                             \
  KIND(MaxPoolGradient, maxPoolGradient)                                       \
  KIND(Softmax, softmax)                                                       \
  KIND(LayerNorm, layerNorm)                                                   \
  KIND(Concat, concat)                                                         \
  KIND(Pad, pad)                                                               \
  KIND(Flip, flip)                                                             \
  KIND(Gather, gather)                                                         \
  KIND(GatherElements, gatherElements)                                         \
  KIND(GatherNd, gatherNd)                                                     \
  KIND(ScatterElements, scatterElements)                                       \
  KIND(ScatterNd, scatterNd)                                                   \
  KIND(Sort, sort)                                                             \
  KIND(Iota, iota)                                                             \
  KIND(Random, random)

namespace primitives {

namespace detail {
template <typename None, typename... Kinds> struct Variant {
  using type = std::variant<Kinds...>;
};
} // namespace detail

#define TINH_KIND(NAME, FUNCTION) , NAME
/// A kind with its attributes.
using Attributes = detail::Variant<void TINH_PRIMITIVES(TINH_KIND)>::type;
#undef TINH_KIND

} // namespace primitives

struct Primitive {
  const primitives::Attributes &attributes;
  std::span<const Input> inputs;
  std::span<TensorImpl *const> outputs;
  const Call &call;

  size_t kind() const { return attributes.index(); }
  /// Whether it is of one of these kinds.
  template <typename... Kinds> bool is() const {
    return (std::holds_alternative<Kinds>(attributes) || ...);
  }
  /// The attributes of a primitive that is of this kind.
  template <typename Kind> const Kind &get() const {
    return std::get<Kind>(attributes);
  }

  const TensorImpl &input(size_t i) const { return *inputs[i].tensor; }
  /// Null if it is left out.
  const TensorImpl *optionalInput(size_t i) const {
    return i < inputs.size() ? inputs[i].tensor : nullptr;
  }
  TensorImpl &output(size_t i = 0) const { return *outputs[i]; }

  // Of LayerNorm.
  const TensorImpl *scale() const {
    return get<primitives::LayerNorm>().hasScale ? &input(1) : nullptr;
  }
  const TensorImpl *bias() const {
    return optionalInput(get<primitives::LayerNorm>().hasScale ? 2 : 1);
  }
  // Of Sort; null if it is not wanted.
  TensorImpl *values() const {
    return get<primitives::Sort>().hasValues ? outputs[0] : nullptr;
  }
  TensorImpl *indices() const {
    return values() && outputs.size() == 1 ? nullptr : outputs.back();
  }
};

/// What performs the primitives of one kind.
using PrimitiveFunction = void(const Primitive &primitive);

/// Has this thread's backend, or another one, perform a primitive.
inline void perform(const primitives::Attributes &attributes,
                    std::span<const Input> inputs, TensorImpl &output,
                    const Call &call, Backend &backend = Backend::current()) {
  TensorImpl *outputs[] = {&output};
  backend.perform({attributes, inputs, outputs, call});
}
/// Of at most three tensors: those that are not null.
void perform(const primitives::Attributes &attributes,
             std::initializer_list<const TensorImpl *> inputs,
             TensorImpl &output, const Call &call);

} // namespace tinh::eager

#endif // TINH_EAGER_PRIMITIVES_PRIMITIVE_H
