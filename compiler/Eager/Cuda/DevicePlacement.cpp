//===- DevicePlacement.cpp - Operations where their operands lie ----------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Cuda/DevicePlacement.h"

#include "compiler/Eager/Cpu/CpuPrimitives.h"
#include "compiler/Eager/Cpu/Operands.h"
#include "compiler/Eager/Cuda/GpuPrimitives.h"
#include "compiler/Eager/Cuda/GpuRun.h"
#include "compiler/Eager/Primitives/Dispatch.h"
#include "compiler/Eager/Tensor/Device.h"

namespace tinh::eager {

//===----------------------------------------------------------------------===//
// Which device
//===----------------------------------------------------------------------===//

/// Whether `x` can be read on any device: there is nothing in it yet, or it
/// counts as a number.
static bool isAnywhere(const TensorImpl &x) {
  return x.storage->isOpen() || (x.rank() == 0 && x.storage->place() == 0);
}

/// Where a primitive is computed: where outputs lie that are not new, else
/// where its tensors lie, else what the thread has chosen.
static uint8_t placeOf(const Primitive &primitive) {
  for (const TensorImpl *output : primitive.outputs)
    if (!output->storage->isOpen())
      return output->storage->place();
  bool hasTensor = false;
  for (const Input &input : primitive.inputs) {
    if (input.tensor && !isAnywhere(*input.tensor))
      return input.tensor->storage->place();
    hasTensor |= input.tensor != nullptr;
  }
  return hasTensor ? 0 : placeOf(currentDevice());
}

[[noreturn]] static void failMixed(const TensorImpl &x, uint8_t place,
                                   const Call &call) {
  Device here = deviceAt(x.storage->place()), there = deviceAt(place);
  fail(call, "a tensor of shape ", x.sizes, " lies on ", here,
       " and another one on ", there,
       "; move one of them, as by .to(tinh::Device::",
       there.is_cpu() ? "cpu()" : "cuda(" + std::to_string(there.index()) + ")",
       ")");
}

static void choosePlace(const TensorImpl &x, uint8_t place) {
  x.storage->choosePlace(place, place ? &Gpu::atPlace(place).pool() : nullptr);
}

/// Puts inputs and outputs that lie nowhere yet in a place, where all others
/// must be.
static void placeAll(const Primitive &primitive, uint8_t place) {
  for (const Input &input : primitive.inputs) {
    if (!input.tensor)
      continue;
    if (input.tensor->storage->isOpen())
      choosePlace(*input.tensor, place);
    else if (input.tensor->storage->place() != place &&
             !isAnywhere(*input.tensor))
      failMixed(*input.tensor, place, primitive.call);
  }
  for (const TensorImpl *output : primitive.outputs)
    if (output->storage->isOpen())
      choosePlace(*output, place);
    else if (output->storage->place() != place)
      failMixed(*output, place, primitive.call);
}

//===----------------------------------------------------------------------===//
// Between devices
//===----------------------------------------------------------------------===//

/// A new tensor in a place, contiguous.
static Ref<TensorImpl> makeAt(uint8_t place, tinh_dtype_t dtype,
                              const Dims &sizes) {
  Ref<TensorImpl> tensor = makeTemporary(dtype, sizes);
  choosePlace(*tensor, place);
  return tensor;
}

/// Where both lie.
static void castWithin(const TensorImpl &x, TensorImpl &out, const Call &call) {
  Input input{&x, {}};
  perform(primitives::Cast{}, {&input, 1}, out, call, eagerBackend());
}

static bool isTransfer(const Primitive &primitive) {
  if (!primitive.is<primitives::Cast>() || !primitive.inputs[0].tensor)
    return false;
  const Storage &from = *primitive.input(0).storage;
  const Storage &to = *primitive.output().storage;
  return !from.isOpen() && !to.isOpen() && from.place() != to.place();
}

static void transfer(const TensorImpl &x, TensorImpl &out, const Call &call) {
  uint8_t from = x.storage->place(), to = out.storage->place();
  Ref<const TensorImpl> source = &x;
  if (source->dtype != out.dtype || !isContiguous(*source)) {
    Ref<TensorImpl> copy = makeAt(from, out.dtype, source->sizes);
    castWithin(x, *copy, call);
    source = copy.get();
  }
  if (from != 0 && to != 0) { // By way of the CPU.
    Ref<TensorImpl> onCpu = makeAt(0, out.dtype, source->sizes);
    queueTransfer(*source, *onCpu, call);
    source = onCpu.get();
  }
  if (isContiguous(out) && source->sizes == out.sizes)
    return queueTransfer(*source, out, call);
  Ref<TensorImpl> arrived = makeAt(to, out.dtype, source->sizes);
  queueTransfer(*source, *arrived, call);
  castWithin(*arrived, out, call);
}

void performByDevice(const Primitive &primitive) {
  if (isTransfer(primitive))
    return transfer(primitive.input(0), primitive.output(), primitive.call);
  uint8_t place = placeOf(primitive);
  placeAll(primitive, place);
  if (place == 0)
    performOnCpu(primitive);
  else
    queueOnGpu(Gpu::atPlace(place), primitive);
}

void fromHostByDevice(const void *data, TensorImpl &out, const Call &call) {
  uint8_t place =
      out.storage->isOpen() ? placeOf(currentDevice()) : out.storage->place();
  if (place == 0)
    return kernels::fromHost(data, out, call);
  choosePlace(out, place);
  Ref<TensorImpl> copy = makeTemporary(out.dtype, out.sizes);
  kernels::fromHost(data, *copy, call);
  queueTransfer(*copy, out, call);
}

//===----------------------------------------------------------------------===//
// Waiting
//===----------------------------------------------------------------------===//

static bool waitOnGpu(const TensorImpl &x, const Call &call) {
  if (x.storage->place() == 0)
    return false;
  try {
    Gpu::atPlace(x.storage->place()).stream().synchronize();
  } catch (const Error &error) {
    throw Error(error.status(), describe(call, error.what()));
  }
  return true;
}

const void *waitToReadByDevice(const TensorImpl &x, const Call &call) {
  const void *data = kernels::waitToRead(x);
  return waitOnGpu(x, call) ? nullptr : data;
}

void *waitToWriteByDevice(const TensorImpl &x, const Call &call) {
  void *data = kernels::waitToWrite(x);
  return waitOnGpu(x, call) ? nullptr : data;
}

} // namespace tinh::eager
