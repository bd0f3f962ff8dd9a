//===- comparison_page.cpp - A comparison as a page -------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "comparison_page.h"

#include "clock.h"
#include "model_page.h"
#include "page.h"
#include "run_data.h"

namespace tinh::tools {

static Json sideJson(const char *name, const Side &side, Json kernels = nullptr,
                     Json bytes = nullptr) {
  return {{"name", name},
          {"compile_ms", side.compile},
          {"first_ms", side.first},
          {"median_ms", side.median()},
          {"p99_ms", percentile(side.times, 99)},
          {"times_ms", side.times},
          {"kernels", std::move(kernels)},
          {"bytes", std::move(bytes)}};
}

static Json comparisonJson(const Comparison &c) {
  double calls = c.breakEven();
  Json sides = {
      sideJson("eager", c.eager, c.eagerKernels, c.eagerBytes),
      sideJson("compiled", c.compiled, c.main().dispatches, c.arenaBytes())};
  if (c.onnxRuntime)
    sides.push_back(sideJson("onnxruntime", *c.onnxRuntime));
  return {
      {"runs", c.eager.times.size()},
      {"speedup", c.speedup()},
      {"break_even_calls", calls < 0 ? Json(nullptr) : Json(std::ceil(calls))},
      {"max_rel_difference", c.difference.relative},
      {"sides", std::move(sides)}};
}

/// Profiles as many runs as were compared, in a context of their own: to look
/// at the clock for each step takes time.
static void addRuns(Json &page, const Comparison &comparison,
                    const ComparedArtifact &artifact) {
  Module module(artifact.path);
  ContextOptions options;
  options.threads = comparison.threads;
  options.measure_steps = true;
  Context context(module, options);
  context.run(artifact.inputs, artifact.outputs);
  context.reset_profile();
  for (size_t i = 0; i < comparison.compiled.times.size(); ++i)
    context.run(artifact.inputs, artifact.outputs);
  add_profile(page, 0, make_profile(module, context, 0, measure_clock()),
              context);
}

bool writePage(const std::string &path, const Comparison &comparison,
               report::Recorder &recorder, const ComparedArtifact &artifact,
               std::string *message) {
  recorder.describe();
  Json page = compilation_data(recorder, comparison.report);
  page["comparison"] = comparisonJson(comparison);
  addRuns(page, comparison, artifact);
  return write_page(path, page, message);
}

} // namespace tinh::tools
