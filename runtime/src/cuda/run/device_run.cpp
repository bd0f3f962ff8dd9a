//===- device_run.cpp - A run on the GPU ------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Giving the GPU its steps and waiting for them. prepare_run.cpp makes what
// that needs.
//
//===----------------------------------------------------------------------===//
#include "cuda/run/device_run.h"

#include "artifact/step_buffers.h"
#include "artifact/steps.h"
#include "trace/trace_clock.h"

#include <algorithm>
#include <cstring>

namespace tinh::runtime::cuda {

void DeviceRun::begin(uint32_t index, void *const *arguments, bool on_state) {
  prepared = &functions[index];
  collectives.begin(function());
  num_launched = 0;
  num_loose = 0;
  second_stream = loose = has_ended = false;
  is_finished.assign(is_finished.size(), false);
  for (const auto &[segment, buffers] : prepared->with_collectives)
    if (!prepared->graphs[segment])
      make_graph(*prepared, segment, buffers);
  if (options.timing || options.measure) {
    began_at = trace_clock();
    check(driver().cuEventRecord(began.get(), streams[0].get()),
          "cannot record the beginning of a run");
  }
  prepared->copies.begin(arguments, on_state, prepared->graphs);
}

void DeviceRun::follow(const DeviceRun &other) {
  if (&other == this || !other.has_ended)
    return;
  for (const Stream &stream : streams)
    check(driver().cuStreamWaitEvent(stream.get(), other.ended.get(), 0),
          "cannot order runs on the GPU");
}

void DeviceRun::launch(uint32_t index) {
  const Driver &api = driver();
  const Segment &segment = plan().segments()[index];
  CUstream stream = streams[segment.stream].get();
  prepared->copies.stage(index);
  const char *what = "cannot order CUDA graphs";
  if (segment.after != TINH_NO_SEGMENT)
    check(api.cuStreamWaitEvent(stream,
                                segment_events[segment.after].done.get(), 0),
          what);
  SegmentEvents &events = segment_events[index];
  if (options.timing)
    check(api.cuEventRecord(events.began.get(), stream), what);
  prepared->graphs[index]->launch(stream);
  num_launched = index + 1;
  second_stream |= segment.stream != 0;
  if (options.timing || segment.is_awaited)
    check(api.cuEventRecord(events.done.get(), stream), what);
  prepared->copies.expect(index, segment.due);
}

/// Loose steps follow all that was launched before them.
void DeviceRun::join_streams() {
  if (!second_stream)
    return;
  const Driver &api = driver();
  const char *what = "cannot join streams";
  check(api.cuEventRecord(joined.get(), streams[1].get()), what);
  check(api.cuStreamWaitEvent(streams[0].get(), joined.get(), 0), what);
  second_stream = false;
}

void DeviceRun::check_step(CUresult result, uint32_t step) const {
  check(result, [&] {
    return name_of(artifact, function(), step) + " cannot be launched";
  });
}

void DeviceRun::execute(uint32_t number, void *const *buffers) {
  const tinh_step_t &step = function().steps[number];
  if ((step.opcode == TINH_OP_COPY || step.opcode == TINH_OP_ZERO) &&
      step.size == 0)
    return;
  join_streams();
  loose_first = loose ? std::min(loose_first, number) : number;
  loose_last = loose ? std::max(loose_last, number) : number;
  loose = true;
  if (options.timing)
    time_loose(number, /*begins=*/true);
  give(number, buffers);
  if (options.timing)
    time_loose(number, /*begins=*/false);
}

void DeviceRun::give(uint32_t number, void *const *buffers) {
  const Driver &api = driver();
  const tinh_step_t &step = function().steps[number];
  CUstream stream = streams[0].get();
  if (step.opcode == TINH_OP_COPY)
    return execute_copy(number, buffers);
  if (step.opcode == TINH_OP_ZERO)
    return check_step(
        api.cuMemsetD8Async(address(buffers[0]), 0, step.size, stream), number);
  if (is_collective(step))
    return collectives.execute(number, buffers, stream);
  if (execute_call(number, buffers))
    return;
  const tinh_kernel_desc_t &kernel = artifact.kernels[step.kernel];
  for (uint32_t i = 0; i < step.num_buffers; ++i)
    parameters[i] = const_cast<void **>(buffers + i); // They are only read.
  check_step(api.cuLaunchKernel(loaded->kernel(step.kernel),
                                static_cast<unsigned>(step.num_chunks), 1, 1,
                                kernel.threads, 1, 1,
                                static_cast<unsigned>(kernel.scratch_size),
                                stream, parameters.data(), nullptr),
             number);
}

/// Whether a library computes the step, which it then does.
bool DeviceRun::execute_call(uint32_t step, void *const *buffers) const {
  auto index = static_cast<uint32_t>(prepared - functions.data());
  const LibraryCall *call = libraries.find(index, TINH_NO_SEGMENT, step);
  if (!call)
    return false;
  try {
    return libraries.execute(
        *call, {buffers, function().steps[step].num_buffers}, streams[0].get());
  } catch (const Error &error) {
    throw Error(error.status(), name_of(artifact, function(), step) +
                                    " cannot be launched: " + error.what());
  }
}

void DeviceRun::execute_copy(uint32_t number, void *const *buffers) {
  const Driver &api = driver();
  const tinh_step_t &step = function().steps[number];
  CUstream stream = streams[0].get();
  if (CallerCopy *copy = prepared->copies.loose_copy(number))
    return execute_caller_copy(*copy, buffers);
  if (step.buffers[0].space == TINH_SPACE_LOOP) {
    // The number of the iteration will be another one when the GPU comes here.
    uint32_t words[2];
    std::memcpy(words, buffers[0], sizeof words);
    for (unsigned i = 0; i < 2; ++i)
      check_step(api.cuMemsetD32Async(address(buffers[1]) + 4 * i, words[i], 1,
                                      stream),
                 number);
    return;
  }
  check_step(api.cuMemcpyAsync(address(buffers[1]), address(buffers[0]),
                               step.size, stream),
             number);
}

/// In a loop the caller's memory may be another part of the tensor each time.
void DeviceRun::execute_caller_copy(CallerCopy &copy, void *const *buffers) {
  const Driver &api = driver();
  CUstream stream = streams[0].get();
  if (copy.direct)
    return check_step(api.cuMemcpyAsync(address(buffers[1]),
                                        address(buffers[0]), copy.size, stream),
                      copy.step);
  if (copy.busy)
    wait_for_loose();
  loose = copy.busy = true;
  if (copy.to_device)
    prepared->copies.stage(copy, buffers[0]);
  const void *from = copy.to_device ? copy.staging : buffers[0];
  void *to = copy.to_device ? buffers[1] : copy.staging;
  check_step(api.cuMemcpyAsync(address(to), address(from), copy.size, stream),
             copy.step);
  if (!copy.to_device)
    prepared->copies.expect(copy, buffers[1]);
}

/// A GPU that has failed does not come to them.
void DeviceRun::wait_for_collectives() {
  try {
    collectives.wait();
  } catch (const Error &) {
    CUresult result = driver().cuStreamQuery(streams[0].get());
    if (result != kNotReady)
      check(result, [&] { return failure(); });
    throw;
  }
}

void DeviceRun::wait_for_segment(uint32_t index) {
  wait_for_collectives();
  check(wait_for(segment_events[index].done, spin), [&] { return failure(); });
  finished(index);
}

void DeviceRun::wait_for_loose() {
  if (!loose)
    return;
  wait_for_collectives();
  auto what = [&] { return failure(); };
  check(driver().cuEventRecord(loose_done.get(), streams[0].get()), what);
  check(wait_for(loose_done, spin), what);
  loose = false;
  prepared->copies.arrive_loose();
}

void DeviceRun::wait(uint32_t position) {
  wait_for_loose();
  bool seen[2] = {};
  for (uint32_t i = num_launched; i-- > 0;) {
    const Segment &segment = plan().segments()[i];
    if (segment.due > position || seen[segment.stream])
      continue;
    seen[segment.stream] = true;
    wait_for_segment(i);
  }
  prepared->copies.arrive(position);
}

void DeviceRun::finish() {
  join_streams();
  check(driver().cuEventRecord(ended.get(), streams[0].get()),
        "cannot record the end of a run");
  has_ended = true;
}

void DeviceRun::wait_for_end() const {
  if (has_ended)
    wait_for(ended, spin); // The run itself tells what went wrong.
}

void DeviceRun::complete() {
  wait_for_collectives();
  // What the stream is given next comes after this run, but for copies by the
  // CPU.
  if (options.stream && prepared->copies.all_direct())
    return;
  check(wait_for(ended, spin), [&] { return failure(); });
  prepared->copies.arrive_all();
}

double DeviceRun::elapsed() const {
  float ms = 0;
  check(driver().cuEventElapsedTime(&ms, began.get(), ended.get()),
        "cannot tell how long a run took");
  return static_cast<double>(ms);
}

void DeviceRun::abandon() noexcept {
  const Driver &api = driver();
  CUcontext popped;
  bool pushed =
      api.cuCtxPushCurrent_v2(loaded->device()->context()) == kSuccess;
  for (const Stream &stream : streams)
    api.cuStreamSynchronize(stream.get());
  if (pushed)
    api.cuCtxPopCurrent_v2(&popped);
  // NCCL does not come to its end before them, and they are of no more use.
  if (collectives.have_failed())
    for (Prepared &one : functions)
      for (const auto &[segment, buffers] : one.with_collectives)
        one.graphs[segment].reset();
  collectives.forget();
  if (prepared)
    prepared->copies.forget();
}

} // namespace tinh::runtime::cuda
