//===- function_data.cpp - A function, as a page's data ---------*- C++ -*-===//
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
#include "function_data.h"

#include "data_flow.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>

namespace tinh::tools {

//===----------------------------------------------------------------------===//
// Facts
//===----------------------------------------------------------------------===//

Json number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.5g", value);
  return std::strtod(text, nullptr);
}

Json unless_zero(double value) {
  return value > 0 ? number(value) : Json(nullptr);
}

static Json unless_empty(const std::string &text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

Json page_data(const PageFacts &facts) {
  Json machine = {{"ghz", nullptr},
                  {"core_operations", unless_zero(facts.core_operations)},
                  {"core_bytes", unless_zero(facts.core_bytes)},
                  {"threads", nullptr}};
  return {{"format", 1},
          {"model", facts.model},
          {"made_by", facts.made_by},
          {"cpu", facts.cpu},
          {"machine", std::move(machine)},
          {"functions", Json::array()},
          {"kernels", Json::object()},
          {"compile", nullptr},
          {"comparison", nullptr}};
}

Json kernel_data(const KernelFacts &facts) {
  Json assembly = nullptr;
  if (!facts.assembly.empty())
    assembly = {{"what", facts.loop}, {"text", facts.assembly}};
  return {{"strategy", unless_empty(facts.strategy)},
          {"plan", unless_empty(facts.plan)},
          {"operations", facts.operations},
          {"bytes", facts.bytes},
          {"estimated_cycles", unless_zero(facts.estimated_cycles)},
          {"code_bytes", nullptr},
          {"compile_ms", nullptr},
          {"cached", nullptr},
          {"ir", unless_empty(facts.ir)},
          {"assembly", std::move(assembly)}};
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

namespace {

/// Ops and, behind them, steps, joined where a step computes an op.
class Joiner {
public:
  Joiner(const OpGraph &graph, size_t num_steps)
      : graph(graph), num_ops(graph.ops.size()), parents(num_ops + num_steps) {
    std::iota(parents.begin(), parents.end(), size_t{0});
    for (size_t step = 0; step < std::min(num_steps, graph.of_steps.size());
         ++step)
      for (uint32_t op : graph.of_steps[step])
        join(op, num_ops + step);
  }

  std::vector<Block> run() {
    place_blocks();
    std::vector<size_t> order;
    for (size_t i = 0; i < parents.size(); ++i)
      if (root(i) == i)
        order.push_back(i);
    std::ranges::stable_sort(order, {}, [&](size_t i) { return places[i]; });
    std::vector<size_t> numbers(parents.size());
    for (size_t i = 0; i < order.size(); ++i)
      numbers[order[i]] = i;
    std::vector<Block> blocks(order.size());
    for (size_t i = 0; i < parents.size(); ++i) {
      Block &block = blocks[numbers[root(i)]];
      if (i < num_ops)
        block.ops.push_back(static_cast<uint32_t>(i));
      else
        block.steps.push_back(static_cast<uint32_t>(i - num_ops));
    }
    return blocks;
  }

private:
  size_t root(size_t i) {
    while (parents[i] != i)
      i = parents[i] = parents[parents[i]];
    return i;
  }
  void join(size_t a, size_t b) {
    a = root(a);
    b = root(b);
    parents[std::max(a, b)] = std::min(a, b);
  }

  /// By root: two times the first step, or one less than what reads it. Ops
  /// come before those that read them.
  void place_blocks() {
    size_t last = 2 * (parents.size() - num_ops);
    places.assign(parents.size(), last);
    for (size_t i = parents.size(); i-- > num_ops;)
      places[root(i)] = 2 * (i - num_ops) + 1;
    std::vector<bool> has_step(parents.size());
    for (size_t i = num_ops; i < parents.size(); ++i)
      has_step[root(i)] = true;
    for (size_t op = num_ops; op-- > 0;)
      for (uint32_t read : graph.reads[op])
        if (size_t of = root(read); !has_step[of])
          places[of] = std::min(places[of], places[root(op)] & ~size_t{1});
  }

  const OpGraph &graph;
  const size_t num_ops;
  std::vector<size_t> parents, places;
};

} // namespace

std::vector<Block> blocks_of(const OpGraph &graph, size_t num_steps) {
  return Joiner(graph, num_steps).run();
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

static Json json_of(const std::vector<Signature> &tensors) {
  Json json = Json::array();
  for (const Signature &tensor : tensors)
    json.push_back({{"name", tensor.name}, {"type", tensor.type}});
  return json;
}

/// Lanes of rows in the order of `order`, told by what the rows are.
static Lanes lanes_in_order(const Edges &reads,
                            const std::vector<uint32_t> &order) {
  std::vector<uint32_t> rows(order.size());
  for (uint32_t row = 0; row < order.size(); ++row)
    rows[order[row]] = row;
  Edges by_row(order.size());
  for (uint32_t row = 0; row < order.size(); ++row)
    for (uint32_t read : reads[order[row]])
      by_row[row].push_back(rows[read]);
  Lanes lanes = assign_lanes(by_row), result = lanes;
  for (uint32_t row = 0; row < order.size(); ++row) {
    uint32_t of = order[row];
    result.lanes[of] = lanes.lanes[row];
    for (auto [from, to] : {std::pair(&lanes.near, &result.near),
                            std::pair(&lanes.far, &result.far)}) {
      (*to)[of].clear();
      for (uint32_t read : (*from)[row])
        (*to)[of].push_back(order[read]);
    }
  }
  return result;
}

static void add_edges(Json &json, const Lanes &lanes, size_t i) {
  json["reads"] = lanes.near[i];
  json["far"] = lanes.far[i];
  json["lane"] = lanes.lanes[i];
}

static Json ops_json(const OpGraph &graph, const std::vector<uint32_t> &order) {
  Lanes lanes = lanes_in_order(graph.reads, order);
  Json json = Json::array();
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    const GraphOp &op = graph.ops[i];
    Json &row = json.emplace_back();
    row = {{"op", op.kind},           {"nodes", op.nodes},
           {"type", op.type},         {"attributes", op.attributes},
           {"reads_also", op.others}, {"view", op.is_view}};
    add_edges(row, lanes, i);
  }
  return json;
}

static const char *kind_text(tinh_opcode_t opcode) {
  static const char *const kTexts[] = {"kernel", "copy",  "zero",
                                       "start",  "await", "branch",
                                       "jump",   "loop",  "next"};
  return kTexts[opcode];
}

static Json steps_json(const Schedule &schedule, const DataFlow &flow,
                       const std::vector<uint32_t> &order) {
  Lanes lanes = lanes_in_order(flow.reads, order);
  Json json = Json::array();
  for (size_t i = 0; i < schedule.steps.size(); ++i) {
    const ScheduleStep &step = schedule.steps[i];
    Json &row = json.emplace_back();
    row = {{"kind", kind_text(step.opcode)},
           {"kernel", step.kernel.empty() ? Json(nullptr) : Json(step.kernel)},
           {"device", step.on_cuda ? "cuda" : "cpu"},
           {"nodes", step.nodes},
           {"depth", flow.depth[i]},
           {"chunks", step.chunks},
           {"wait_for", step.wait_for}};
    add_edges(row, lanes, i);
  }
  return json;
}

static Json arena_json(const Schedule &schedule, const DataFlow &flow) {
  Json buffers = Json::array();
  for (const ArenaBuffer &buffer : flow.buffers)
    buffers.push_back({{"offset", buffer.offset},
                       {"size", buffer.size},
                       {"first", buffer.first},
                       {"last", buffer.last}});
  return {{"size", schedule.sizes.size},
          {"unplanned", schedule.sizes.unplanned},
          {"lower_bound", schedule.sizes.lower_bound},
          {"live", flow.live},
          {"buffers", std::move(buffers)}};
}

Json function_data(const Schedule &schedule, const OpGraph &graph) {
  DataFlow flow = data_flow_of(schedule);
  std::vector<uint32_t> ops, steps; // In the order of the page.
  Json blocks = Json::array();
  for (const Block &block : blocks_of(graph, schedule.steps.size())) {
    ops.insert(ops.end(), block.ops.begin(), block.ops.end());
    steps.insert(steps.end(), block.steps.begin(), block.steps.end());
    blocks.push_back({{"ops", block.ops}, {"steps", block.steps}});
  }
  return {{"name", schedule.name},
          {"inputs", json_of(schedule.inputs)},
          {"outputs", json_of(schedule.outputs)},
          {"ops", ops_json(graph, ops)},
          {"steps", steps_json(schedule, flow, steps)},
          {"blocks", std::move(blocks)},
          {"arena", arena_json(schedule, flow)},
          {"profile", nullptr},
          {"timeline", nullptr}};
}

} // namespace tinh::tools
