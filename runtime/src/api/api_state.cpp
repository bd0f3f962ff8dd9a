//===- api_state.cpp - The C API of variables -------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Variables of a module, and the state of a context.
//
//===----------------------------------------------------------------------===//
#include "api/handles.h"
#include "artifact/tensor.h"
#include "support/guarded.h"

#include <cstring>

using namespace tinh::runtime;

tinh_status_t tinh_module_find_variable(const tinh_module_t *module,
                                        const char *name,
                                        uint32_t *out_variable) {
  return guarded(
      {{module, "module"}, {name, "name"}, {out_variable, "out_variable"}},
      [&] {
        const tinh_artifact_t &artifact = module->module->artifact();
        for (uint32_t i = 0; i < artifact.num_variables; ++i)
          if (std::strcmp(artifact.variables[i].name, name) == 0) {
            *out_variable = i;
            return;
          }
        throw_error(TINH_NOT_FOUND,
                    {"the module has no variable '", name, "'"});
      });
}

tinh_status_t tinh_module_variable_info(const tinh_module_t *module,
                                        uint32_t variable,
                                        tinh_variable_info_t *out_info) {
  return guarded({{module, "module"}, {out_info, "out_info"}}, [&] {
    const tinh_variable_desc_t &desc = module->module->variable(variable);
    *out_info = {info_of(desc), desc.trainable != 0};
  });
}

/// Lets `access` copy a variable, which has `size` bytes, from or to `data`.
template <typename Access>
static tinh_status_t copy_variable(tinh_context_t *context, uint32_t variable,
                                   const void *data, size_t size,
                                   Access access) {
  return guarded({{context, "context"}}, [&] {
    Context &self = *context->context;
    self.with_state([&](State &state) {
      check_buffer(info_of(self.module().variable(variable)), "variable",
                   {const_cast<void *>(data), size});
      if (size)
        access(state);
    });
  });
}

tinh_status_t tinh_context_read_variable(tinh_context_t *context,
                                         uint32_t variable, void *data,
                                         size_t size) {
  return copy_variable(context, variable, data, size,
                       [&](State &state) { state.read(variable, data); });
}

tinh_status_t tinh_context_write_variable(tinh_context_t *context,
                                          uint32_t variable, const void *data,
                                          size_t size) {
  return copy_variable(context, variable, data, size,
                       [&](State &state) { state.write(variable, data); });
}

tinh_status_t tinh_context_reset_state(tinh_context_t *context) {
  return guarded({{context, "context"}}, [&] {
    context->context->with_state([](State &state) { state.reset(); });
  });
}

tinh_status_t tinh_context_save_state(tinh_context_t *context, const char *path,
                                      const tinh_metadata_t *metadata,
                                      uint32_t num_metadata) {
  return guarded({{context, "context"}, {path, "path"}}, [&] {
    if (num_metadata)
      require(metadata, "metadata");
    context->context->with_state(
        [&](State &state) { state.save(path, {metadata, num_metadata}); });
  });
}

tinh_status_t tinh_context_load_state(tinh_context_t *context,
                                      const char *path) {
  return guarded({{context, "context"}, {path, "path"}}, [&] {
    context->context->with_state([&](State &state) { state.load(path); });
  });
}
