//===- model_page.cpp - A compilation, as a page's data ---------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "model_page.h"

#include "compile_page.h"
#include "compiler/Driver/CompileModel.h"
#include "function_data.h"
#include "page.h"
#include "version.h"

#include "llvm/ADT/StringExtras.h"

namespace tinh::tools {

//===----------------------------------------------------------------------===//
// Schedules
//===----------------------------------------------------------------------===//

static std::vector<Signature>
signatureOf(const std::vector<artifact::Tensor> &tensors) {
  std::vector<Signature> result;
  for (const artifact::Tensor &tensor : tensors)
    result.push_back({tensor.name, type_text(tensor.dtype, tensor.dims)});
  return result;
}

static Access accessOf(const artifact::Contents &contents,
                       const artifact::Step &step, size_t i) {
  const tinh_buffer_ref_t &buffer = step.buffers[i];
  Access access{static_cast<tinh_space_t>(buffer.space), buffer.index,
                buffer.offset, step.size, i == 1};
  if (step.opcode == TINH_OP_DISPATCH) {
    const artifact::Operand &operand =
        contents.kernels[step.kernel].operands[i];
    access.size = span_of(operand.dtype, operand.dims, operand.strides);
    access.written = operand.written;
  } else if (step.opcode == TINH_OP_ZERO) {
    access.written = true;
  } else if (step.opcode != TINH_OP_COPY) {
    access.size = step.opcode == TINH_OP_LOOP ? sizeof(int64_t) : 1;
  }
  return access;
}

static ScheduleStep stepOf(const artifact::Contents &contents,
                           const artifact::Step &step) {
  ScheduleStep result;
  result.opcode = step.opcode;
  result.chunks = step.chunks;
  result.wait_for = step.waitFor;
  result.target = step.target;
  if (step.opcode == TINH_OP_DISPATCH) {
    result.kernel = contents.kernels[step.kernel].name;
    result.on_cuda = contents.kernels[step.kernel].device == TINH_DEVICE_CUDA;
  }
  if (step.opcode != TINH_OP_COPY && step.opcode != TINH_OP_ZERO)
    for (llvm::StringRef node : llvm::split(step.label, '\n'))
      if (!node.empty())
        result.nodes.push_back(node.str());
  for (size_t i = 0; i < step.buffers.size(); ++i)
    result.accesses.push_back(accessOf(contents, step, i));
  for (const tinh_stride_t &stride : step.strides)
    result.strides.push_back(stride);
  return result;
}

static Schedule scheduleOf(const artifact::Contents &contents,
                           const artifact::Function &function) {
  Schedule schedule;
  schedule.name = function.name;
  schedule.inputs = signatureOf(function.inputs);
  schedule.outputs = signatureOf(function.outputs);
  for (const artifact::Step &step : function.steps)
    schedule.steps.push_back(stepOf(contents, step));
  schedule.choose_arena(
      {function.arenaSize, function.unplannedSize, function.lowerBoundSize},
      {function.deviceArenaSize, function.deviceUnplannedSize,
       function.deviceLowerBoundSize});
  return schedule;
}

//===----------------------------------------------------------------------===//
// Ops and kernels
//===----------------------------------------------------------------------===//

static OpGraph graphOf(const report::Recorder &recorder,
                       llvm::StringRef function) {
  OpGraph graph;
  for (const report::Function &known : recorder.functions) {
    if (known.name != function)
      continue;
    for (const report::Op &op : known.ops) {
      graph.ops.push_back(
          {op.kind, op.nodes, op.type, op.attributes, op.others, op.isView});
      graph.reads.push_back(op.operands);
    }
    graph.of_steps = known.opsOfSteps;
  }
  return graph;
}

static std::string describe(const report::HottestLoop &loop) {
  std::string text =
      loop.depth ? "innermost loop, at depth " + llvm::utostr(loop.depth)
                 : std::string("all of it, without a loop");
  return text + ": " + llvm::utostr(loop.arithmetic) + " of " +
         llvm::utostr(loop.instructions) +
         " instructions are arithmetic of vectors";
}

static Json kernelData(const artifact::Kernel &kernel,
                       const report::Recorder &recorder) {
  tools::KernelFacts facts{.plan = kernel.plan,
                           .operations = kernel.operations,
                           .bytes = kernel.bytes,
                           .estimated_cycles = kernel.estimatedCycles};
  if (auto code = recorder.kernels.find(kernel.name);
      code != recorder.kernels.end()) {
    facts.strategy = code->second.strategy;
    facts.ir = code->second.ir;
    if (const auto &loop = code->second.hottest) {
      facts.loop = describe(*loop);
      facts.assembly = loop->text;
    }
  }
  return kernel_data(facts);
}

static void addCompileTimes(Json &kernels, const CompileReport &report) {
  for (const KernelReport &kernel : report.compiledKernels) {
    auto known = kernels.find(kernel.name);
    if (known == kernels.end() || !kernel.image.empty())
      continue;
    (*known)["code_bytes"] = kernel.codeSize;
    (*known)["compile_ms"] = number(kernel.milliseconds);
    (*known)["cached"] = kernel.cached;
  }
}

static Json stagesJson(const CompileReport &report) {
  Json stages = Json::array();
  for (const auto &[name, time] : report.milliseconds)
    stages.push_back({{"name", name}, {"ms", number(time)}});
  return {{"stages", std::move(stages)}};
}

nlohmann::ordered_json compilation_data(const report::Recorder &recorder,
                                        const CompileReport &report) {
  const artifact::Contents &contents = recorder.contents;
  Json page = page_data({.model = contents.model,
                         .made_by = version_of("tinh"),
                         .cpu = contents.cpu,
                         .core_operations = contents.core.operations,
                         .core_bytes = contents.core.bytes});
  for (const artifact::Function &function : contents.functions)
    page["functions"].push_back(function_data(
        scheduleOf(contents, function), graphOf(recorder, function.name)));
  for (const artifact::Kernel &kernel : contents.kernels)
    page["kernels"][kernel.name] = kernelData(kernel, recorder);
  addCompileTimes(page["kernels"], report);
  page["compile"] = stagesJson(report);
  return page;
}

CompileResult compile_with_page(const CompileRequest &request,
                                std::string *data) {
  report::Recorder recorder;
  return compileModel(
      request, [&](CompileOptions &options) { recorder.attach(options); },
      [&](const CompileResult &result) {
        if (!result.succeeded())
          return recorder.forget();
        recorder.describe();
        *data = json_text(compilation_data(recorder, result.report));
      });
}

} // namespace tinh::tools
