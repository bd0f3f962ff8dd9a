//===- Backend.h - What performs operations on tensors ---------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the front end (Tensor/) asks for, once it has checked operands and found
// the shapes and dtypes of the results: the primitives that everything else is
// made of (Primitives/Primitive.h), memory, and to wait. One backend queues
// kernels on the engine, another one adds ops to the graph that is being
// traced.
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
enum class CumulativeOp : uint8_t {
#define CUMULATIVE_OP(NAME, MNEMONIC) NAME,
#include "dialects/graph/ReductionOps.inc"
};
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
struct Primitive;

class Backend {
public:
  virtual ~Backend() = default;
  /// The one of this thread: recordingBackend(), unless another one was put in
  /// its place.
  static Backend &current();

  /// Gives a new tensor, whose metadata is set, a storage of its own: called
  /// for each tensor that is made and is no view, before a primitive writes it.
  virtual void allocate(TensorImpl &out);

  /// See Primitives/Primitive.h, which has functions that make one and call
  /// this.
  virtual void perform(const Primitive &primitive) = 0;
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

/// The engine's (Primitives/Dispatch.h).
Backend &eagerBackend();
/// The same, where what is done with tensors that require gradients is
/// recorded.
Backend &recordingBackend();

} // namespace tinh::eager

#endif // TINH_EAGER_BACKEND_H
