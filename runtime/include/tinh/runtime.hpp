//===- tinh/runtime.hpp - The runtime for C++ programs ----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The C API of tinh/runtime.h and tinh/safetensors.h, which say what each call
// does, with owners for its handles and exceptions for its statuses. Header
// only, C++17:
//
//   tinh::Module module("model.so");
//   tinh::Context context(module);
//   std::vector<float> pixels(...), scores(...);
//   context.run({tinh::buffer(pixels)}, {tinh::buffer(scores)});
//
//   tinh::Future a = context.submit({tinh::buffer(x1)}, {tinh::buffer(y1)});
//   tinh::Future b = context.submit({tinh::buffer(x2)}, {tinh::buffer(y2)},
//   {a}); b.wait();
//
// What fails throws a tinh::Error. Owners can be moved but not copied, and may
// be destroyed in any order; one that has been moved from may only be destroyed
// or assigned to. Destroying a Context waits for the runs that have started and
// cancels the others; destroying a Future gives it up, and its run goes on.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_RUNTIME_HPP
#define TINH_RUNTIME_HPP

#include "tinh/profile.h"
#include "tinh/runtime.h"
#include "tinh/safetensors.h"

#include <exception>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace tinh {

/// A call that failed, or a run: what() is the runtime's own sentence.
class Error : public std::runtime_error {
public:
  Error(tinh_status_t status, const std::string &message)
      : std::runtime_error(message), code(status) {}

  tinh_status_t status() const noexcept { return code; }

private:
  tinh_status_t code;
};

/// Throws unless `status`, of a call on this thread, is TINH_OK.
inline void check(tinh_status_t status) {
  if (status != TINH_OK)
    throw Error(status, tinh_last_error());
}

namespace detail {
template <typename Handle, void (*release)(Handle *)> struct Release {
  void operator()(Handle *handle) const { release(handle); }
};
/// Owns a handle of the C API.
template <typename Handle, void (*release)(Handle *)>
using Owned = std::unique_ptr<Handle, Release<Handle, release>>;
} // namespace detail

/// The memory of a contiguous container: a vector, an array, a std::span.
template <typename Container> tinh_buffer_t buffer(Container &container) {
  auto *data = std::data(container);
  using Element = std::remove_pointer_t<decltype(data)>;
  static_assert(std::is_trivially_copyable_v<Element>);
  return {const_cast<std::remove_const_t<Element> *>(data),
          std::size(container) * sizeof(Element)};
}

/// `count` elements at `data`.
template <typename Element>
tinh_buffer_t buffer(Element *data, std::size_t count) {
  static_assert(std::is_trivially_copyable_v<Element>);
  return {const_cast<std::remove_const_t<Element> *>(data),
          count * sizeof(Element)};
}

/// A loaded artifact. Strings and dimensions in what it tells live as long as
/// it or a context of it.
class Module {
public:
  explicit Module(const std::string &path) {
    tinh_module_t *loaded = nullptr;
    check(tinh_module_load(path.c_str(), &loaded));
    owned.reset(loaded);
  }

  /// A model that TINH_MODEL declares; `weights` is the path of external ones.
  explicit Module(const tinh_model_t &model, const char *weights = nullptr) {
    tinh_module_t *loaded = nullptr;
    check(tinh_module_load_linked(&model, weights, &loaded));
    owned.reset(loaded);
  }

  /// The same with the parameters of a .safetensors file.
  Module with_weights(const std::string &path) const {
    Module changed;
    tinh_module_t *loaded = nullptr;
    check(tinh_module_with_weights(handle(), path.c_str(), &loaded));
    changed.owned.reset(loaded);
    return changed;
  }

  void verify_weights() const { check(tinh_module_verify_weights(handle())); }

  tinh_module_info_t info() const {
    tinh_module_info_t info;
    check(tinh_module_info(handle(), &info));
    return info;
  }

  uint32_t find_function(const std::string &name) const {
    uint32_t function = 0;
    check(tinh_module_find_function(handle(), name.c_str(), &function));
    return function;
  }

