//===- run_data.cpp - Runs of an artifact, as a page's data -----*- C++ -*-===//
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
#include "run_data.h"

#include <algorithm>

namespace tinh::tools {

static Json json_of(std::optional<double> value) {
  return value ? number(*value) : Json(nullptr);
}

Json artifact_data(const Module &module, bool on_cuda) {
  const tinh_artifact_t *artifact = nullptr;
  check(tinh_module_artifact(module.handle(), &artifact));
  if (!on_cuda && artifact->without_gpu)
    artifact = artifact->without_gpu;
  tinh_module_info_t info = module.info();
  Json page = page_data({.model = info.model,
                         .made_by = artifact->producer,
                         .cpu = info.cpu,
                         .core_operations = artifact->core.operations,
                         .core_bytes = artifact->core.bytes});
  for (uint32_t i = 0; i < artifact->num_functions; ++i)
    page["functions"].push_back(
        function_data(schedule_of(*artifact, artifact->functions[i]), {}));
  for (uint32_t i = 0; i < artifact->num_kernels; ++i) {
    const tinh_kernel_desc_t &kernel = artifact->kernels[i];
    page["kernels"][kernel.name] =
        kernel_data({.plan = kernel.plan ? kernel.plan : "",
                     .operations = kernel.operations,
                     .bytes = kernel.bytes,
                     .estimated_cycles = kernel.estimated_cycles});
  }
  return page;
}

/// By function the kinds and kernels of its steps.
static Json outline_of(const Json &page) {
  Json outline = Json::object();
  for (const Json &function : page.at("functions")) {
    Json &steps = outline[function.at("name").get<std::string>()];
    for (const Json &step : function.at("steps"))
      steps.push_back({step.at("kind"), step.at("kernel")});
  }
  return outline;
}

bool is_about(const Json &page, const Json &artifact) {
  try {
    return page.at("model") == artifact.at("model") &&
           page.at("machine").is_object() &&
           outline_of(page) == outline_of(artifact);
  } catch (const Json::exception &) { // It was written by another hand.
    return false;
  }
}

static Json step_json(const StepProfile &step) {
  return {{"ms", number(step.time)},
          {"min_ms", number(step.minimum)},
          {"work_ms", number(step.work)},
          {"share", number(step.share)},
          {"busy", json_of(step.busy)},
          {"executions", number(step.executions)},
          {"num_steps_timed", step.num_steps_timed},
          {"operations", json_of(step.operations)},
          {"bytes", json_of(step.bytes)},
          {"gflops", json_of(step.gflops)},
          {"gbytes", json_of(step.gbytes)},
          {"peak", json_of(step.peak)},
          {"memory_peak", json_of(step.memory_peak)},
          {"estimate_ratio", json_of(step.estimate_ratio)}};
}

static Json profile_json(const FunctionProfile &profile) {
  Json steps = Json::array();
  for (const StepProfile &step : profile.steps)
    steps.push_back(step.is_measured() ? step_json(step) : Json(nullptr));
  return {{"threads", profile.threads},
          {"runs", profile.runs},
          {"median_ms", number(profile.time)},
          {"min_ms", number(profile.minimum)},
          {"steps_ms", number(profile.steps_time)},
          {"steps", std::move(steps)}};
}

/// A row for each thread, and one for the GPU if it did something.
static Json timeline_json(const FunctionProfile &profile,
                          const Context &context, uint32_t function) {
  Json threads(profile.threads, Json::array()), cuda = Json::array();
  uint32_t count = context.function_profile(function).num_spans;
  double end = 0;
  for (uint32_t i = 0; i < count; ++i) {
    tinh_step_span_t span = context.step_span(i, function);
    Json &row = span.worker == TINH_SPAN_OF_CUDA ? cuda : threads[span.worker];
    row.push_back({span.step, number(span.begin_ms), number(span.end_ms)});
    end = std::max(end, span.end_ms);
  }
  if (!cuda.empty())
    threads.push_back(std::move(cuda));
  return {{"ms", number(end)}, {"threads", std::move(threads)}};
}

void add_profile(Json &page, uint32_t index, const FunctionProfile &profile,
                 const Context &context) {
  page["machine"]["ghz"] = unless_zero(profile.clock);
  page["machine"]["threads"] = profile.threads;
  Json &function = page["functions"][index];
  function["profile"] = profile_json(profile);
  function["timeline"] = timeline_json(profile, context, index);
}

} // namespace tinh::tools
