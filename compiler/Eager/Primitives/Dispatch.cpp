//===- Dispatch.cpp - What performs a primitive ---------------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Primitives/Dispatch.h"

#include "compiler/Eager/Autograd/GradMode.h"
#include "compiler/Eager/Autograd/OpNode.h"
#include "compiler/Eager/CheckNumerics.h"
#include "compiler/Eager/Cpu/CpuPrimitives.h"
#include "compiler/Eager/Cuda/DevicePlacement.h"

#include <atomic>
#include <utility>

namespace tinh::eager {

//===----------------------------------------------------------------------===//
// The engine
//===----------------------------------------------------------------------===//

static std::atomic<bool> dispatchesByDevice = false;

void dispatchByDevice() { dispatchesByDevice = true; }

void performOnCpu(const Primitive &primitive) {
  queueOnCpu(primitive);
  checkNumerics(primitive);
}

void performOnEngine(const Primitive &primitive) {
  if (dispatchesByDevice.load(std::memory_order_relaxed)) [[unlikely]]
    return performByDevice(primitive);
  performOnCpu(primitive);
}

namespace {

class EngineBackend : public Backend {
public:
  void perform(const Primitive &primitive) override {
    performOnEngine(primitive);
  }
  void fromHost(const void *data, TensorImpl &out, const Call &call) override {
    fromHostByDevice(data, out, call);
  }
  const void *waitToRead(const TensorImpl &x, const Call &call) override {
    return waitToReadByDevice(x, call);
  }
  void *waitToWrite(const TensorImpl &x, const Call &call) override {
    return waitToWriteByDevice(x, call);
  }
};

/// Notes all that is written, too, for what the tape has saved of it.
class RecordingBackend final : public EngineBackend {
public:
  void perform(const Primitive &primitive) override {
    performAndRecord(primitive);
  }
  void view(const View &, const TensorImpl &x, TensorImpl &out) override {
    // A view that is made without recording is a constant.
    if (gradEnabled)
      out.base = x.base ? x.base : Ref(const_cast<TensorImpl *>(&x));
  }
  void fromHost(const void *data, TensorImpl &out, const Call &call) override {
    EngineBackend::fromHost(data, out, call); // It is new, without a history.
    out.storage->noteWrite(call.name, call.at);
  }
  void *waitToWrite(const TensorImpl &x, const Call &call) override {
    x.storage->noteWrite(call.name, call.at);
    return EngineBackend::waitToWrite(x, call);
  }
};

} // namespace

// Neither is ever destroyed: static tensors may outlive anything else.

Backend &eagerBackend() {
  static auto *backend = new EngineBackend;
  return *backend;
}

Backend &recordingBackend() {
  static auto *backend = new RecordingBackend;
  return *backend;
}

//===----------------------------------------------------------------------===//
// This thread's
//===----------------------------------------------------------------------===//

static thread_local Backend *activeBackend = nullptr;

Backend &Backend::current() {
  if (!activeBackend) [[unlikely]]
    activeBackend = &recordingBackend();
  return *activeBackend;
}

BackendScope::BackendScope(Backend &backend)
    : previous(std::exchange(activeBackend, &backend)) {}

BackendScope::~BackendScope() { activeBackend = previous; }

void Backend::allocate(TensorImpl &out) {
  out.storage = Storage::create(static_cast<uint64_t>(out.numElements()) *
                                DType(out.dtype).size());
}

void perform(const primitives::Attributes &attributes,
             std::initializer_list<const TensorImpl *> inputs,
             TensorImpl &output, const Call &call) {
  assert(inputs.size() <= 3);
  Input present[3];
  size_t count = 0;
  for (const TensorImpl *input : inputs)
    if (input)
      present[count++].tensor = input;
  perform(attributes, std::span(present, count), output, call);
}

} // namespace tinh::eager
