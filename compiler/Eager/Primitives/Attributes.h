//===- Attributes.h - What primitives are told beside tensors ---*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_EAGER_PRIMITIVES_ATTRIBUTES_H
#define TINH_EAGER_PRIMITIVES_ATTRIBUTES_H

#include "compiler/Eager/Tensor/TensorImpl.h"
#include "tinh/random.h"

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

} // namespace tinh::eager

#endif // TINH_EAGER_PRIMITIVES_ATTRIBUTES_H
