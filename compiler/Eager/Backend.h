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

namespace tinh::eager {

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
