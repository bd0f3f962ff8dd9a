//===- device_api.h - What the runtime asks of a device ---------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All that the runtime knows of GPUs: a table of functions, which a library of
// its own has, libtinh_cuda.so. The life of a device, in calls:
//
//  1. `tinh_device_api` gives the table, when the first artifact that needs a
//     GPU gets a context. The library is never unloaded.
//  2. `load` puts a module on a GPU: its kernels and weights, which all of its
//     contexts there share.
//  3. `open` makes what one run at a time needs: an arena on the GPU, one in
//     pinned memory, streams and events. `prepare` makes the graphs of all
//     functions' segments, as their plans in the artifact have them, with the
//     addresses in these arenas; but those with collectives, which ranks make
//     together, the function's first `begin` there.
//  4. A run: `begin`; `follow` each run that must be done before; `launch`,
//     `execute` and `wait` when worker 0 comes to them; `finish`.
//  5. Its end: `complete`, on any thread; then `elapsed` and `trace`. If
//     anything since `begin` has failed: `abandon`.
//  6. `close` and `unload`, in this order.
//
// Memory that lives longer than a run, and streams of the program's own, are
// apart from this life.
//
// What can fail returns a status and leaves its message to `last_error`; no
// exception leaves the library. A Run is used by one thread at a time, all
// else by any. The functions of 4 and 5 want the module's GPU to be the
// thread's: between `enter` and `leave`.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_RUNTIME_DEVICE_API_H
#define TINH_RUNTIME_DEVICE_API_H

#include "tinh/artifact.h"
#include "tinh/gpu_collectives.h"
#include "tinh/runtime.h"

namespace tinh::runtime {

/// Memory that a device has to do with.
enum class MemoryKind {
  unknown, ///< Of the host; the driver knows nothing of it.
  pinned,  ///< Of the host, or moving between both: either reaches it.
  device   ///< The CPU does not reach it.
};

struct DeviceApi {
  using Status = tinh_status_t;
  /// A function and the addresses of its buffers, step by step, but for tensors
  /// of the caller.
  struct Function {
    const tinh_function_desc_t *function;
    void *const *table;
  };
  struct RunOptions {
    uint64_t host_size;   ///< Of the arena on the host,
    uint64_t device_size; ///< and on the device.
    int64_t spin_us;      ///< Before a thread that waits sleeps.
    bool timing;          ///< For traces.
    bool measure;         ///< The time of a run.
    bool one_by_one;      ///< All steps are loose: no segments.
    /// That the device's collectives are of; null if no function has some.
    tinh_collectives_t *collectives;
    /// The program's: all goes there, and nobody waits for it; or null.
    tinh_cuda_stream_t *stream;
  };
  /// Where the trace of a run goes.
  struct TraceSink {
    void *trace;
    void (*add_segment)(void *trace, const tinh_function_desc_t &function,
                        uint32_t step, uint32_t count, uint64_t run,
                        int64_t begin, int64_t end);
    void (*drop_segments)(void *trace, uint64_t run, uint64_t count);
  };
  struct Module; ///< A module on a device.
  struct Run;    ///< What one run at a time has there.

  /// What has failed last on this thread.
  const char *(*last_error)();

  // The machine.
  Status (*count)(uint32_t *out_count);
  Status (*describe)(uint32_t index, tinh_cuda_device_info_t *out_info);
  MemoryKind (*kind_of)(const void *pointer);

  // A module on device `index`; artifact and weights must outlive it.
  Status (*load)(const tinh_artifact_t &artifact, const char *weights,
                 uint32_t index, Module **out_module);
  void (*unload)(Module *module);
  Status (*enter)(const Module &module);
  void (*leave)();
  char *(*weights)(const Module &module); ///< Where they lie on the device.
  /// Gives `take` a line for each of CUDA's libraries, and for each kernel that
  /// one could compute and does not.
  void (*report_libraries)(const Module &module,
                           void (*take)(void *to, const char *lines), void *to);

