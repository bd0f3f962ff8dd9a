//===- api.cpp - The C API --------------------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Handles, and checks of what the caller gives.
//
//===----------------------------------------------------------------------===//
#include "api/handles.h"
#include "artifact/steps.h"
#include "artifact/tensor.h"
#include "support/guarded.h"

#include <algorithm>

#ifndef TINH_VERSION
#error "TINH_VERSION is defined by the build"
#endif

using namespace tinh::runtime;

const char *tinh_runtime_version(void) { return TINH_VERSION; }

tinh_status_t tinh_module_load(const char *path, tinh_module_t **out_module) {
  return guarded({{path, "path"}, {out_module, "out_module"}}, [&] {
    *out_module = new tinh_module{std::make_shared<Module>(path)};
  });
}

tinh_status_t tinh_module_load_linked(const tinh_model_t *model,
                                      const char *weights_path,
                                      tinh_module_t **out_module) {
  return guarded({{model, "model"}, {out_module, "out_module"}}, [&] {
    *out_module =
        new tinh_module{std::make_shared<Module>(*model, weights_path)};
  });
}

tinh_status_t tinh_module_with_weights(const tinh_module_t *module,
                                       const char *path,
                                       tinh_module_t **out_module) {
  return guarded(
      {{module, "module"}, {path, "path"}, {out_module, "out_module"}}, [&] {
        *out_module =
            new tinh_module{std::make_shared<Module>(module->module, path)};
      });
}

tinh_status_t tinh_module_verify_weights(const tinh_module_t *module) {
  return guarded({{module, "module"}},
                 [&] { module->module->verify_weights(); });
}

void tinh_module_release(tinh_module_t *module) { delete module; }

tinh_status_t tinh_module_info(const tinh_module_t *module,
                               tinh_module_info_t *out_info) {
  return guarded({{module, "module"}, {out_info, "out_info"}}, [&] {
    const tinh_artifact_t &artifact = module->module->artifact();
    bool has_cuda = needs_device(artifact);
    *out_info = {artifact.model,
                 artifact.producer,
                 module->module->cpu(),
                 artifact.num_functions,
                 artifact.num_kernels,
                 artifact.num_variables,
                 artifact.weights_size,
                 artifact.state_size,
                 has_cuda && !artifact.without_gpu,
                 artifact.device_state_size,
                 has_cuda,
                 artifact.without_gpu ? artifact.without_gpu->state_size : 0};
  });
}

tinh_status_t tinh_module_find_function(const tinh_module_t *module,
                                        const char *name,
                                        uint32_t *out_function) {
  return guarded(
      {{module, "module"}, {name, "name"}, {out_function, "out_function"}},
      [&] {
        const tinh_artifact_t &artifact = module->module->artifact();
        std::string known;
        for (uint32_t i = 0; i < artifact.num_functions; ++i) {
          if (std::string_view(artifact.functions[i].name) == name) {
            *out_function = i;
            return;
          }
          known +=
              message_of({i ? ", '" : "'", artifact.functions[i].name, "'"});
        }
        throw_error(TINH_NOT_FOUND, {"the module has no function '", name,
                                     "'; it has ", known});
      });
}

/// How many of the tensors are the caller's, not variables.
static uint32_t num_given(const tinh_tensor_desc_t *tensors, uint32_t count) {
  return static_cast<uint32_t>(
      std::count_if(tensors, tensors + count, [](const tinh_tensor_desc_t &t) {
        return t.variable == TINH_NOT_VARIABLE;
      }));
}

