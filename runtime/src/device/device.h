//===- device.h - A GPU, as the runtime uses it -----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Owners of what device_api.h has, which throw what its functions say. That
// header tells the life of a device.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_RUNTIME_DEVICE_H
#define TINH_RUNTIME_DEVICE_H

#include "device/device_api.h"
#include "support/error.h"

#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace tinh::runtime {

class Module;
class Trace;

/// The table of libtinh_cuda.so, which is looked for beside the runtime and
/// then where the system looks for libraries. Throws NO_DEVICE with a sentence
/// on why there is none.
const DeviceApi &device_api();

/// Throws unless a function of the table has succeeded.
inline void check_device(tinh_status_t status) {
  if (status != TINH_OK)
    throw_error(status, {device_api().last_error()});
}

/// Memory of the host or of a device, as the driver knows it.
inline MemoryKind kind_of(const void *pointer) {
  return device_api().kind_of(pointer);
}

/// What all contexts of a module have in common on one GPU.
class DeviceModule {
public:
  /// Loads `module` on GPU `index`, or gives what another context of it has
  /// loaded there. Throws what says in one sentence why it cannot.
  static std::shared_ptr<const DeviceModule> get(const Module &module,
                                                 uint32_t index);

  DeviceModule(const Module &module, uint32_t index);
  DeviceModule(const DeviceModule &) = delete;
  ~DeviceModule() { api.unload(handle); }

  char *weights() const { return api.weights(*handle); }
  std::string report_libraries() const;

  void upload(void *to, const void *from, uint64_t size,
              const char *what) const {
    check_device(api.upload(*handle, to, from, size, what));
  }
  void download(void *to, const void *from, uint64_t size,
                const char *what) const {
    check_device(api.download(*handle, to, from, size, what));
  }
  void zero(void *to, uint64_t size, const char *what) const {
    check_device(api.zero(*handle, to, size, what));
  }

  /// Makes its GPU the calling thread's own for a while.
  class Current {
  public:
    explicit Current(const DeviceModule &module) : api(module.api) {
      check_device(api.enter(*module.handle));
    }
    Current(const Current &) = delete;
    ~Current() { api.leave(); }

  private:
    const DeviceApi &api;
  };

private:
  friend class DeviceMemory;
  friend class DeviceRun;

  const DeviceApi &api;
  DeviceApi::Module *handle = nullptr;
};

using DeviceModulePtr = std::shared_ptr<const DeviceModule>;

/// Memory on a GPU, or pinned memory; none of size 0.
class DeviceMemory {
public:
  DeviceMemory() = default;
  /// Throws OUT_OF_MEMORY, naming `what`.
  DeviceMemory(DeviceModulePtr module, MemoryKind kind, uint64_t size,
               const char *what)
      : module(std::move(module)), kind(kind) {
    void *memory = nullptr;
    const DeviceModule &on = *this->module;
    check_device(on.api.allocate(*on.handle, kind, size, what, &memory));
    address = static_cast<char *>(memory);
  }
  DeviceMemory(DeviceMemory &&other) noexcept { swap(other); }
  DeviceMemory &operator=(DeviceMemory &&other) noexcept {
    swap(other);
    return *this;
  }
  ~DeviceMemory() {
    if (address)
      module->api.release(*module->handle, kind, address);
  }

  char *data() const { return address; }

private:
  void swap(DeviceMemory &other) noexcept {
    std::swap(module, other.module);
    std::swap(kind, other.kind);
    std::swap(address, other.address);
  }

  DeviceModulePtr module;
  MemoryKind kind = MemoryKind::unknown;
  char *address = nullptr;
};

/// How the steps of a function go to a GPU, if any do: as the artifact's plan
/// says, or one by one.
class DeviceSchedule {
public:
  DeviceSchedule(const tinh_artifact_t &artifact,
                 const tinh_function_desc_t &function, bool one_by_one);

  /// Whether there is anything for a GPU.
  bool empty() const { return num_device == 0; }
  /// Whether the GPU does a step, or all of the loop that begins or ends there.
  bool on_device(uint32_t step) const {
    return !launches.empty() && launches[step] != TINH_LAUNCH_NONE;
  }
  bool is_loose(uint32_t step) const {
    return !launches.empty() && launches[step] == TINH_LAUNCH_LOOSE;
  }
  /// By where they are launched.
  std::span<const tinh_device_segment_t> segments() const {
    return {plan.segments, plan.num_segments};
  }
  uint32_t first_step(const tinh_device_segment_t &segment) const {
    return plan.nodes[segment.first_node].step;
  }
  /// Whether the CPU has to wait for the GPU before `step`: for the segments
  /// that are due up to there, and for all loose steps.
  bool waits(uint32_t step) const {
    return plan.gates && step < launches.size() && plan.gates[step];
  }
  /// Whether the GPU does a step in [begin, end).
  bool any(uint32_t begin, uint32_t end) const;

  /// Whether the CPU computes, or copies what no GPU has to do with.
  bool has_cpu_steps() const { return num_cpu != 0; }
  /// Whether no work of the CPU's is worth sharing: the thread that launches
  /// does it beside.
  bool cpu_is_small() const { return small_cpu; }

private:
  tinh_device_plan_t plan = {};
  std::vector<uint8_t> launches; ///< By step; none if no step is a GPU's.
  uint32_t num_device = 0, num_cpu = 0;
  bool small_cpu = true;
};

/// What an arena has of a GPU. See device_api.h for who calls what when.
class DeviceRun {
public:
  DeviceRun(DeviceModulePtr module, const DeviceApi::RunOptions &options)
      : module(std::move(module)), api(this->module->api) {
    check_device(api.open(*this->module->handle, options, &handle));
  }
  DeviceRun(const DeviceRun &) = delete;
  ~DeviceRun() { api.close(handle); }

  char *host_arena() const { return api.host_arena(*handle); }
  char *device_arena() const { return api.device_arena(*handle); }

  /// The tables are read now.
  void prepare(const std::vector<DeviceApi::Function> &functions) {
    check_device(api.prepare(*handle, functions.data(),
                             static_cast<uint32_t>(functions.size())));
  }

  void begin(uint32_t function, void *const *arguments, bool on_state) {
    check_device(api.begin(*handle, function, arguments, on_state));
  }
  void follow(const DeviceRun &other) {
    check_device(api.follow(*handle, *other.handle));
  }
  void launch(uint32_t segment) { check_device(api.launch(*handle, segment)); }
  void execute(uint32_t step, void *const *buffers) {
    check_device(api.execute(*handle, step, buffers));
  }
  void wait(uint32_t position) { check_device(api.wait(*handle, position)); }
  void finish() { check_device(api.finish(*handle)); }
  void wait_for_end() const { api.wait_for_end(*handle); }
  void complete() { check_device(api.complete(*handle)); }
  double elapsed() const {
    double ms = 0;
    check_device(api.elapsed(*handle, &ms));
    return ms;
  }
  void trace(Trace &trace, uint64_t run) const;
  void abandon() { api.abandon(*handle); }

private:
  const DeviceModulePtr module;
  const DeviceApi &api;
  DeviceApi::Run *handle = nullptr;
};

} // namespace tinh::runtime

#endif // TINH_RUNTIME_DEVICE_H