  tinh_function_info_t function_info(uint32_t function = 0) const {
    tinh_function_info_t info;
    check(tinh_module_function_info(handle(), function, &info));
    return info;
  }

  uint32_t find_variable(const std::string &name) const {
    uint32_t variable = 0;
    check(tinh_module_find_variable(handle(), name.c_str(), &variable));
    return variable;
  }

  tinh_variable_info_t variable_info(uint32_t variable) const {
    tinh_variable_info_t info;
    check(tinh_module_variable_info(handle(), variable, &info));
    return info;
  }

  std::vector<tinh_tensor_info_t> inputs(uint32_t function = 0) const {
    return tensors(function, function_info(function).num_inputs,
                   tinh_module_input_info);
  }

  std::vector<tinh_tensor_info_t> outputs(uint32_t function = 0) const {
    return tensors(function, function_info(function).num_outputs,
                   tinh_module_output_info);
  }

  tinh_module_t *handle() const noexcept { return owned.get(); }

private:
  Module() = default;

  std::vector<tinh_tensor_info_t>
  tensors(uint32_t function, uint32_t count,
          decltype(&tinh_module_input_info) get) const {
    std::vector<tinh_tensor_info_t> infos(count);
    for (uint32_t i = 0; i < count; ++i)
      check(get(handle(), function, i, &infos[i]));
    return infos;
  }

  detail::Owned<tinh_module_t, tinh_module_release> owned;
};

/// What a run will have done, or a Promise. Any thread may use it.
class Future {
public:
  /// Takes over `handle`.
  explicit Future(tinh_future_t *handle) noexcept : owned(handle) {}

  /// Returns once it has completed; throws if the run failed.
  void wait() const { check(tinh_future_wait(handle())); }

  bool done() const {
    bool is_done = false;
    check(tinh_future_poll(handle(), &is_done));
    return is_done;
  }

  /// Calls `callback(status, message)` once it has completed: on the thread
  /// that completes it, or here if it has already. The callback must not throw;
  /// an exception that leaves it ends the program.
  template <typename Callback> void then(Callback callback) const {
    auto call = [](void *user, tinh_status_t status,
                   const char *message) noexcept {
      std::unique_ptr<Callback> owner(static_cast<Callback *>(user));
      (*owner)(status, message);
    };
    auto user = std::make_unique<Callback>(std::move(callback));
    check(tinh_future_then(handle(), call, user.get()));
    user.release();
  }

  /// True if the run had not started and now never will.
  bool cancel() const {
    tinh_status_t status = tinh_future_cancel(handle());
    if (status == TINH_ALREADY_STARTED)
      return false;
    check(status);
    return true;
  }

  tinh_future_t *handle() const noexcept { return owned.get(); }

private:
  detail::Owned<tinh_future_t, tinh_future_release> owned;
};

/// A future that the program completes itself, for runs to wait for.
class Promise : public Future {
public:
  Promise() : Future(create()) {}

  /// Completes it. An error travels to the runs that wait for it.
  void settle(tinh_status_t status = TINH_OK,
              const std::string &message = "") const {
    check(tinh_future_settle(handle(), status, message.c_str()));
  }

private:
  static tinh_future_t *create() {
    tinh_future_t *future = nullptr;
    check(tinh_future_create(&future));
    return future;
  }
};

/// Texts of a .safetensors file, by their keys.
using Metadata = std::map<std::string, std::string>;

/// As the C API takes them; they live as long as `metadata`.
inline std::vector<tinh_metadata_t> entries_of(const Metadata &metadata) {
  std::vector<tinh_metadata_t> entries;
  for (const auto &[key, value] : metadata)
    entries.push_back({key.c_str(), value.c_str()});
  return entries;
}

/// A .safetensors file. What it tells lives as long as it.
class TensorFile {
public:
  explicit TensorFile(const std::string &path) {
    tinh_safetensors_t *opened = nullptr;
    check(tinh_safetensors_open(path.c_str(), &opened));
    owned.reset(opened);
  }