tinh_status_t tinh_module_function_info(const tinh_module_t *module,
                                        uint32_t function,
                                        tinh_function_info_t *out_info) {
  return guarded({{module, "module"}, {out_info, "out_info"}}, [&] {
    const tinh_function_desc_t &desc = module->module->function(function);
    const tinh_artifact_t *others = module->module->artifact().without_gpu;
    tinh_function_desc_t other = {};
    if (others)
      other = others->functions[function];
    CollectiveNeeds needs = collective_needs(module->module->artifact(), desc);
    *out_info = {desc.name,
                 num_given(desc.inputs, desc.num_inputs),
                 num_given(desc.outputs, desc.num_outputs),
                 desc.num_steps,
                 desc.mutates_state != 0,
                 desc.arena_size,
                 desc.unplanned_size,
                 desc.lower_bound_size,
                 desc.device_arena_size,
                 desc.device_unplanned_size,
                 desc.device_lower_bound_size,
                 other.num_steps,
                 other.arena_size,
                 other.unplanned_size,
                 other.lower_bound_size,
                 needs.any,
                 needs.num_ranks,
                 needs.on_gpu};
  });
}

/// Of the caller's tensors, number `index`.
static tinh_tensor_info_t tensor_info(const tinh_tensor_desc_t *tensors,
                                      uint32_t count, uint32_t index,
                                      const char *kind) {
  uint32_t before = 0;
  for (uint32_t i = 0; i < count; ++i)
    if (tensors[i].variable == TINH_NOT_VARIABLE && before++ == index)
      return info_of(tensors[i]);
  throw_error(TINH_INVALID_ARGUMENT, {"there is no ", kind, " ", index,
                                      "; the function has ", before});
}

tinh_status_t tinh_module_input_info(const tinh_module_t *module,
                                     uint32_t function, uint32_t input,
                                     tinh_tensor_info_t *out_info) {
  return guarded({{module, "module"}, {out_info, "out_info"}}, [&] {
    const tinh_function_desc_t &desc = module->module->function(function);
    *out_info = tensor_info(desc.inputs, desc.num_inputs, input, "input");
  });
}

tinh_status_t tinh_module_output_info(const tinh_module_t *module,
                                      uint32_t function, uint32_t output,
                                      tinh_tensor_info_t *out_info) {
  return guarded({{module, "module"}, {out_info, "out_info"}}, [&] {
    const tinh_function_desc_t &desc = module->module->function(function);
    *out_info = tensor_info(desc.outputs, desc.num_outputs, output, "output");
  });
}

void tinh_context_options_init(tinh_context_options_t *out_options) {
  if (out_options)
    *out_options = Context::default_options();
}

tinh_status_t tinh_context_create(const tinh_module_t *module,
                                  const tinh_context_options_t *options,
                                  tinh_context_t **out_context) {
  return guarded({{module, "module"}, {out_context, "out_context"}}, [&] {
    auto handle = std::make_unique<tinh_context>();
    handle->context = std::make_shared<Context>(
        module->module, options ? *options : Context::default_options());
    *out_context = handle.release();
  });
}

void tinh_context_release(tinh_context_t *context) {
  if (!context)
    return;
  guarded([&] { context->context->shut_down(); });
  delete context;
}

tinh_status_t tinh_context_info(const tinh_context_t *context,
                                tinh_context_info_t *out_info) {
  return guarded({{context, "context"}, {out_info, "out_info"}},
                 [&] { *out_info = context->context->info(); });
}

/// The caller's memory for variables; null for those of the context.
static const tinh_buffer_t *check_variables(const Module &module,
                                            const tinh_run_options_t *options) {
  if (!options || !options->variables)
    return nullptr;
  uint32_t expected = module.artifact().num_variables;
  if (options->num_variables != expected)
    throw_error(TINH_INVALID_ARGUMENT,
                {"the module has ", expected, " variables, but ",
                 options->num_variables, " were given"});
  return options->variables;
}

/// Finds where the tensors of a run lie.
class ArgumentPlacer {
public:
  ArgumentPlacer(Context &context, const tinh_run_options_t *options)
      : module(context.module()), state(context.state()),
        on_stream(context.is_on_stream()),
        variables(check_variables(context.module(), options)) {}

