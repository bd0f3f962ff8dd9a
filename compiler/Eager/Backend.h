//===- Backend.h - What operations on tensors are made of -------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The primitives that the front end (Tensor/) asks for, once it has checked
// operands and found the shapes and dtypes of the results. One backend queues
// kernels on the engine, another one adds ops to the graph that is being
// traced.
//
// What holds for all primitives:
//  - All shapes and dtypes are final and fit; nothing is promoted here, and
//    nothing broadcast unless said so.
//  - `out` is new and contiguous, or a view (any strides, none of them 0 but in
//    dimensions of 1) that is written in place. An input either does not
//    overlap `out` in memory or, in element-wise ops and casts from the same
//    dtype, is the very same view of it.
//  - Inputs have any strides, 0 included.
//  - Neither inputs nor `out` are empty: the front end does what little there
//    is to do about empty tensors. A storage that nothing has written yet
//    may be read all the same; what it holds then is undefined.
//  - The objects are the caller's and may be gone when the call returns; a
//    backend that works later keeps copies of the metadata and references to
//    the storages.
//  - f16 and bf16 are computed in f32 and rounded once.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_EAGER_BACKEND_H
#define TINH_EAGER_BACKEND_H

#include "compiler/Eager/Engine/Engine.h"
#include "compiler/Eager/Tensor/TensorImpl.h"
#include "tinh/random.h"

#include <span>

namespace tinh::eager {

/// A number in place of a tensor, of the dtype that the operation computes in:
/// `real` of floating-point dtypes, else `integer` (bool: 0 or 1).
struct Scalar {
  tinh_dtype_t dtype;
  union {
    double real;
    int64_t integer; // Of u64, the same bits.
  };
};

/// An input: a tensor or, if that is null, a number.
struct Input {
  const TensorImpl *tensor = nullptr;
  Scalar scalar = {};
};

/// Element by element; the names and meanings are those of the graph dialect,
/// if nothing else is said. All operands have one dtype, but for the condition
/// of Where and the result of a comparison or test, which are bool.
enum class ElementwiseOp : uint8_t {
// One operand.
#define UNARY_OP(NAME, ...) NAME,
#define UNARY_TEST(NAME, ...) NAME,
#include "dialects/graph/ElementwiseOps.inc"
  GeluTanh,
  Silu, ///< x · sigmoid(x)
// Two operands. Quotients and remainders of integers by zero are 0, and the
// lowest number by -1 wraps: neither traps.
#define BINARY_OP(NAME, ...) NAME,
#define COMPARISON(NAME, ...) NAME,
#include "dialects/graph/ElementwiseOps.inc"
  LeakyRelu, ///< a > 0 ? a : a · b
  Elu,       ///< a > 0 ? a : b · (e^a - 1)
  // Three operands.
  Where,  ///< a ? b : c
  Clamp,  ///< min(max(a, b), c)
  MulAdd, ///< a · b + c, rounded once or twice
};

enum class ReduceOp : uint8_t { Sum, Mean, Prod, Max, Min };
enum class ArgOp : uint8_t { Max, Min };
enum class PoolOp : uint8_t { Max, Mean, MeanWithPadding };
enum class SoftmaxOp : uint8_t { Softmax, LogSoftmax };
enum class PadMode : uint8_t { Constant, Edge, Reflect, Wrap };
enum class ScatterOp : uint8_t { Assign, Add, Mul, Max, Min };

/// Of an N-dimensional convolution or pooling over [N, C, spatial…]; arrays by
/// spatial dimension. The result's extents are
///   (in + padLow + padHigh - (kernel - 1) · dilation - 1) / stride + 1.
struct Window {
  Dims kernel, strides, dilations, padLow, padHigh;
  /// How much of padHigh is there only so that the last window, which ends
  /// beyond the padding asked for, exists: MeanWithPadding does not count it.
  Dims ceilPad;
  int64_t groups = 1;
};

/// Statistics over the last `numDims` dimensions of x.
struct Normalization {
  uint32_t numDims;
  double epsilon;
  bool rms; ///< Divide by the root mean square; the mean is not subtracted.
};

/// The numbers drawn from Philox4x32-10, as compiler/Eager/Random.h defines for
/// the element at each (row-major) index: they depend on nothing else.
struct Draw {
  enum Kind : uint8_t {
    Uniform,   ///< low ≤ y < high; floating-point
    Normal,    ///< mean a, standard deviation b; floating-point
    Bernoulli, ///< 1 with probability a; any dtype
    Integers   ///< a ≤ y < b; integers
  };
  Kind kind;
  Scalar a, b;  ///< f64, or i64 for Integers (bits of b - a: u64; 0 is 2^64).
  uint64_t key; ///< The generator's seed.
  uint64_t counter; ///< Of the first block; the generator is beyond them all.
  /// What the numbers were drawn from.
  const std::shared_ptr<Generator::State> *generator;
};

/// How the elements of a view are those of the tensor that it was made from.
/// Sizes are the view's own.
struct View {
  enum Kind : uint8_t {
    Slice,     ///< From `starts` on in steps of `steps` ≥ 1, all dimensions.
    Transpose, ///< Dimension i is dimension `permutation[i]` of the tensor.
    Reshape,   ///< In row-major order.
    Broadcast  ///< By NumPy's rule.
  };
  Kind kind;
  Dims starts, steps, permutation;
};

class Autograd;

class Backend {
public:
  virtual ~Backend() = default;
  /// The one of this thread: recordingBackend(), unless another one was put in
  /// its place.
  static Backend &current();