  std::vector<tinh_safetensors_tensor_t> tensors() const {
    std::vector<tinh_safetensors_tensor_t> all(info().num_tensors);
    for (uint32_t i = 0; i < all.size(); ++i)
      check(tinh_safetensors_tensor(handle(), i, &all[i]));
    return all;
  }

  tinh_safetensors_tensor_t find(const std::string &name) const {
    tinh_safetensors_tensor_t tensor;
    check(tinh_safetensors_find(handle(), name.c_str(), &tensor));
    return tensor;
  }

  Metadata metadata() const {
    Metadata all;
    for (uint32_t i = 0; i < info().num_metadata; ++i) {
      tinh_metadata_t entry;
      check(tinh_safetensors_metadata(handle(), i, &entry));
      all.emplace(entry.key, entry.value);
    }
    return all;
  }

  /// Writes such a file, whole or not at all.
  static void write(const std::string &path,
                    const std::vector<tinh_safetensors_tensor_t> &tensors,
                    const Metadata &metadata = {}) {
    std::vector<tinh_metadata_t> entries = entries_of(metadata);
    check(tinh_safetensors_write(
        path.c_str(), tensors.data(), static_cast<uint32_t>(tensors.size()),
        entries.data(), static_cast<uint32_t>(entries.size())));
  }

  tinh_safetensors_t *handle() const noexcept { return owned.get(); }

private:
  tinh_safetensors_info_t info() const {
    tinh_safetensors_info_t info;
    check(tinh_safetensors_info(handle(), &info));
    return info;
  }

  detail::Owned<tinh_safetensors_t, tinh_safetensors_release> owned;
};

/// tinh_context_options_t, filled with the defaults.
struct ContextOptions : tinh_context_options_t {
  ContextOptions() { tinh_context_options_init(this); }
};

/// The GPUs that the CUDA driver sees.
inline uint32_t cuda_device_count() {
  uint32_t count = 0;
  check(tinh_cuda_device_count(&count));
  return count;
}

inline tinh_cuda_device_info_t cuda_device_info(uint32_t device) {
  tinh_cuda_device_info_t info;
  check(tinh_cuda_device_info(device, &info));
  return info;
}

/// A stream of the program's own, and memory on its GPU.
class CudaStream {
public:
  explicit CudaStream(uint32_t device = 0) {
    tinh_cuda_stream_t *created = nullptr;
    check(tinh_cuda_stream_create(device, &created));
    owned.reset(created);
  }

  void synchronize() const { check(tinh_cuda_stream_synchronize(handle())); }
  void *allocate(size_t size) const {
    void *memory = nullptr;
    check(tinh_cuda_allocate(handle(), size, &memory));
    return memory;
  }
  void free(void *memory) const { check(tinh_cuda_free(handle(), memory)); }
  void copy(void *to, const void *from, size_t size) const {
    check(tinh_cuda_stream_copy(handle(), to, from, size));
  }
  void write(void *to, const void *data, size_t size) const {
    check(tinh_cuda_stream_write(handle(), to, data, size));
  }

  tinh_cuda_stream_t *handle() const noexcept { return owned.get(); }

private:
  detail::Owned<tinh_cuda_stream_t, tinh_cuda_stream_release> owned;
};

/// A point in a stream's work, recorded when it is made.
class CudaEvent {
public:
  explicit CudaEvent(const CudaStream &stream) {
    tinh_cuda_event_t *created = nullptr;
    check(tinh_cuda_event_record(stream.handle(), &created));
    owned.reset(created);
  }

  /// Milliseconds on the GPU from this one to `end`, for which it waits.
  double elapsed_time(const CudaEvent &end) const {
    double ms = 0;
    check(tinh_cuda_event_elapsed(owned.get(), end.owned.get(), &ms));
    return ms;
  }

private:
  detail::Owned<tinh_cuda_event_t, tinh_cuda_event_release> owned;
};