  /// Those of the function that are no variables are in `buffers`.
  void add(const tinh_tensor_desc_t *tensors, uint32_t num_tensors,
           const tinh_buffer_t *buffers, uint32_t num_buffers,
           const char *kind) {
    uint32_t expected = num_given(tensors, num_tensors);
    if (num_buffers != expected)
      throw_error(TINH_INVALID_ARGUMENT,
                  {"the function has ", expected, " ", kind, "s, but ",
                   num_buffers, " were given"});
    if (expected)
      require(buffers, (std::string(kind) + 's').c_str());
    for (uint32_t i = 0; i < num_tensors; ++i)
      placed.push_back(tensors[i].variable == TINH_NOT_VARIABLE
                           ? check(tensors[i], kind, *buffers++)
                           : variable(tensors[i]));
  }

  Arguments finish() { return {std::move(placed), variables == nullptr}; }

private:
  static void *check(const tinh_tensor_desc_t &tensor, const char *kind,
                     const tinh_buffer_t &buffer) {
    check_buffer(info_of(tensor), kind, buffer);
    return buffer.data;
  }

  void *variable(const tinh_tensor_desc_t &tensor) {
    auto index = static_cast<uint32_t>(tensor.variable);
    if (!variables)
      return state.variable(index);
    if (module.variable(index).device != TINH_DEVICE_CPU)
      return check_on_device(tensor, variables[index]);
    if (module.variable(index).pack.kernel != TINH_NO_KERNEL)
      throw_error(TINH_INVALID_ARGUMENT,
                  {"variable '", tensor.name,
                   "' has a layout of its own and lies in the context "
                   "only; compile the model with --plain-variables"});
    return check(tensor, "variable", variables[index]);
  }

  void *check_on_device(const tinh_tensor_desc_t &tensor,
                        const tinh_buffer_t &buffer) const {
    if (!on_stream)
      throw_error(TINH_INVALID_ARGUMENT,
                  {"variable '", tensor.name,
                   "' lies on the GPU, in the context only; compile the "
                   "model with --place to have it on the CPU, or give the "
                   "context a stream (cuda_stream)"});
    void *data = check(tensor, "variable", buffer);
    if (reinterpret_cast<uintptr_t>(data) % TINH_BUFFER_ALIGNMENT != 0)
      throw_error(TINH_INVALID_ARGUMENT,
                  {"the memory of variable '", tensor.name,
                   "' on the GPU is not aligned to ", TINH_BUFFER_ALIGNMENT,
                   " bytes"});
    return data;
  }

  const Module &module;
  State &state;
  const bool on_stream;
  const tinh_buffer_t *variables;
  std::vector<void *> placed;
};

static Arguments check_arguments(const tinh_context_t *context,
                                 uint32_t function, const tinh_buffer_t *inputs,
                                 uint32_t num_inputs,
                                 const tinh_buffer_t *outputs,
                                 uint32_t num_outputs,
                                 const tinh_run_options_t *options) {
  require(context, "context");
  Context &self = *context->context;
  self.require_this_process();
  const tinh_function_desc_t &desc = self.module().function(function);
  ArgumentPlacer placer(self, options);
  placer.add(desc.inputs, desc.num_inputs, inputs, num_inputs, "input");
  placer.add(desc.outputs, desc.num_outputs, outputs, num_outputs, "output");
  Arguments arguments = placer.finish();
  self.check_memory(function, arguments);
  return arguments;
}

tinh_status_t tinh_context_submit_with(
    tinh_context_t *context, uint32_t function, const tinh_buffer_t *inputs,
    uint32_t num_inputs, const tinh_buffer_t *outputs, uint32_t num_outputs,
    tinh_future_t *const *wait_for, uint32_t num_wait_for,
    const tinh_run_options_t *options, tinh_future_t **out_future) {
  return guarded([&] {
    Arguments arguments = check_arguments(context, function, inputs, num_inputs,
                                          outputs, num_outputs, options);
    if (num_wait_for)
      require(wait_for, "wait_for");
    std::vector<std::shared_ptr<Future>> dependencies;
    for (uint32_t i = 0; i < num_wait_for; ++i) {
      require(wait_for[i], "a future to wait for");
      dependencies.push_back(wait_for[i]->future);
    }
    auto handle = std::make_unique<tinh_future>();
    handle->future =
        context->context->submit(function, std::move(arguments), dependencies);
    if (out_future)
      *out_future = handle.release();
  });
}