  /// Gives a new tensor, whose metadata is set, a storage of its own: called
  /// for each tensor that is made and is no view, before a primitive writes it.
  virtual void allocate(TensorImpl &out);

  //===--------------------------------------------------------------------===//
  // Element by element
  //===--------------------------------------------------------------------===//

  /// Inputs broadcast to the shape of `out` by NumPy's rule.
  virtual void elementwise(ElementwiseOp op, std::span<const Input> inputs,
                           TensorImpl &out, const Call &call) = 0;
  /// Converts as graph.cast does, or copies if the dtypes are equal; `x`
  /// broadcasts to the shape of `out`, and a number fills it.
  virtual void cast(const Input &x, TensorImpl &out, const Call &call) = 0;

  //===--------------------------------------------------------------------===//
  // Reductions and scans. Axes are ascending and non-negative; `out` has the
  // rank of x, with 1 for the axes.
  //===--------------------------------------------------------------------===//

  /// x and out have the same dtype; Mean is of floating-point dtypes. Of bool,
  /// only Max ("any") and Min ("all"). Max and Min propagate NaN.
  virtual void reduce(ReduceOp op, const TensorImpl &x,
                      std::span<const int64_t> axes, TensorImpl &out,
                      const Call &call) = 0;
  /// The i64 index of the first extreme element; NaN counts as extreme.
  virtual void argReduce(ArgOp op, const TensorImpl &x, int64_t axis,
                         TensorImpl &out, const Call &call) = 0;
  /// y[i] = Σ_{j ≤ i} x[j] along the axis; same shape and dtype.
  virtual void cumsum(const TensorImpl &x, int64_t axis, TensorImpl &out,
                      const Call &call) = 0;

  //===--------------------------------------------------------------------===//
  // Products, windows, norms. One dtype for all operands. `bias`, `scale` may
  // be null.
  //===--------------------------------------------------------------------===//

  /// out[…, m, n] = Σ_k a[…, m, k] · b[…, k, n] + bias[…, m, n]. Ranks are at
  /// least 2; leading dimensions broadcast to those of `out`, and all of bias
  /// to its shape. Any dtype but bool.
  virtual void matmul(const TensorImpl &a, const TensorImpl &b,
                      const TensorImpl *bias, TensorImpl &out,
                      const Call &call) = 0;
  /// x is [N, C, spatial…], weights [O, C / groups, kernel…], bias [O], out
  /// [N, O, spatial…]. Padding is zeros.
  virtual void conv(const TensorImpl &x, const TensorImpl &weights,
                    const TensorImpl *bias, const Window &window,
                    TensorImpl &out, const Call &call) = 0;
  /// The gradient of such a convolution by its weights, in the shape of these,
  /// where dy is that by its result:
  /// out[o, c, k…] = Σ dy[n, o, i…] · x[n, c, i · stride + k · dilation -
  /// pad…].
  virtual void convWeightGradient(const TensorImpl &x, const TensorImpl &dy,
                                  const Window &window, TensorImpl &out,
                                  const Call &call) = 0;
  /// x is [N, C, spatial…]. Padding is never the largest; Mean divides by the
  /// number of elements of x in the window. No window lies in padding alone.
  virtual void pool(PoolOp op, const TensorImpl &x, const Window &window,
                    TensorImpl &out, const Call &call) = 0;
  /// The gradient of Max by x, in its shape, where dy is that by the result:
  /// each element of dy is added where the first of its window's largest
  /// elements is; NaN counts as the largest. Floating-point.
  virtual void maxPoolGradient(const TensorImpl &x, const TensorImpl &dy,
                               const Window &window, TensorImpl &out,
                               const Call &call) = 0;
  /// Along any one axis, after subtracting the maximum. Floating-point.
  virtual void softmax(SoftmaxOp op, const TensorImpl &x, int64_t axis,
                       TensorImpl &out, const Call &call) = 0;
  /// (x - mean) / sqrt(variance + epsilon) · scale + bias, the variance biased;
  /// scale and bias have the shape of the dimensions normalised over.
  virtual void layerNorm(const TensorImpl &x, const TensorImpl *scale,
                         const TensorImpl *bias, const Normalization &norm,
                         TensorImpl &out, const Call &call) = 0;

  //===--------------------------------------------------------------------===//
  // Movement: x and out have the same dtype. Indices are i64 and may be
  // negative, to count from the end. One out of bounds is found when the
  // operation runs, which then fails with TINH_INVALID_ARGUMENT and a sentence
  // that names the index, the dimension and its extent.
  //===--------------------------------------------------------------------===//

