//===- tinh/operations.h - What can be computed with tensors ----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Functions of tensors; tinh/tensor.h, which includes this, says how errors and
// waiting work. Operands broadcast as in NumPy and are converted to a common
// dtype as in PyTorch (promote_types). An axis may be negative, to count from
// the last. No axes where several may be given means all. Results are new
// tensors, if nothing else is said.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_OPERATIONS_H
#define TINH_OPERATIONS_H

#include "tinh/tensor.h"

#include <string_view>

namespace tinh {

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

Tensor add(Operand a, Operand b);
Tensor sub(Operand a, Operand b);
Tensor mul(Operand a, Operand b);
/// The quotient, floating-point also of integers.
Tensor div(Operand a, Operand b);
/// The quotient rounded down. Of integers by 0, it is 0, as is the remainder.
Tensor floor_divide(Operand a, Operand b);
/// With the sign of b, as Python's %.
Tensor remainder(Operand a, Operand b);
/// With the sign of a, as C's fmod.
Tensor fmod(Operand a, Operand b);
Tensor pow(Operand base, Operand exponent);
/// NaN if either is.
Tensor minimum(Operand a, Operand b);
Tensor maximum(Operand a, Operand b);
/// a + weight · (b - a)
Tensor lerp(Operand a, Operand b, Operand weight);
/// a · b + c
Tensor muladd(Operand a, Operand b, Operand c);

inline Tensor operator+(Operand a, Operand b) { return add(a, b); }
inline Tensor operator-(Operand a, Operand b) { return sub(a, b); }
inline Tensor operator*(Operand a, Operand b) { return mul(a, b); }
inline Tensor operator/(Operand a, Operand b) { return div(a, b); }
inline Tensor operator%(Operand a, Operand b) { return remainder(a, b); }
Tensor neg(Operand x);
inline Tensor operator-(Operand x) { return neg(x); }

//===----------------------------------------------------------------------===//
// Comparison and logic: results are boolean
//===----------------------------------------------------------------------===//

Tensor eq(Operand a, Operand b);
Tensor ne(Operand a, Operand b);
Tensor lt(Operand a, Operand b);
Tensor le(Operand a, Operand b);
Tensor gt(Operand a, Operand b);
Tensor ge(Operand a, Operand b);
inline Tensor operator==(Operand a, Operand b) { return eq(a, b); }
inline Tensor operator!=(Operand a, Operand b) { return ne(a, b); }
inline Tensor operator<(Operand a, Operand b) { return lt(a, b); }
inline Tensor operator<=(Operand a, Operand b) { return le(a, b); }
inline Tensor operator>(Operand a, Operand b) { return gt(a, b); }
inline Tensor operator>=(Operand a, Operand b) { return ge(a, b); }

/// Of any dtype: a number is true if it is not 0.
Tensor logical_and(Operand a, Operand b);
Tensor logical_or(Operand a, Operand b);
Tensor logical_xor(Operand a, Operand b);
Tensor logical_not(Operand x);
Tensor isnan(Operand x);
Tensor isinf(Operand x);
Tensor isfinite(Operand x);
/// |a - b| ≤ atol + rtol · |b|, or equal infinities.
Tensor isclose(Operand a, Operand b, double rtol = 1e-5, double atol = 1e-8,
               bool equal_nan = false);
/// Whether all elements are close. Waits.
bool allclose(Operand a, Operand b, double rtol = 1e-5, double atol = 1e-8,
              bool equal_nan = false);
/// Whether shapes and all elements are equal. Waits.
bool equal(Operand a, Operand b);

/// Bit by bit, of boolean and integer dtypes: these keep their dtype.
Tensor bitwise_and(Operand a, Operand b);
Tensor bitwise_or(Operand a, Operand b);
Tensor bitwise_xor(Operand a, Operand b);
Tensor bitwise_not(Operand x);
Tensor bitwise_left_shift(Operand a, Operand bits);
Tensor bitwise_right_shift(Operand a, Operand bits);
inline Tensor operator&(Operand a, Operand b) { return bitwise_and(a, b); }
inline Tensor operator|(Operand a, Operand b) { return bitwise_or(a, b); }
inline Tensor operator^(Operand a, Operand b) { return bitwise_xor(a, b); }
inline Tensor operator~(Operand x) { return bitwise_not(x); }

/// a where the condition holds, else b.
Tensor where(Operand condition, Operand a, Operand b);

//===----------------------------------------------------------------------===//
// Functions of one operand. Those that are not of integers give float32 for
// them.
//===----------------------------------------------------------------------===//

Tensor abs(Operand x);
Tensor sign(Operand x);
Tensor square(Operand x);
Tensor relu(Operand x);
Tensor clamp(Operand x, Operand low, Operand high);
/// Halves to even; integers stay as they are.
Tensor round(Operand x);
Tensor floor(Operand x);
Tensor ceil(Operand x);
Tensor trunc(Operand x);

Tensor exp(Operand x);
Tensor exp2(Operand x);
Tensor expm1(Operand x);
Tensor log(Operand x);
Tensor log2(Operand x);
Tensor log10(Operand x);
Tensor log1p(Operand x);
Tensor sqrt(Operand x);
Tensor rsqrt(Operand x);
Tensor reciprocal(Operand x);
Tensor erf(Operand x);
Tensor sin(Operand x);
Tensor cos(Operand x);
Tensor tan(Operand x);
Tensor asin(Operand x);
Tensor acos(Operand x);
Tensor atan(Operand x);
Tensor sinh(Operand x);
Tensor cosh(Operand x);
Tensor tanh(Operand x);
Tensor asinh(Operand x);
Tensor acosh(Operand x);
Tensor atanh(Operand x);

Tensor sigmoid(Operand x);
Tensor softplus(Operand x);
/// x / (1 + |x|)
Tensor softsign(Operand x);
Tensor gelu(Operand x, bool tanh_approximation = false);
Tensor silu(Operand x);
Tensor leaky_relu(Operand x, double slope = 0.01);
Tensor elu(Operand x, double alpha = 1);

//===----------------------------------------------------------------------===//
// Reductions. With `keepdims`, reduced dimensions stay as 1.
//===----------------------------------------------------------------------===//

/// Of boolean and integers: int64.
Tensor sum(Operand x, const Axes &axes = {}, bool keepdims = false);
Tensor prod(Operand x, const Axes &axes = {}, bool keepdims = false);
/// Floating-point only.
Tensor mean(Operand x, const Axes &axes = {}, bool keepdims = false);
/// The sum of squared deviations is divided by n - correction: 0 is NumPy's
/// choice.
Tensor var(Operand x, const Axes &axes = {}, bool keepdims = false,
           double correction = 1);
Tensor std(Operand x, const Axes &axes = {}, bool keepdims = false,
           double correction = 1);
/// NaN if any is. An error over no elements.
Tensor max(Operand x, const Axes &axes = {}, bool keepdims = false);
Tensor min(Operand x, const Axes &axes = {}, bool keepdims = false);
Tensor any(Operand x, const Axes &axes = {}, bool keepdims = false);
Tensor all(Operand x, const Axes &axes = {}, bool keepdims = false);
Tensor count_nonzero(Operand x, const Axes &axes = {}, bool keepdims = false);
/// int64 indices of the first extreme element; without an axis, into flatten().
Tensor argmax(Operand x, std::optional<int64_t> axis = {},
              bool keepdims = false);
Tensor argmin(Operand x, std::optional<int64_t> axis = {},
              bool keepdims = false);
/// (Σ |x|^p)^(1/p); p may be infinite.
Tensor norm(Operand x, double p = 2, const Axes &axes = {},
            bool keepdims = false);
Tensor logsumexp(Operand x, const Axes &axes = {}, bool keepdims = false);
/// Running sums and products; of boolean and integers: int64.
Tensor cumsum(Operand x, int64_t axis);
Tensor cumprod(Operand x, int64_t axis);

//===----------------------------------------------------------------------===//
// Products. Dtypes must be equal, for a conversion would be costly.
//===----------------------------------------------------------------------===//

/// Matrix multiplication: a vector is a row (a) or a column (b), leading
/// dimensions broadcast.
Tensor matmul(Operand a, Operand b);
/// Of [batch, m, k] and [batch, k, n].
Tensor bmm(Operand a, Operand b);
/// Of two vectors.
Tensor dot(Operand a, Operand b);
Tensor outer(Operand a, Operand b);
/// x · weightᵀ + bias; the weight is [out, in].
Tensor linear(Operand x, Operand weight, const Tensor &bias = {});
/// Sums of products by Einstein's convention: einsum("bik,bkj->bij", {a, b}).
/// A letter may occur twice in an operand (diagonal), "..." stands for leading
/// dimensions that broadcast, and without "->" the letters that occur once are
/// the result's, in alphabetical order.
Tensor einsum(std::string_view equation, std::initializer_list<Operand> inputs,
              At at = At::current());
Tensor einsum(std::string_view equation, std::span<const Operand> inputs,
              At at = At::current());

//===----------------------------------------------------------------------===//
// Convolution and pooling over [N, C, spatial…] (N may be left out). Lists are
// by spatial dimension, or one number for all; padding may have twice as many:
// those before, then those after.
//===----------------------------------------------------------------------===//

/// The weight is [O, C / groups, kernel…].
Tensor conv1d(Operand x, Operand weight, const Tensor &bias = {},
              const IntArray &stride = 1, const IntArray &padding = 0,
              const IntArray &dilation = 1, int64_t groups = 1);
Tensor conv2d(Operand x, Operand weight, const Tensor &bias = {},
              const IntArray &stride = 1, const IntArray &padding = 0,
              const IntArray &dilation = 1, int64_t groups = 1);
Tensor conv3d(Operand x, Operand weight, const Tensor &bias = {},
              const IntArray &stride = 1, const IntArray &padding = 0,
              const IntArray &dilation = 1, int64_t groups = 1);
/// The weight is [C, O / groups, kernel…]; one to three spatial dimensions.
Tensor conv_transpose(Operand x, Operand weight, const Tensor &bias = {},
                      const IntArray &stride = 1, const IntArray &padding = 0,
                      const IntArray &output_padding = 0,
                      const IntArray &dilation = 1, int64_t groups = 1);

/// No stride: that of the kernel. With `ceil_mode`, a window may end beyond the
/// padding.
Tensor max_pool1d(Operand x, const IntArray &kernel,
                  const IntArray &stride = {}, const IntArray &padding = 0,
                  const IntArray &dilation = 1, bool ceil_mode = false);
Tensor max_pool2d(Operand x, const IntArray &kernel,
                  const IntArray &stride = {}, const IntArray &padding = 0,
                  const IntArray &dilation = 1, bool ceil_mode = false);
Tensor max_pool3d(Operand x, const IntArray &kernel,
                  const IntArray &stride = {}, const IntArray &padding = 0,
                  const IntArray &dilation = 1, bool ceil_mode = false);
Tensor avg_pool1d(Operand x, const IntArray &kernel,
                  const IntArray &stride = {}, const IntArray &padding = 0,
                  bool ceil_mode = false, bool count_include_pad = true);
Tensor avg_pool2d(Operand x, const IntArray &kernel,
                  const IntArray &stride = {}, const IntArray &padding = 0,
                  bool ceil_mode = false, bool count_include_pad = true);
Tensor avg_pool3d(Operand x, const IntArray &kernel,
                  const IntArray &stride = {}, const IntArray &padding = 0,
                  bool ceil_mode = false, bool count_include_pad = true);
/// To the given extents, whatever x's are.
Tensor adaptive_avg_pool1d(Operand x, const IntArray &extents);
Tensor adaptive_avg_pool2d(Operand x, const IntArray &extents);
Tensor adaptive_avg_pool3d(Operand x, const IntArray &extents);

//===----------------------------------------------------------------------===//
// Norms, softmax, attention, embeddings
//===----------------------------------------------------------------------===//

Tensor softmax(Operand x, int64_t axis);
Tensor log_softmax(Operand x, int64_t axis);
/// Over the last dimensions, as many as `shape` has, which says their extents;
/// weight and bias have that shape.
Tensor layer_norm(Operand x, const Shape &shape, const Tensor &weight = {},
                  const Tensor &bias = {}, double epsilon = 1e-5);
/// As layer_norm, dividing by the root mean square only.
Tensor rms_norm(Operand x, const Shape &shape, const Tensor &weight = {},
                double epsilon = 1e-6);
/// By channel (dimension 1), with the statistics given.
Tensor batch_norm(Operand x, const Tensor &mean, const Tensor &variance,
                  const Tensor &weight = {}, const Tensor &bias = {},
                  double epsilon = 1e-5);
/// By channel, with the statistics of x; `mean` and `variance`, if given, move
/// toward these by `momentum`.
Tensor batch_norm_training(Operand x, const Tensor &mean,
                           const Tensor &variance, const Tensor &weight = {},
                           const Tensor &bias = {}, double momentum = 0.1,
                           double epsilon = 1e-5);
Tensor group_norm(Operand x, int64_t groups, const Tensor &weight = {},
                  const Tensor &bias = {}, double epsilon = 1e-5);
/// softmax(query · keyᵀ · scale + mask) · value over [batch…, length, width];
/// scale is 1/√width if not given. A boolean mask says what is seen; `causal`:
/// query i sees keys up to i + (keys - queries): aligned at the lower right, as
/// PyTorch's causal_lower_right, and not as its is_causal.
Tensor scaled_dot_product_attention(Operand query, Operand key, Operand value,
                                    const Tensor &mask = {},
                                    bool causal = false,
                                    std::optional<double> scale = {});
/// Rows of the weight by integer indices.
Tensor embedding(Operand weight, Operand indices);
/// 1 at the index along a new last dimension, else 0; int64.
Tensor one_hot(Operand indices, int64_t classes);

//===----------------------------------------------------------------------===//
// Joining, splitting, reordering
//===----------------------------------------------------------------------===//

Tensor concat(std::initializer_list<Tensor> inputs, int64_t axis = 0,
              At at = At::current());
Tensor concat(std::span<const Tensor> inputs, int64_t axis = 0,
              At at = At::current());
/// Along a new dimension.
Tensor stack(std::initializer_list<Tensor> inputs, int64_t axis = 0,
             At at = At::current());
Tensor stack(std::span<const Tensor> inputs, int64_t axis = 0,
             At at = At::current());
/// Views of the parts: of `size` each (the last may be smaller), of the sizes
/// given, or at most `count` of equal size.
std::vector<Tensor> split(Operand x, int64_t size, int64_t axis = 0);
std::vector<Tensor> split_sizes(Operand x, const IntArray &sizes,
                                int64_t axis = 0);
std::vector<Tensor> chunk(Operand x, int64_t count, int64_t axis = 0);
/// Repeated as a whole, by dimension.
Tensor tile(Operand x, const IntArray &times);
/// Each element repeated.
Tensor repeat_interleave(Operand x, int64_t times, int64_t axis);
Tensor flip(Operand x, const Axes &axes);
/// Moved cyclically.
Tensor roll(Operand x, const IntArray &shifts, const Axes &axes);

enum class Padding { Constant, Edge, Reflect, Wrap };
/// low[d] elements before and high[d] after each dimension d; negative amounts
/// cut.
Tensor pad(Operand x, const IntArray &low, const IntArray &high,
           Padding mode = Padding::Constant, Number value = 0);
/// A view.
Tensor broadcast_to(Operand x, const Shape &shape);
/// Elements on and below, on and above the diagonal of the last two dimensions,
/// which `diagonal` moves up; 0 elsewhere.
Tensor tril(Operand x, int64_t diagonal = 0);
Tensor triu(Operand x, int64_t diagonal = 0);

//===----------------------------------------------------------------------===//
// Elements by index. Indices are integers; negative ones count from the end.
// One out of bounds is an error of the result.
//===----------------------------------------------------------------------===//

/// Whole parts along an axis; index has rank 1.
Tensor index_select(Operand x, int64_t axis, Operand index);
/// Elements of flatten().
Tensor take(Operand x, Operand index);
/// Along the axis, at indices given for every element of the result, whose
/// shape is the index's (at most x's in the other dimensions).
Tensor gather(Operand x, int64_t axis, Operand index);
/// As gather, where x and index broadcast in the other dimensions.
Tensor take_along(Operand x, Operand index, int64_t axis);
/// x with source[i] written (the last one stays), or added, at the indices as
/// of gather.
Tensor scatter(Operand x, int64_t axis, Operand index, Operand source);
Tensor scatter_add(Operand x, int64_t axis, Operand index, Operand source);
/// x with parts of source added to those at the indices.
Tensor index_add(Operand x, int64_t axis, Operand index, Operand source);
Tensor masked_fill(Operand x, Operand mask, Operand value);

struct ValuesAndIndices {
  Tensor values, indices;
};
/// Stable; NaN counts as the largest.
ValuesAndIndices sort(Operand x, int64_t axis = -1, bool descending = false);
Tensor argsort(Operand x, int64_t axis = -1, bool descending = false);
/// The `count` largest (or smallest), in order.
ValuesAndIndices topk(Operand x, int64_t count, int64_t axis = -1,
                      bool largest = true);

/// These wait, for the shapes of their results depend on elements: the indices
/// [count, rank] of elements that are not 0, those elements where a mask of x's
/// shape holds, the sorted distinct elements.
Tensor nonzero(Operand x);
Tensor masked_select(Operand x, Operand mask);
Tensor unique(Operand x);

} // namespace tinh

#endif // TINH_OPERATIONS_H
