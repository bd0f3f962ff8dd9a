//===- times_file.cpp - Times of steps from a file ------------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "inputs.h"
#include "scaling_report.h"

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

namespace tinh::tools {

using Json = nlohmann::json;

static Json read_steps(const std::string &path) {
  std::ifstream file(path);
  if (!file)
    throw UserError("--times: cannot read '" + path + "'");
  Json json = Json::parse(file, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("steps") || !json["steps"].is_array())
    throw UserError("--times: '" + path +
                    "' has no list \"steps\", as graph-scale --json prints it");
  return json["steps"];
}

void read_times(Plan &plan, const std::string &path) {
  Json steps = read_steps(path);
  if (steps.size() != plan.steps.size())
    throw UserError("--times: '" + path + "' has " +
                    std::to_string(steps.size()) + " steps, and the function " +
                    std::to_string(plan.steps.size()) +
                    ": it is of another artifact");
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    PlanStep &step = plan.steps[i];
    auto fail = [&](const std::string &why) {
      throw UserError("--times: step " + std::to_string(i) + " of '" + path +
                      "', " + step.name + " in the artifact, " + why);
    };
    const Json &given = steps[i];
    if (!given.is_object() || given.value("name", Json()) != step.name)
      fail("has another name there: it is of another artifact");
    if (step.kind != PlanStep::Kind::compute)
      continue;
    Json time = given.value("ms", Json());
    if (!time.is_number() || !(time.get<double>() >= 0) ||
        std::isinf(time.get<double>()))
      fail("needs \"ms\", a number of milliseconds");
    step.seconds = time.get<double>() * 1e-3;
  }
}

} // namespace tinh::tools