  virtual void concat(std::span<const TensorImpl *const> inputs, int64_t axis,
                      TensorImpl &out, const Call &call) = 0;
  /// Adds low[d] ≥ 0 elements before and high[d] ≥ 0 after dimension d; `value`
  /// for Constant. Reflect: fewer than there are; Wrap: at most as many.
  virtual void pad(const TensorImpl &x, const Dims &low, const Dims &high,
                   PadMode mode, const Scalar &value, TensorImpl &out,
                   const Call &call) = 0;
  /// The order of elements reversed along `axes`.
  virtual void flip(const TensorImpl &x, std::span<const int64_t> axes,
                    TensorImpl &out, const Call &call) = 0;
  /// out[a…, i…, b…] = x[a…, indices[i…], b…], a… the dimensions before `axis`.
  virtual void gather(const TensorImpl &x, const TensorImpl &indices,
                      int64_t axis, TensorImpl &out, const Call &call) = 0;
  /// out[i] = x[i with its entry for `axis` replaced by indices[i]]; indices
  /// and out have the same shape, at most x's in the other dimensions.
  virtual void gatherElements(const TensorImpl &x, const TensorImpl &indices,
                              int64_t axis, TensorImpl &out,
                              const Call &call) = 0;
  /// indices is [i…, k]: out[i…, b…] = x[indices[i…, 0], …, indices[i…, k-1],
  /// b…].
  virtual void gatherNd(const TensorImpl &x, const TensorImpl &indices,
                        TensorImpl &out, const Call &call) = 0;
  /// In row-major order of the indices: out[i with its entry for `axis`
  /// replaced by indices[i]] = or += … updates[i]. updates has the shape of
  /// indices, which is at most out's in the other dimensions. Other elements of
  /// `out` stay as they are. Max and Min propagate NaN.
  virtual void scatterElements(ScatterOp op, const TensorImpl &indices,
                               const TensorImpl &updates, int64_t axis,
                               TensorImpl &out, const Call &call) = 0;
  /// indices is [i…, k], updates [i…, b…]: out[indices[i…, 0], …, indices[i…,
  /// k-1], b…] = or += … updates[i…, b…], in row-major order of the indices.
  virtual void scatterNd(ScatterOp op, const TensorImpl &indices,
                         const TensorImpl &updates, TensorImpl &out,
                         const Call &call) = 0;

  /// Elements sorted (stably) along the axis, and their i64 indices: as many
  /// as `values` and `indices`, one of which may be null, have along it. NaN is
  /// larger than all numbers.
  virtual void sort(const TensorImpl &x, int64_t axis, bool descending,
                    TensorImpl *values, TensorImpl *indices,
                    const Call &call) = 0;

  //===--------------------------------------------------------------------===//
  // Sources
  //===--------------------------------------------------------------------===//

  /// out[i] = start + i · step, computed in f64 or i64 (the dtype of both
  /// numbers), then converted. `out` has rank 1.
  virtual void iota(const Scalar &start, const Scalar &step, TensorImpl &out,
                    const Call &call) = 0;
  virtual void random(const Draw &draw, TensorImpl &out, const Call &call) = 0;
  /// The bytes at `data`, in row-major order, which are copied before the call
  /// returns. `out` is contiguous.
  virtual void fromHost(const void *data, TensorImpl &out,
                        const Call &call) = 0;

  //===--------------------------------------------------------------------===//
  // Waiting
  //===--------------------------------------------------------------------===//

  /// Blocks until what was queued to write the storage of `x` is done, and
  /// returns where the storage begins, to be read as long as the caller refers
  /// to it and queues nothing that writes it. Throws what kept it from being
  /// written. Also called for an empty `x`, where the result means nothing.
  virtual const void *waitToRead(const TensorImpl &x, const Call &call) = 0;
  /// As waitToRead, but waits for what reads the storage too: it may then be
  /// written by the caller.
  virtual void *waitToWrite(const TensorImpl &x, const Call &call) = 0;

  //===--------------------------------------------------------------------===//
  // Views
  //===--------------------------------------------------------------------===//

  /// Told of each view that is made: `out`, with its metadata and the storage
  /// of x, of `x`. May be empty. Nothing is to be done unless a graph is being
  /// made.
  virtual void view(const View &view, const TensorImpl &x, TensorImpl &out) {}
  /// Whether tensors stand for values that are not there yet (Function/).
  virtual bool isTracing() const { return false; }

  /// What tinh/autograd.h asks for (Autograd/Autograd.h): the tape's, unless a
  /// graph is being made.
  virtual Autograd &autograd();
};

/// Puts a backend in the place of this thread's while it lives.
class BackendScope {
public:
  explicit BackendScope(Backend &backend);
  ~BackendScope();
  BackendScope(const BackendScope &) = delete;
  BackendScope &operator=(const BackendScope &) = delete;

private:
  Backend *previous;
};

/// The engine's (EagerBackend/, and Cuda/ once a GPU is used).
Backend &eagerBackend();
/// The same, where what is done with tensors that require gradients is recorded
/// (Autograd/TapeBackend.h).
Backend &recordingBackend();

} // namespace tinh::eager

#endif // TINH_EAGER_BACKEND_H
