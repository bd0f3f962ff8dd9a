//===- Trial.cpp - What this process runs to time it ------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Tuning/Trial.h"

#include "dialects/graph/Strides.h"

#include "mlir/IR/Builders.h"

#include <chrono>
#include <cstring>
#include <limits>
#include <random>

using namespace mlir;

namespace tinh::tuning {

//===----------------------------------------------------------------------===//
// Kernels alone
//===----------------------------------------------------------------------===//

/// A copy of `kernel` that has its operands to itself: none is a part of a
/// larger tensor.
static func::FuncOp copyWith(OpBuilder &b, func::FuncOp kernel,
                             graph::KernelPlanInterface plan, size_t number) {
  auto copy = cast<func::FuncOp>(b.clone(*kernel));
  copy.setName((kernel.getName() + "_" + Twine(number)).str());
  copy->setAttr(graph::names::kPlan, plan);
  for (unsigned i = 0; i < copy.getNumArguments(); ++i)
    copy.removeArgAttr(i, graph::names::kStrides);
  for (unsigned i = 0; i < copy.getNumResults(); ++i)
    copy.removeResultAttr(
        i, StringAttr::get(copy.getContext(), graph::names::kStrides));
  return copy;
}

static void createCaller(OpBuilder &b, func::FuncOp kernel, size_t number) {
  auto named = [&](StringRef prefix, unsigned i) {
    return b.getDictionaryAttr(b.getNamedAttr(
        graph::names::kName, b.getStringAttr(prefix + Twine(i))));
  };
  SmallVector<DictionaryAttr> inputs, outputs;
  for (unsigned i = 0; i < kernel.getNumArguments(); ++i)
    inputs.push_back(named("x", i));
  for (unsigned i = 0; i < kernel.getNumResults(); ++i)
    outputs.push_back(named("y", i));
  OpBuilder::InsertionGuard guard(b);
  Location loc = kernel.getLoc();
  auto caller = func::FuncOp::create(b, loc, ("plan_" + Twine(number)).str(),
                                     kernel.getFunctionType());
  caller.setAllArgAttrs(inputs);
  caller.setAllResultAttrs(outputs);
  b.setInsertionPointToStart(caller.addEntryBlock());
  auto call = graph::DispatchOp::create(
      b, loc, kernel.getResultTypes(), kernel.getName(), caller.getArguments());
  func::ReturnOp::create(b, loc, call.getResults());
}

OwningOpRef<ModuleOp> isolate(func::FuncOp kernel,
                              ArrayRef<graph::KernelPlanInterface> plans) {
  auto source = kernel->getParentOfType<ModuleOp>();
  OwningOpRef<ModuleOp> module = ModuleOp::create(kernel.getLoc());
  (*module)->setAttrs(source->getAttrDictionary());
  auto b = OpBuilder::atBlockEnd(module->getBody());
  for (auto [i, plan] : llvm::enumerate(plans))
    createCaller(b, copyWith(b, kernel, plan, i), i);
  return module;
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

std::unique_ptr<Trial> Trial::make(ModuleOp module,
                                   const CompileOptions &options,
                                   unsigned threads, bool measuresSteps) {
  auto trial = std::unique_ptr<Trial>(new Trial());
  CompileOptions quiet = options;
  quiet.progress = nullptr;
  quiet.phases = {};
  quiet.phases.modelDirectory = options.phases.modelDirectory;
  quiet.phases.jobs = options.phases.jobs;
  quiet.phases.interruption = options.phases.interruption;
  quiet.weights = CompileOptions::Weights::Embedded;
  CompileReport report;
  if (failed(runPhases(module, Phase::Kernels, Phase::Plan, quiet.phases,
                       report)) ||
      failed(writeArtifact(module, trial->file.name, quiet, report)))
    return nullptr;
  if (trial->load(threads, measuresSteps))
    return trial;
  emitError(module.getLoc())
      << "cannot run what is tuned: " << tinh_last_error();
  return nullptr;
}

bool Trial::load(unsigned threads, bool measuresSteps) {
  tinh_context_options_t options;
  tinh_context_options_init(&options);
  options.threads = threads;
  options.measure_steps = measuresSteps;
  if (tinh_module_load(file.name.c_str(), &module) != TINH_OK ||
      tinh_context_create(module, &options, &context) != TINH_OK)
    return false;
  makeBuffers();
  return true;
}

Trial::~Trial() {
  tinh_context_release(context);
  tinh_module_release(module);
}

/// Random floats; of other types zeros, which are indices of any tensor.
static void fill(char *bytes, const tinh_tensor_info_t &info,
                 std::mt19937 &random) {
  std::memset(bytes, 0, info.size);
  if (info.dtype != TINH_DTYPE_F32)
    return;
  std::uniform_real_distribution<float> draw(-1, 1);
  for (size_t at = 0; at < info.size; at += sizeof(float)) {
    float value = draw(random);
    std::memcpy(bytes + at, &value, sizeof(value));
  }
}

void Trial::makeBuffers() {
  std::mt19937 random(1);
  auto add = [&](std::vector<tinh_buffer_t> &buffers,
                 const tinh_tensor_info_t &info) {
    void *bytes = ::operator new(info.size, kAlignment);
    memory.emplace_back(static_cast<char *>(bytes));
    fill(memory.back().get(), info, random);
    buffers.push_back({bytes, info.size});
  };
  tinh_module_info_t all;
  tinh_module_info(module, &all);
  for (uint32_t i = 0; i < all.num_functions; ++i) {
    Function &function = functions.emplace_back();
    tinh_function_info_t info;
    tinh_tensor_info_t tensor;
    tinh_module_function_info(module, i, &info);
    for (uint32_t k = 0; k < info.num_inputs; ++k)
      if (tinh_module_input_info(module, i, k, &tensor) == TINH_OK)
        add(function.inputs, tensor);
    for (uint32_t k = 0; k < info.num_outputs; ++k)
      if (tinh_module_output_info(module, i, k, &tensor) == TINH_OK)
        add(function.outputs, tensor);
  }
}

double Trial::run(uint32_t function) {
  using Clock = std::chrono::steady_clock;
  Function &f = functions[function];
  auto start = Clock::now();
  if (tinh_context_run(context, function, f.inputs.data(), f.inputs.size(),
                       f.outputs.data(), f.outputs.size()) != TINH_OK)
    return std::numeric_limits<double>::infinity();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

llvm::StringMap<double> Trial::microsecondsOfKernels() {
  llvm::StringMap<double> times;
  tinh_function_profile_t all;
  if (tinh_context_function_profile(context, 0, &all) != TINH_OK)
    return times;
  for (uint32_t i = 0; i < all.num_steps; ++i) {
    tinh_step_profile_t step;
    if (tinh_context_step_profile(context, 0, i, &step) == TINH_OK &&
        step.kind == TINH_STEP_KERNEL && step.runs > 0)
      times[step.kernel] += 1e3 * step.min_ms;
  }
  tinh_context_reset_profile(context);
  return times;
}

} // namespace tinh::tuning