/// Threads and memory to run a module in. Any thread may use it.
class Context {
public:
  using Buffers = std::vector<tinh_buffer_t>;
  using Futures = std::vector<std::reference_wrapper<const Future>>;

  explicit Context(const Module &module, const ContextOptions &options = {}) {
    tinh_context_t *created = nullptr;
    check(tinh_context_create(module.handle(), &options, &created));
    owned.reset(created);
  }

  tinh_context_info_t info() const {
    tinh_context_info_t info;
    check(tinh_context_info(handle(), &info));
    return info;
  }

  /// Runs `function` and waits for it.
  void run(const Buffers &inputs, const Buffers &outputs,
           uint32_t function = 0) const {
    check(tinh_context_run(handle(), function, inputs.data(), size(inputs),
                           outputs.data(), size(outputs)));
  }

  /// Queues a run that starts after all of `wait_for`.
  Future submit(const Buffers &inputs, const Buffers &outputs,
                const Futures &wait_for = {}, uint32_t function = 0) const {
    std::vector<tinh_future_t *> handles;
    for (const Future &future : wait_for)
      handles.push_back(future.handle());
    tinh_future_t *future = nullptr;
    check(tinh_context_submit(handle(), function, inputs.data(), size(inputs),
                              outputs.data(), size(outputs), handles.data(),
                              size(handles), &future));
    return Future(future);
  }

  /// The same on memory of the caller for all variables of the module, in place
  /// of the context's state.
  void run_on(const Buffers &variables, const Buffers &inputs,
              const Buffers &outputs, uint32_t function = 0) const {
    tinh_run_options_t options = {variables.data(), size(variables)};
    check(tinh_context_run_with(handle(), function, inputs.data(), size(inputs),
                                outputs.data(), size(outputs), &options));
  }

  /// Milliseconds of the GPU's for the last run, with measure_cuda.
  double cuda_time() const {
    double ms = 0;
    check(tinh_context_cuda_time(handle(), &ms));
    return ms;
  }

  /// What the runs so far say of `function` and its steps, with measure_steps.
  tinh_function_profile_t function_profile(uint32_t function = 0) const {
    tinh_function_profile_t profile;
    check(tinh_context_function_profile(handle(), function, &profile));
    return profile;
  }
  tinh_step_profile_t step_profile(uint32_t step, uint32_t function = 0) const {
    tinh_step_profile_t profile;
    check(tinh_context_step_profile(handle(), function, step, &profile));
    return profile;
  }
  tinh_step_span_t step_span(uint32_t span, uint32_t function = 0) const {
    tinh_step_span_t result;
    check(tinh_context_step_span(handle(), function, span, &result));
    return result;
  }
  void reset_profile() const { check(tinh_context_reset_profile(handle())); }

  void read_variable(uint32_t variable, tinh_buffer_t out) const {
    check(tinh_context_read_variable(handle(), variable, out.data, out.size));
  }
  void write_variable(uint32_t variable, tinh_buffer_t from) const {
    check(
        tinh_context_write_variable(handle(), variable, from.data, from.size));
  }
  void reset_state() const { check(tinh_context_reset_state(handle())); }

  /// The metadata is the program's own.
  void save_state(const std::string &path,
                  const Metadata &metadata = {}) const {
    std::vector<tinh_metadata_t> entries = entries_of(metadata);
    check(tinh_context_save_state(handle(), path.c_str(), entries.data(),
                                  size(entries)));
  }
  void load_state(const std::string &path) const {
    check(tinh_context_load_state(handle(), path.c_str()));
  }

  /// Waits until all runs have completed, however they ended.
  void wait_all() const { check(tinh_context_wait_all(handle())); }

  tinh_context_t *handle() const noexcept { return owned.get(); }

private:
  template <typename Container> static uint32_t size(const Container &items) {
    return static_cast<uint32_t>(items.size());
  }

  detail::Owned<tinh_context_t, tinh_context_release> owned;
};

} // namespace tinh

#endif // TINH_RUNTIME_HPP
