//===- DeviceBackend.cpp - Operations where their operands lie ------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Cuda/DeviceBackend.h"

#include "compiler/Eager/Cuda/GpuPrimitives.h"
#include "compiler/Eager/Cuda/GpuRun.h"
#include "compiler/Eager/EagerBackend/EagerBackend.h"
#include "compiler/Eager/EagerBackend/Operands.h"
#include "compiler/Eager/Tensor/Device.h"

#include <atomic>

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

void DeviceBackend::perform(const Primitive &primitive) {
  uint8_t place = placeOf(primitive);
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
  if (place == 0)
    primitive.replay(cpuBackend(), primitive.inputs, primitive.outputs);
  else
    performOnGpu(Gpu::atPlace(place), primitive);
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

void DeviceBackend::cast(const Input &x, TensorImpl &out, const Call &call) {
  if (!x.tensor || x.tensor->storage->isOpen() || out.storage->isOpen() ||
      x.tensor->storage->place() == out.storage->place())
    return PrimitiveBackend::cast(x, out, call);
  uint8_t from = x.tensor->storage->place(), to = out.storage->place();
  Ref<const TensorImpl> source = x.tensor;
  if (source->dtype != out.dtype || !isContiguous(*source)) {
    Ref<TensorImpl> copy = makeAt(from, out.dtype, source->sizes);
    cast(x, *copy, call);
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
  cast({arrived.get(), {}}, out, call);
}

void DeviceBackend::fromHost(const void *data, TensorImpl &out,
                             const Call &call) {
  uint8_t place =
      out.storage->isOpen() ? placeOf(currentDevice()) : out.storage->place();
  if (place == 0)
    return cpuBackend().fromHost(data, out, call);
  choosePlace(out, place);
  Ref<TensorImpl> copy = makeTemporary(out.dtype, out.sizes);
  cpuBackend().fromHost(data, *copy, call);
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

const void *DeviceBackend::waitToRead(const TensorImpl &x, const Call &call) {
  const void *data = cpuBackend().waitToRead(x, call);
  return waitOnGpu(x, call) ? nullptr : data;
}

void *DeviceBackend::waitToWrite(const TensorImpl &x, const Call &call) {
  void *data = cpuBackend().waitToWrite(x, call);
  return waitOnGpu(x, call) ? nullptr : data;
}

//===----------------------------------------------------------------------===//
// The engine's backend
//===----------------------------------------------------------------------===//

static std::atomic<bool> dispatches = false;

void dispatchByDevice() { dispatches = true; }

Backend &eagerBackend() {
  // Never destroyed: static tensors may outlive anything else.
  static auto *byDevice = new DeviceBackend;
  return dispatches.load(std::memory_order_relaxed) ? *byDevice : cpuBackend();
}

} // namespace tinh::eager
