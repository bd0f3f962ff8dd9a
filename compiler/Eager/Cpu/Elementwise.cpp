//===- Elementwise.cpp - Element by element, and copies -------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From operands of any strides to kernels of rows.
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Cpu/CpuPrimitives.h"
#include "compiler/Eager/Cpu/RowsOperation.h"
#include "compiler/Eager/Kernels/KernelLibrary.h"

using namespace tinh;
using namespace tinh::eager;

/// Queues `kernel` over the shape of `out`.
template <size_t N>
static void queueRows(Kernel &kernel, std::span<const Input> inputs,
                      TensorImpl &out, const Call &call) {
  const TensorImpl *tensors[N + 1];
  Storage *reads[N];
  size_t numReads = 0;
  for (size_t i = 0; i < N; ++i)
    if ((tensors[i] = inputs[i].tensor))
      reads[numReads++] = tensors[i]->storage.get();
  tensors[N] = &out;
  Storage *writes[] = {out.storage.get()};
  Engine::get().emplace<RowsOperation<N + 1>>(call, std::span(reads, numReads),
                                              writes, kernel, tensors, inputs);
}

void eager::queueElementwise(Kernel &kernel, std::span<const Input> inputs,
                             TensorImpl &out, const Call &call) {
  switch (inputs.size()) {
  case 1:
    return queueRows<1>(kernel, inputs, out, call);
  case 2:
    return queueRows<2>(kernel, inputs, out, call);
  case 3:
    return queueRows<3>(kernel, inputs, out, call);
  case 4:
    return queueRows<4>(kernel, inputs, out, call);
  default:
    static_assert(kMaxElementwiseInputs == 5);
    return queueRows<5>(kernel, inputs, out, call);
  }
}

void kernels::elementwise(const Primitive &primitive) {
  ElementwiseOp op = primitive.get<primitives::Elementwise>().op;
  std::span<const Input> inputs = primitive.inputs;
  const Input &first = inputs[op == ElementwiseOp::Where ? 1 : 0];
  tinh_dtype_t dtype = first.tensor ? first.tensor->dtype : first.scalar.dtype;
  Kernel &kernel = KernelLibrary::get().elementwise(op, dtype);
  queueElementwise(kernel, inputs, primitive.output(), primitive.call);
}

/// Makes the rows of a copy those between which the input's elements are
/// neighbours, if its columns are not; says whether there are such rows.
static bool findTransposition(Iteration<2> &space) {
  if (space.strides[0][0] == 1 || space.strides[1][0] != 1)
    return false;
  for (uint32_t d = 1; d < space.rank; ++d)
    if (space.strides[0][d] == 1) {
      space.swap(1, d);
      return true;
    }
  return false;
}

RowsOperation<2> eager::copyOperation(const TensorImpl &x,
                                      const TensorImpl &out) {
  const TensorImpl *tensors[] = {&x, &out};
  Iteration<2> space(tensors);
  KernelLibrary &library = KernelLibrary::get();
  auto size = static_cast<unsigned>(elementSize(x.dtype));
  bool converts = x.dtype != out.dtype;
  bool turns = !converts && findTransposition(space);
  Kernel &kernel = converts ? library.cast(x.dtype, out.dtype)
                   : turns  ? library.transpose(size)
                            : library.copy(size);
  RowsOperation<2> operation(kernel, space, std::array{Input{&x, {}}}, out);
  if (turns)
    operation.chunks.useSquares();
  return operation;
}

static void queueCopy(const TensorImpl &x, TensorImpl &out, const Call &call) {
  Engine::get().push(call, std::array{x.storage.get()},
                     std::array{out.storage.get()}, copyOperation(x, out));
}

void eager::queueCast(const Input &x, TensorImpl &out, const Call &call) {
  if (x.tensor)
    return queueCopy(*x.tensor, out, call);
  queueRows<1>(KernelLibrary::get().copy(elementSize(out.dtype)), {&x, 1}, out,
               call);
}

void kernels::cast(const Primitive &primitive) {
  queueCast(primitive.inputs[0], primitive.output(), primitive.call);
}

void kernels::flip(const Primitive &primitive) {
  const Dims &axes = primitive.get<primitives::Flip>().axes;
  const TensorImpl &x = primitive.input(0);
  // From the last element backwards.
  TensorImpl backwards;
  setView(backwards, x);
  for (int64_t axis : axes) {
    backwards.offset += (x.sizes[axis] - 1) * x.strides[axis];
    backwards.strides[axis] = -x.strides[axis];
  }
  queueCopy(backwards, primitive.output(), primitive.call);
}
