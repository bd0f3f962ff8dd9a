//===- scaling_report.cpp - What a simulation says to the user ------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "scaling_report.h"

#include "printable.h"
#include "table.h"

#include <cstdio>
#include <nlohmann/json.hpp>
#include <numeric>

namespace tinh::tools {

using Json = nlohmann::ordered_json;

static const std::map<Algorithm, const char *> kAlgorithms = {
    {Algorithm::direct, "direct"},
    {Algorithm::ring, "ring"},
    {Algorithm::tree, "tree"},
    {Algorithm::halving, "halving"}};

static std::string text(const char *format, double value) {
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, format, value);
  return buffer;
}

static std::string milliseconds(double seconds) {
  return text("%.3f", seconds * 1e3);
}

static std::string percent(double share) {
  return text("%.1f %%", share * 100);
}

static double bytes_of(const Plan &plan) {
  double bytes = 0;
  for (const Collective &collective : plan.collectives)
    bytes += static_cast<double>(collective.bytes);
  return bytes;
}

/// How far the model is from what it was fitted to.
static void print_fit(const ScalingReport &report) {
  Table table({{"all-reduce, bytes", Table::Align::right},
               {"measured ms", Table::Align::right},
               {"fitted ms", Table::Align::right}});
  for (const ReductionTime &time : report.reductions)
    table.add({std::to_string(time.bytes), milliseconds(time.seconds),
               milliseconds(report.network.seconds(
                   {TINH_ALL_REDUCE, time.bytes}, report.fitted_ranks))});
  std::printf("%s\n", table.text().c_str());
}

static std::string options_of(const Network &network) {
  return text("--latency=%.4g", network.latency * 1e6) +
         text(" --bandwidth=%.4g", network.bandwidth * 1e-9) +
         text(" --host-share=%.3g", network.host_share) +
         " --algorithm=" + kAlgorithms.at(network.algorithm);
}

void print(const ScalingReport &report) {
  if (!report.reductions.empty())
    print_fit(report);
  std::printf("%s: %s, %zu steps, %zu collectives of %.2f MB\n%s\n\n",
              printable(report.model).c_str(),
              printable(report.function).c_str(), report.plan.steps.size(),
              report.plan.collectives.size(), bytes_of(report.plan) * 1e-6,
              options_of(report.network).c_str());
  Table table({{"ranks", Table::Align::right},
               {"step ms", Table::Align::right},
               {"communication ms", Table::Align::right},
               {"exposed ms", Table::Align::right},
               {"overlap", Table::Align::right},
               {"efficiency", Table::Align::right}});
  for (const Scaling &scaling : report.scaling) {
    bool is_one = scaling.ranks == 1;
    table.add({std::to_string(scaling.ranks), milliseconds(scaling.step),
               milliseconds(scaling.communication),
               milliseconds(scaling.exposed()),
               is_one ? "" : percent(scaling.overlap()),
               percent(scaling.efficiency())});
  }
  std::printf("%s", table.text().c_str());
}

static Json json_of(const Network &network) {
  return {{"latency_us", network.latency * 1e6},
          {"bandwidth_gb", network.bandwidth * 1e-9},
          {"host_share", network.host_share},
          {"algorithm", kAlgorithms.at(network.algorithm)}};
}

static Json collectives_json(const Plan &plan) {
  static const char *const kNames[] = {"all_reduce", "all_gather",
                                       "reduce_scatter", "broadcast"};
  Json json = Json::array();
  for (const Collective &collective : plan.collectives)
    json.push_back(
        {{"kind", kNames[collective.kind]}, {"bytes", collective.bytes}});
  return json;
}

static Json steps_json(const Plan &plan) {
  Json json = Json::array();
  for (const PlanStep &step : plan.steps) {
    Json &made = json.emplace_back();
    made = {{"name", step.name}};
    if (step.kind == PlanStep::Kind::compute)
      made["ms"] = step.seconds * 1e3;
    else
      made["collective"] = step.collective;
  }
  return json;
}

static Json scaling_json(const ScalingReport &report) {
  Json json = Json::array();
  for (const Scaling &scaling : report.scaling)
    json.push_back({{"ranks", scaling.ranks},
                    {"step_ms", scaling.step * 1e3},
                    {"communication_ms", scaling.communication * 1e3},
                    {"exposed_ms", scaling.exposed() * 1e3},
                    {"overlap", scaling.overlap()},
                    {"efficiency", scaling.efficiency()}});
  return json;
}

void print_json(const ScalingReport &report) {
  Json reductions = Json::array();
  for (const ReductionTime &time : report.reductions)
    reductions.push_back({{"bytes", time.bytes}, {"ms", time.seconds * 1e3}});
  Json json = {{"model", report.model},
               {"function", report.function},
               {"network", json_of(report.network)},
               {"measured_reductions", std::move(reductions)},
               {"collectives", collectives_json(report.plan)},
               {"scaling", scaling_json(report)},
               {"steps", steps_json(report.plan)}};
  auto replace = Json::error_handler_t::replace; // What is no UTF-8.
  std::printf("%s\n", json.dump(2, ' ', false, replace).c_str());
}

} // namespace tinh::tools