tinh_status_t
tinh_context_submit(tinh_context_t *context, uint32_t function,
                    const tinh_buffer_t *inputs, uint32_t num_inputs,
                    const tinh_buffer_t *outputs, uint32_t num_outputs,
                    tinh_future_t *const *wait_for, uint32_t num_wait_for,
                    tinh_future_t **out_future) {
  return tinh_context_submit_with(context, function, inputs, num_inputs,
                                  outputs, num_outputs, wait_for, num_wait_for,
                                  nullptr, out_future);
}

tinh_status_t tinh_context_run_with(tinh_context_t *context, uint32_t function,
                                    const tinh_buffer_t *inputs,
                                    uint32_t num_inputs,
                                    const tinh_buffer_t *outputs,
                                    uint32_t num_outputs,
                                    const tinh_run_options_t *options) {
  return guarded([&] {
    Arguments arguments = check_arguments(context, function, inputs, num_inputs,
                                          outputs, num_outputs, options);
    Future::prepare_to_run(context->context.get());
    context->context->run_now(function, std::move(arguments));
  });
}

tinh_status_t tinh_context_run(tinh_context_t *context, uint32_t function,
                               const tinh_buffer_t *inputs, uint32_t num_inputs,
                               const tinh_buffer_t *outputs,
                               uint32_t num_outputs) {
  return tinh_context_run_with(context, function, inputs, num_inputs, outputs,
                               num_outputs, nullptr);
}

tinh_status_t tinh_context_wait_all(tinh_context_t *context) {
  return guarded({{context, "context"}}, [&] { context->context->wait_all(); });
}

tinh_status_t tinh_future_wait(tinh_future_t *future) {
  return guarded({{future, "future"}}, [&] {
    tinh_status_t status = future->future->wait();
    if (status != TINH_OK)
      throw_error(status, {future->future->message()});
  });
}

tinh_status_t tinh_future_poll(tinh_future_t *future, bool *out_done) {
  return guarded({{future, "future"}, {out_done, "out_done"}}, [&] {
    if (!future->future->done())
      Future::call_due();
    *out_done = future->future->done();
  });
}

tinh_status_t tinh_future_then(tinh_future_t *future, tinh_callback_fn callback,
                               void *user) {
  return guarded({{future, "future"}}, [&] {
    require(reinterpret_cast<const void *>(callback), "callback");
    future->future->require_this_process();
    future->future->then([=](tinh_status_t status, const char *message) {
      callback(user, status, message);
    });
  });
}

tinh_status_t tinh_future_cancel(tinh_future_t *future) {
  return guarded({{future, "future"}}, [&] { future->future->cancel(); });
}

tinh_status_t tinh_future_create(tinh_future_t **out_future) {
  return guarded({{out_future, "out_future"}}, [&] {
    *out_future = new tinh_future{std::make_shared<Future>()};
  });
}

tinh_status_t tinh_future_settle(tinh_future_t *future, tinh_status_t status,
                                 const char *message) {
  return guarded({{future, "future"}}, [&] {
    // Who waits for it may give up the handle meanwhile.
    std::shared_ptr<Future> settled = future->future;
    if (!settled->is_user_event())
      throw_error(TINH_INVALID_ARGUMENT,
                  {"only a future from tinh_future_create can be settled"});
    if (!settled->settle(status, message ? message : ""))
      throw_error(TINH_ALREADY_STARTED, {"the future is settled already"});
  });
}

void tinh_future_release(tinh_future_t *future) { delete future; }
