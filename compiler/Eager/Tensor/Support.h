//===- Support.h - What all families of operations share --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From handles to what they refer to, new tensors and views of them, and errors
// that all read alike.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_EAGER_TENSOR_SUPPORT_H
#define TINH_EAGER_TENSOR_SUPPORT_H

#include "compiler/Eager/Primitives/Primitive.h"
#include "compiler/Eager/Tensor/TensorImpl.h"
#include "tinh/tensor.h"

#include <optional>
#include <sstream>

namespace tinh::eager {

struct TensorAccess {
  static TensorImpl *get(const Tensor &tensor) { return tensor.impl; }
  /// Takes over a reference.
  static Tensor make(TensorImpl *impl) { return Tensor(impl); }
  static Tensor share(const TensorImpl &impl) {
    impl.retain();
    return Tensor(const_cast<TensorImpl *>(&impl));
  }
};

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

/// Throws a tinh::Error of INVALID_ARGUMENT with the place and the name of the
/// call before `message`.
[[noreturn]] void failWith(const Call &call, const std::string &message);

/// As failWith, of all that a stream takes.
template <typename... Parts>
[[noreturn]] void fail(const Call &call, const Parts &...parts) {
  std::ostringstream message;
  (message << ... << parts);
  failWith(call, message.str());
}

std::ostream &operator<<(std::ostream &stream, const Dims &dims);

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

[[noreturn]] void failUndefined(const Call &call);

/// `name` with the NameScopes that are open on this thread.
std::string scopedName(std::string_view name);

/// Throws unless a function is being traced.
void requireTracing(const Call &call);

/// What a handle refers to, for its metadata; an error if it refers to nothing.
inline TensorImpl &metadataOf(const Tensor &tensor, const Call &call) {
  TensorImpl *impl = TensorAccess::get(tensor);
  if (!impl) [[unlikely]]
    failUndefined(call);
  return *impl;
}
/// The same for its elements; an error, too, if these were there only while a
/// function was traced.
inline TensorImpl &use(const Tensor &tensor, const Call &call) {
  TensorImpl &impl = metadataOf(tensor, call);
  if (impl.traced) [[unlikely]]
    requireTracing(call);
  return impl;
}
/// As a tensor, also if it is a number.
Tensor toTensor(const Operand &operand, const Call &call);
/// Converted to `dtype`, which costs nothing if it has that already.
Tensor toTensor(const Operand &operand, DType dtype, const Call &call);

/// An operand, or a tensor that may be left out, at the place of another one.
inline Operand sameCall(const Tensor &tensor, const Call &call) {
  return Operand(tensor, call.at);
}

Scalar toScalar(const Number &number, tinh_dtype_t dtype);

//===----------------------------------------------------------------------===//
// Metadata
//===----------------------------------------------------------------------===//

Dims contiguousStrides(const Dims &sizes);
bool isContiguous(const TensorImpl &x);
inline IntArray toArray(const Dims &dims) {
  return IntArray(std::span<const int64_t>(dims));
}
/// As extents of a new tensor: none below 0, at most TINH_MAX_RANK, no
/// overflow.
Dims checkedSizes(const IntArray &shape, DType dtype, const Call &call);

/// Throws if tensors have no elements of `dtype`: floats of 8 and 4 bits.
void requireDType(tinh_dtype_t dtype, const Call &call);

/// 0 ≤ axis < rank (or ≤ rank, for a new dimension), from one that may be
/// negative.
int64_t checkedAxis(int64_t axis, int64_t rank, const Call &call);
/// Which axes are meant: a bit for each; no axes mean all.
uint32_t checkedAxes(const Axes &axes, const TensorImpl &x, const Call &call);
/// The axes of checkedAxes in ascending order.
Dims axesOf(uint32_t mask);

/// The shape that both broadcast to.
Dims broadcastSizes(const Dims &a, const Dims &b, const Call &call);
bool broadcastsTo(const Dims &from, const Dims &to);

//===----------------------------------------------------------------------===//
// New tensors and views
//===----------------------------------------------------------------------===//

/// Contiguous, with memory of its own in which there is nothing yet.
Tensor makeTensor(DType dtype, const Dims &sizes);

Tensor makeView(const TensorImpl &x, const View &how, const Dims &sizes,
                const Dims &strides, int64_t offset);
/// Strides with which x, as it lies in memory, has another shape of as many
/// elements; none if there are none.
std::optional<Dims> stridesOfShape(const TensorImpl &x, const Dims &sizes);
/// Another shape of as many elements: a view, or of a copy.
Tensor reshaped(const TensorImpl &x, const Dims &sizes, const Call &call);
Tensor broadcastView(const TensorImpl &x, const Dims &sizes, const Call &call);
Tensor permuted(const TensorImpl &x, const Dims &order);
/// One axis moved to another place.
Tensor movedAxis(const TensorImpl &x, int64_t from, int64_t to);

/// Copies, converting, to a new contiguous tensor.
Tensor copied(const TensorImpl &x, DType dtype, const Call &call);
Tensor converted(const TensorImpl &x, DType dtype, const Call &call);
/// A tensor of one value.
Tensor filled(const Dims &sizes, const Scalar &value, const Call &call);
void fill(TensorImpl &out, const Scalar &value, const Call &call);
/// Copies, converting and broadcasting, into `out`.
void copyInto(TensorImpl &out, const TensorImpl &x, const Call &call);

/// x[a…, indices[i…], b…]; indices are int64.
Tensor gathered(const TensorImpl &x, const TensorImpl &indices, int64_t axis,
                const Call &call);

/// Throws unless each element of `out` has a place of its own.
void requireWritable(const TensorImpl &out, const Call &call);
/// Whether writing `out` may change what `x` reads, so that x must be copied
/// before; not if they are the very same view.
bool overlapsPartly(const TensorImpl &out, const TensorImpl &x);
/// `x`, or a copy if overlapsPartly.
Tensor withoutOverlap(const TensorImpl &out, const TensorImpl &x,
                      const Call &call);

} // namespace tinh::eager

#endif // TINH_EAGER_TENSOR_SUPPORT_H
