//===- function_data.h - A function, as a page's data -----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The graph before and after fusion and the arena, as docs/report.md describes
// them: laid out here, so that a page has only to draw.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TOOLS_FUNCTION_DATA_H
#define TINH_TOOLS_FUNCTION_DATA_H

#include "lanes.h"
#include "schedule.h"

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tinh::tools {

using Json = nlohmann::ordered_json;

/// To five digits: nobody measures more, and a page has many.
Json number(double value);

/// The same, or null of 0.
Json unless_zero(double value);

/// What a page is about. Numbers that are 0 and texts that are empty are not
/// known.
struct PageFacts {
  std::string model, made_by, cpu;
  double core_operations = 0, core_bytes = 0; ///< A cycle, at best.
};

/// A page without functions and kernels.
Json page_data(const PageFacts &facts);

struct KernelFacts {
  std::string strategy, plan;
  uint64_t operations = 0, bytes = 0;
  double estimated_cycles = 0;
  std::string ir;
  std::string loop, assembly; ///< What it is, and the instructions.
};

Json kernel_data(const KernelFacts &facts);

/// An op before fusion.
struct GraphOp {
  std::string kind;               ///< "conv".
  std::vector<std::string> nodes; ///< Of the model.
  std::string type;               ///< Of its result.
  std::string attributes;
  std::vector<std::string> others; ///< What it reads that is no op.
  bool is_view = false;            ///< It computes nothing.
};

/// The graph before fusion; empty if nobody knows it.
struct OpGraph {
  std::vector<GraphOp> ops;
  Edges reads;    ///< By op: ops.
  Edges of_steps; ///< By step: the ops that it computes.
};

/// Ops, and the steps that compute them.
struct Block {
  std::vector<uint32_t> ops, steps;
};

/// Each op and each step is in one block, with all that it has to do with. They
/// are in the order of their first steps; what no step computes stands before
/// what reads it.
std::vector<Block> blocks_of(const OpGraph &graph, size_t num_steps);

Json function_data(const Schedule &schedule, const OpGraph &graph);

} // namespace tinh::tools

#endif // TINH_TOOLS_FUNCTION_DATA_H
