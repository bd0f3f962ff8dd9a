//===- api_profile.cpp - The C API of profiles ------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "api/handles.h"
#include "support/guarded.h"

using namespace tinh::runtime;

tinh_status_t
tinh_context_function_profile(tinh_context_t *context, uint32_t function,
                              tinh_function_profile_t *out_profile) {
  return guarded({{context, "context"}, {out_profile, "out_profile"}}, [&] {
    *out_profile = context->context->profile(function)->function();
  });
}

tinh_status_t tinh_context_step_profile(tinh_context_t *context,
                                        uint32_t function, uint32_t step,
                                        tinh_step_profile_t *out_profile) {
  return guarded({{context, "context"}, {out_profile, "out_profile"}}, [&] {
    auto profile = context->context->profile(function);
    *out_profile = item_of(profile->steps(), step, "step", "function");
  });
}

tinh_status_t tinh_context_step_span(tinh_context_t *context, uint32_t function,
                                     uint32_t span,
                                     tinh_step_span_t *out_span) {
  return guarded({{context, "context"}, {out_span, "out_span"}}, [&] {
    auto profile = context->context->profile(function);
    *out_span = item_of(profile->spans(), span, "span", "run");
  });
}

tinh_status_t tinh_module_artifact(const tinh_module_t *module,
                                   const tinh_artifact_t **out_artifact) {
  return guarded({{module, "module"}, {out_artifact, "out_artifact"}},
                 [&] { *out_artifact = &module->module->artifact(); });
}

tinh_status_t tinh_context_reset_profile(tinh_context_t *context) {
  return guarded({{context, "context"}},
                 [&] { context->context->reset_profile(); });
}
