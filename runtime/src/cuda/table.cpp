//===- table.cpp - The table of libtinh_cuda.so -----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The only door to what uses CUDA: device_api.h says what is behind it.
// Exceptions become statuses here.
//
//===----------------------------------------------------------------------===//
#include "cuda/driver/stream.h"
#include "cuda/run/device_run.h"
#include "support/guarded.h"

#include <cstring>

namespace tinh::runtime {

struct DeviceApi::Module {
  std::shared_ptr<const cuda::LoadedModule> loaded;
};

struct DeviceApi::Run {
  cuda::DeviceRun run;
};

namespace {

using Api = DeviceApi;

tinh_status_t load(const tinh_artifact_t &artifact, const char *weights,
                   uint32_t index, Api::Module **out_module) {
  return guarded([&] {
    *out_module = new Api::Module{
        std::make_shared<const cuda::LoadedModule>(artifact, weights, index)};
  });
}

void report_libraries(const Api::Module &module,
                      void (*take)(void *to, const char *lines), void *to) {
  take(to, module.loaded->libraries().report().c_str());
}

tinh_status_t allocate(const Api::Module &module, MemoryKind kind,
                       uint64_t size, const char *what, void **out_memory) {
  return guarded([&] {
    const cuda::DevicePtr &device = module.loaded->device();
    *out_memory = kind == MemoryKind::pinned
                      ? cuda::allocate_pinned(device, size, what).release()
                      : reinterpret_cast<void *>(
                            cuda::allocate(device, size, what).release());
  });
}

/// As what owns it does when it goes.
void release(const Api::Module &module, MemoryKind kind, void *memory) {
  const cuda::DevicePtr &device = module.loaded->device();
  if (kind == MemoryKind::pinned)
    cuda::PinnedMemory(device, memory);
  else
    cuda::DeviceMemory(device, cuda::address(memory));
}

tinh_status_t prepare(Api::Run &run, const Api::Function *functions,
                      uint32_t num_functions) {
  return guarded([&] { run.run.prepare({functions, num_functions}); });
}

tinh_status_t stream_create(uint32_t index, tinh_cuda_stream_t **out_stream) {
  return guarded([&] {
    require(out_stream, "out_stream");
    auto device = std::make_shared<const cuda::Device>(index);
    *out_stream =
        new tinh_cuda_stream{device, index, cuda::make_stream(device)};
  });
}

/// Calls `use` with a stream, which must be there.
template <typename Use>
tinh_status_t with(tinh_cuda_stream_t *stream, Use &&use) {
  return guarded([&] {
    require(stream, "stream");
    use(*stream);
  });
}

tinh_status_t stream_copy(tinh_cuda_stream_t *stream, void *to,
                          const void *from, size_t size) {
  return with(stream, [&](tinh_cuda_stream_t &on) {
    if (size == 0)
      return;
    require(to, "to");
    require(from, "from");
    cuda::copy(on, to, from, size);
  });
}

tinh_status_t stream_write(tinh_cuda_stream_t *stream, void *to,
                           const void *data, size_t size) {
  return with(stream, [&](tinh_cuda_stream_t &on) {
    if (size == 0)
      return;
    require(to, "to");
    require(data, "data");
    cuda::write(on, to, data, size);
  });
}

tinh_status_t stream_allocate(tinh_cuda_stream_t *stream, size_t size,
                              void **out_memory) {
  return with(stream, [&](tinh_cuda_stream_t &on) {
    require(out_memory, "out_memory");
    *out_memory = reinterpret_cast<void *>(
        cuda::allocate(on.device, size, "a tensor").release());
  });
}

tinh_status_t event_record(tinh_cuda_stream_t *stream,
                           tinh_cuda_event_t **out_event) {
  return with(stream, [&](tinh_cuda_stream_t &on) {
    require(out_event, "out_event");
    *out_event = new tinh_cuda_event(cuda::record(on));
  });
}

tinh_status_t event_elapsed(tinh_cuda_event_t *from, tinh_cuda_event_t *to,
                            double *out_ms) {
  return guarded([&] {
    require(from, "from");
    require(to, "to");
    require(out_ms, "out_ms");
    *out_ms = cuda::elapsed(*from, *to);
  });
}

/// The life of a device, in the order of the header.
const Api kApi = {
    .last_error = tinh_last_error,

    .count =
        [](uint32_t *out_count) {
          return guarded([&] { *out_count = cuda::device_count(); });
        },
    .describe =
        [](uint32_t index, tinh_cuda_device_info_t *out_info) {
          return guarded([&] { cuda::describe_device(index, *out_info); });
        },
    .kind_of =
        [](const void *pointer) {
          MemoryKind kind = MemoryKind::unknown;
          guarded([&] { kind = cuda::kind_of(pointer); });
          return kind;
        },

    .load = load,
    .unload = [](Api::Module *module) { delete module; },
    .enter =
        [](const Api::Module &module) {
          return guarded([&] { module.loaded->device()->enter(); });
        },
    .leave = cuda::Device::leave,
    .weights =
        [](const Api::Module &module) {
          return reinterpret_cast<char *>(module.loaded->weights());
        },
    .report_libraries = report_libraries,

    .allocate = allocate,
    .release = release,
    .upload =
        [](const Api::Module &module, void *to, const void *from, uint64_t size,
           const char *what) {
          return guarded([&] {
            module.loaded->device()->upload(cuda::address(to), from, size,
                                            what);
          });
        },
    .download =
        [](const Api::Module &module, void *to, const void *from, uint64_t size,
           const char *what) {
          return guarded([&] {
            module.loaded->device()->download(to, cuda::address(from), size,
                                              what);
          });
        },
    .zero =
        [](const Api::Module &module, void *to, uint64_t size,
           const char *what) {
          return guarded([&] {
            module.loaded->device()->zero(cuda::address(to), size, what);
          });
        },

    .open =
        [](const Api::Module &module, const Api::RunOptions &options,
           Api::Run **out_run) {
          return guarded([&] {
            *out_run = new Api::Run{cuda::DeviceRun(module.loaded, options)};
          });
        },
    .close = [](Api::Run *run) { delete run; },
    .host_arena = [](const Api::Run &run) { return run.run.host_arena(); },
    .device_arena = [](const Api::Run &run) { return run.run.device_arena(); },
    .prepare = prepare,

    .begin =
        [](Api::Run &run, uint32_t function, void *const *arguments,
           bool on_state) {
          return guarded([&] { run.run.begin(function, arguments, on_state); });
        },
    .follow =
        [](Api::Run &run, const Api::Run &other) {
          return guarded([&] { run.run.follow(other.run); });
        },
    .launch =
        [](Api::Run &run, uint32_t segment) {
          return guarded([&] { run.run.launch(segment); });
        },
    .execute =
        [](Api::Run &run, uint32_t step, void *const *buffers) {
          return guarded([&] { run.run.execute(step, buffers); });
        },
    .wait =
        [](Api::Run &run, uint32_t position) {
          return guarded([&] { run.run.wait(position); });
        },
    .finish = [](Api::Run &run) { return guarded([&] { run.run.finish(); }); },

    .wait_for_end = [](const Api::Run &run) { run.run.wait_for_end(); },
    .complete =
        [](Api::Run &run) { return guarded([&] { run.run.complete(); }); },
    .elapsed =
        [](const Api::Run &run, double *out_ms) {
          return guarded([&] { *out_ms = run.run.elapsed(); });
        },
    .trace = [](const Api::Run &run, const Api::TraceSink &sink,
                uint64_t number) { run.run.trace_steps(sink, number); },
    .abandon = [](Api::Run &run) { run.run.abandon(); },

    .stream_create = stream_create,
    .stream_release = [](tinh_cuda_stream_t *stream) { delete stream; },
    .stream_device =
        [](const tinh_cuda_stream_t &stream) { return stream.index; },
    .stream_synchronize =
        [](tinh_cuda_stream_t *stream) {
          return with(stream, cuda::synchronize);
        },
    .stream_copy = stream_copy,
    .stream_write = stream_write,
    .stream_allocate = stream_allocate,
    .stream_free =
        [](tinh_cuda_stream_t *stream, void *memory) {
          return with(stream, [&](tinh_cuda_stream_t &on) {
            cuda::free_memory(on, memory);
          });
        },
    .event_record = event_record,
    .event_release = [](tinh_cuda_event_t *event) { delete event; },
    .event_elapsed = event_elapsed,
};

} // namespace

} // namespace tinh::runtime

extern "C" __attribute__((visibility("default")))
const tinh::runtime::DeviceApi *
tinh_device_api(const char *name, uint64_t table_size,
                uint32_t artifact_version) {
  bool fits = std::strcmp(name, TINH_DEVICE_API) == 0 &&
              table_size == sizeof(tinh::runtime::DeviceApi) &&
              artifact_version == TINH_ARTIFACT_VERSION;
  return fits ? &tinh::runtime::kApi : nullptr;
}