  // Memory on a module's device, or pinned; null for no bytes. `what` is for
  // errors. Copies block, in no order with streams.
  Status (*allocate)(const Module &module, MemoryKind kind, uint64_t size,
                     const char *what, void **out_memory);
  void (*release)(const Module &module, MemoryKind kind, void *memory);
  Status (*upload)(const Module &module, void *to, const void *from,
                   uint64_t size, const char *what);
  Status (*download)(const Module &module, void *to, const void *from,
                     uint64_t size, const char *what);
  Status (*zero)(const Module &module, void *to, uint64_t size,
                 const char *what);

  Status (*open)(const Module &module, const RunOptions &options,
                 Run **out_run);
  void (*close)(Run *run);
  char *(*host_arena)(const Run &run);
  char *(*device_arena)(const Run &run);
  Status (*prepare)(Run &run, const Function *functions,
                    uint32_t num_functions);

  /// A run of a function; `arguments` are where its tensors lie. `on_state`:
  /// its variables are pinned memory.
  Status (*begin)(Run &run, uint32_t function, void *const *arguments,
                  bool on_state);
  /// Has the device wait until `other` is done with its last run.
  Status (*follow)(Run &run, const Run &other);
  Status (*launch)(Run &run, uint32_t segment);
  Status (*execute)(Run &run, uint32_t step, void *const *buffers);
  /// Waits until the device is done with the segments that are due at steps up
  /// to `position`, and with all loose steps that it was given. What they have
  /// copied to the caller is there then.
  Status (*wait)(Run &run, uint32_t position);
  /// Nothing more is given to the device in this run.
  Status (*finish)(Run &run);

  /// Waits for the end of the last run, but leaves to others what comes then.
  void (*wait_for_end)(const Run &run);
  /// Waits for the end, and copies to the caller.
  Status (*complete)(Run &run);
  /// Milliseconds of the device's for a run that is complete, if measured.
  Status (*elapsed)(const Run &run, double *out_ms);
  /// When each segment and each loose step was executed. After `complete`.
  void (*trace)(const Run &run, const TraceSink &sink, uint64_t number);
  /// Waits until nothing is going on, whatever that ends with.
  void (*abandon)(Run &run);

  // tinh/cuda.h.
  Status (*stream_create)(uint32_t index, tinh_cuda_stream_t **out_stream);
  void (*stream_release)(tinh_cuda_stream_t *stream);
  uint32_t (*stream_device)(const tinh_cuda_stream_t &stream);
  Status (*stream_synchronize)(tinh_cuda_stream_t *stream);
  Status (*stream_copy)(tinh_cuda_stream_t *stream, void *to, const void *from,
                        size_t size);
  Status (*stream_write)(tinh_cuda_stream_t *stream, void *to, const void *data,
                         size_t size);
  Status (*stream_allocate)(tinh_cuda_stream_t *stream, size_t size,
                            void **out_memory);
  Status (*stream_free)(tinh_cuda_stream_t *stream, void *memory);
  Status (*event_record)(tinh_cuda_stream_t *stream,
                         tinh_cuda_event_t **out_event);
  void (*event_release)(tinh_cuda_event_t *event);
  Status (*event_elapsed)(tinh_cuda_event_t *from, tinh_cuda_event_t *to,
                          double *out_ms);
};

/// What runtime and library call themselves: while a version is developed, its
/// table may change. The number counts changes of it, and of what its functions
/// mean.
#define TINH_DEVICE_API TINH_VERSION " table 4"

/// The function of the library that gives the table, or null: the runtime must
/// have the library's TINH_DEVICE_API, sizeof(DeviceApi) and
/// TINH_ARTIFACT_VERSION.
using GetDeviceApi = const DeviceApi *(const char *name, uint64_t table_size,
                                       uint32_t artifact_version);
constexpr char kGetDeviceApi[] = "tinh_device_api";

} // namespace tinh::runtime

#endif // TINH_RUNTIME_DEVICE_API_H
