//===- device.cpp - A GPU, as the runtime uses it ---------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See the header.
//
//===----------------------------------------------------------------------===//
#include "device/device.h"

#include "artifact/module.h"
#include "artifact/steps.h"
#include "trace/trace.h"

namespace tinh::runtime {

DeviceModulePtr DeviceModule::get(const Module &module, uint32_t index) {
  DeviceCopies &copies = module.device_copies();
  std::lock_guard lock(copies.mutex);
  std::weak_ptr<const DeviceModule> &known = copies.by_device[index];
  if (auto loaded = known.lock())
    return loaded;
  auto loaded = std::make_shared<const DeviceModule>(module, index);
  known = loaded;
  return loaded;
}

DeviceModule::DeviceModule(const Module &module, uint32_t index)
    : api(device_api()) {
  check_device(api.load(module.artifact(), module.weights(), index, &handle));
}

std::string DeviceModule::report_libraries() const {
  std::string text;
  auto take = [](void *to, const char *lines) {
    *static_cast<std::string *>(to) += lines;
  };
  api.report_libraries(*handle, take, &text);
  return text;
}

DeviceSchedule::DeviceSchedule(const tinh_artifact_t &artifact,
                               const tinh_function_desc_t &function,
                               bool one_by_one) {
  if (const tinh_device_plan_t *given = function.device_plan) {
    launches.assign(given->launches, given->launches + function.num_steps);
    if (!one_by_one)
      plan = *given;
  }
  for (uint32_t s = 0; s < function.num_steps; ++s) {
    const tinh_step_t &step = function.steps[s];
    if (one_by_one && !launches.empty())
      launches[s] = runtime::on_device(artifact, function, step)
                        ? TINH_LAUNCH_LOOSE
                        : TINH_LAUNCH_NONE;
    if (on_device(s)) {
      ++num_device;
    } else if (step.opcode < TINH_OP_BRANCH) {
      ++num_cpu;
      small_cpu &= is_one_piece(step);
    }
  }
}

bool DeviceSchedule::any(uint32_t begin, uint32_t end) const {
  for (uint32_t s = begin; s < end; ++s)
    if (on_device(s))
      return true;
  return false;
}

void DeviceRun::trace(Trace &trace, uint64_t run) const {
  DeviceApi::TraceSink sink = {
      &trace,
      [](void *to, const tinh_function_desc_t &function, uint32_t step,
         uint32_t count, uint64_t number, int64_t begin, int64_t end) {
        static_cast<Trace *>(to)->add_segment(function, step, count, number,
                                              begin, end);
      },
      [](void *to, uint64_t number, uint64_t count) {
        static_cast<Trace *>(to)->drop_segments(number, count);
      }};
  api.trace(*handle, sink, run);
}

} // namespace tinh::runtime
