//===- stream_api.cpp - Streams, events and launches ------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "driver.h"

#include <cstring>

using namespace tinh::fake;

TINH_DRIVER CUresult cuStreamCreate(CUstream *stream, unsigned flags) {
  return call("cuStreamCreate", Needs::Context, [&](State &d, Words &words) {
    if (flags != kStreamNonBlocking)
      d.gpu.log.misuse("a stream that the default stream blocks");
    *stream = reinterpret_cast<CUstream>(d.add(d.streams));
    words << " " << *stream;
    return kSuccess;
  });
}

TINH_DRIVER CUresult cuStreamDestroy_v2(CUstream stream) {
  return call("cuStreamDestroy_v2", Needs::Context, [&](State &d, Words &) {
    if (!findStream(d, stream))
      return kInvalidHandle;
    d.streams.erase(stream); // What is queued lives on.
    return kSuccess;
  });
}

TINH_DRIVER CUresult cuStreamSynchronize(CUstream stream) {
  return call("cuStreamSynchronize", Needs::Context, [&](State &d, Words &w) {
    w << " " << stream;
    StreamObject *object = findStream(d, stream);
    if (!object)
      return kInvalidHandle;
    d.gpu.log.synchronises("a stream");
    if (object->last && !d.gpu.finish(object->last, d.mutex))
      return kInvalidValue;
    return kSuccess;
  });
}

TINH_DRIVER CUresult cuStreamQuery(CUstream stream) {
  return call("cuStreamQuery", Needs::Context, [&](State &d, Words &words) {
    words << " " << stream;
    StreamObject *object = findStream(d, stream);
    if (!object)
      return kInvalidHandle;
    if (!object->last || object->last->isDone())
      return kSuccess;
    d.gpu.advance(); // Whoever asks often enough sees it done.
    return kNotReady;
  });
}

TINH_DRIVER CUresult cuStreamWaitEvent(CUstream stream, CUevent handle,
                                       unsigned) {
  return call("cuStreamWaitEvent", Needs::Context, [&](State &d, Words &w) {
    w << " " << stream << " event " << handle;
    StreamObject *object = findStream(d, stream);
    Event *event = d.find(d.events, handle, "event");
    if (!object || !event)
      return kInvalidHandle;
    if (!event->recorded) // Nothing to wait for.
      return kSuccess;
    object->last = d.gpu.queue(
        object->queue, std::make_shared<const std::vector<Operation>>(1),
        {event->recorded});
    return kSuccess;
  });
}

TINH_DRIVER CUresult cuEventCreate(CUevent *event, unsigned flags) {
  return call("cuEventCreate", Needs::Context, [&](State &d, Words &words) {
    Event *object = d.add(d.events);
    object->timed = !(flags & kEventDisableTiming);
    *event = reinterpret_cast<CUevent>(object);
    words << " " << *event;
    return kSuccess;
  });
}

TINH_DRIVER CUresult cuEventDestroy_v2(CUevent event) {
  return call("cuEventDestroy_v2", Needs::Context, [&](State &d, Words &) {
    if (!d.find(d.events, event, "event"))
      return kInvalidHandle;
    d.events.erase(event);
    return kSuccess;
  });
}

TINH_DRIVER CUresult cuEventRecord(CUevent handle, CUstream stream) {
  return call("cuEventRecord", Needs::Context, [&](State &d, Words &words) {
    words << " " << handle << " stream " << stream;
    Event *event = d.find(d.events, handle, "event");
    if (!event)
      return kInvalidHandle;
    CUresult result = enqueue(d, stream, Operation());
    if (result == kSuccess)
      event->recorded = findStream(d, stream)->last;
    return result;
  });
}

TINH_DRIVER CUresult cuEventQuery(CUevent handle) {
  return call("cuEventQuery", Needs::Context, [&](State &d, Words &words) {
    words << " " << handle;
    Event *event = d.find(d.events, handle, "event");
    if (!event)
      return kInvalidHandle;
    if (!event->recorded || event->recorded->isDone())
      return kSuccess;
    d.gpu.advance(); // Whoever asks often enough sees it done.
    return kNotReady;
  });
}

TINH_DRIVER CUresult cuEventSynchronize(CUevent handle) {
  return call("cuEventSynchronize", Needs::Context, [&](State &d, Words &w) {
    w << " " << handle;
    Event *event = d.find(d.events, handle, "event");
    if (!event)
      return kInvalidHandle;
    d.gpu.log.synchronises("an event");
    std::shared_ptr<Work> recorded = event->recorded;
    return !recorded || d.gpu.finish(recorded, d.mutex) ? kSuccess
                                                        : kInvalidValue;
  });
}

TINH_DRIVER CUresult cuEventElapsedTime(float *milliseconds, CUevent begin,
                                        CUevent end) {
  return call("cuEventElapsedTime", Needs::Context, [&](State &d, Words &) {
    Event *first = d.find(d.events, begin, "event");
    Event *last = d.find(d.events, end, "event");
    if (!first || !last || !first->timed || !last->timed || !first->recorded ||
        !last->recorded)
      return kInvalidHandle;
    if (!first->recorded->isDone() || !last->recorded->isDone())
      return kNotReady;
    *milliseconds = std::chrono::duration<float, std::milli>(
                        last->recorded->end - first->recorded->end)
                        .count();
    return kSuccess;
  });
}

bool tinh::fake::makeKernel(State &driver, const KernelNodeParams &p,
                            Operation &result) {
  auto *function = reinterpret_cast<Function *>(p.func);
  result.kind = Operation::Kind::Kernel;
  result.kernel = function->name;
  result.launch.code = function->code;
  result.launch.grid = {p.gridDimX, p.gridDimY, p.gridDimZ};
  result.launch.block = {p.blockDimX, p.blockDimY, p.blockDimZ};
  result.launch.dynamicShared = p.sharedMemBytes;
  uint64_t threads = result.launch.block.count();
  std::string problem;
  if (result.launch.grid.count() == 0 || threads == 0 || threads > 1024 ||
      p.gridDimY > 65535 || p.gridDimZ > 65535)
    problem = "has a grid or block of a wrong size";
  else if (p.sharedMemBytes > function->maxDynamicShared)
    problem = "has more dynamic shared memory than was asked for";
  else if (p.extra ||
           (function->code && function->code->numParameters && !p.kernelParams))
    problem = "has no parameters";
  if (!problem.empty()) {
    driver.gpu.log.misuse("kernel '" + function->name + "' " + problem);
    return false;
  }
  for (uint32_t i = 0; function->code && i < function->code->numParameters;
       ++i) {
    uint64_t value = 0;
    std::memcpy(&value, p.kernelParams[i], function->code->parameters[i].size);
    result.parameters.push_back(value);
  }
  return true;
}

TINH_DRIVER CUresult cuLaunchKernel(CUfunction function, unsigned gridX,
                                    unsigned gridY, unsigned gridZ,
                                    unsigned blockX, unsigned blockY,
                                    unsigned blockZ, unsigned sharedBytes,
                                    CUstream stream, void **parameters,
                                    void **extra) {
  return call("cuLaunchKernel", Needs::Context, [&](State &d, Words &words) {
    KernelNodeParams launch{function,   gridX,  gridY,   gridZ,
                            blockX,     blockY, blockZ,  sharedBytes,
                            parameters, extra,  nullptr, nullptr};
    Operation operation;
    if (!makeKernel(d, launch, operation))
      return kInvalidValue;
    words << " " << operation.kernel << " grid " << gridX << " block " << blockX
          << " shared " << sharedBytes << " stream " << stream;
    return enqueue(d, stream, std::move(operation));
  });
}
