//===- compiler.cpp - The compiler for Python -------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// compileModel of tinh/compiler.h as one function, _compile, which
// tinh/_compile.py makes tinh.compile of.
//
//===----------------------------------------------------------------------===//
#include "tinh/compiler.h"
#include "bindings.h"
#include "compile_page.h"
#include "model/gil.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace tinh::python {

namespace {

/// Dense memory of the program that is read until this is destroyed.
class ReadBuffer {
public:
  explicit ReadBuffer(nb::handle object) {
    if (PyObject_GetBuffer(object.ptr(), &view, PyBUF_C_CONTIGUOUS) != 0)
      nb::raise_python_error();
  }
  ReadBuffer(ReadBuffer &&other) noexcept : view(other.view) {
    other.view.obj = nullptr;
  }
  ReadBuffer &operator=(ReadBuffer &&) = delete;
  ~ReadBuffer() {
    if (view.obj)
      PyBuffer_Release(&view);
  }

  MemoryBlock block() const {
    return {view.buf, static_cast<size_t>(view.len)};
  }

private:
  Py_buffer view;
};

WeightsPlacement placement(const std::string &name) {
  if (name == "automatic")
    return WeightsPlacement::Automatic;
  if (name == "embedded")
    return WeightsPlacement::Embedded;
  if (name == "external")
    return WeightsPlacement::External;
  throw nb::value_error(
      ("weights: expected automatic, embedded or external, found " + name)
          .c_str());
}

Target target(const std::string &name) {
  if (name == "cpu")
    return Target::Cpu;
  if (name == "cuda")
    return Target::Cuda;
  if (name == "cpu,cuda")
    return Target::CudaOrCpu;
  throw nb::value_error(
      ("target: expected cpu, cuda or cpu,cuda, found " + name).c_str());
}

/// Sets a field from the option of that name, which is then used up.
template <typename Value>
void take(nb::dict options, const char *name, Value &field) {
  if (!options.contains(name))
    return;
  nb::object value = options[name];
  try {
    field = nb::cast<Value>(value);
  } catch (const nb::cast_error &) {
    throw nb::type_error((std::string(name) + ": a value of type " +
                          nb::cast<std::string>(value.type().attr("__name__")) +
                          " is not what this option takes")
                             .c_str());
  }
  PyDict_DelItemString(options.ptr(), name);
}

TrainingRequest training(nb::dict options) {
  TrainingRequest request;
  take(options, "loss", request.loss);
  take(options, "optimizer", request.optimizer);
  take(options, "trainable", request.trainable);
  take(options, "distill", request.distill);
  take(options, "learn_scales", request.learnScales);
  take(options, "loss_scale", request.lossScale);
  take(options, "accumulate", request.accumulate);
  take(options, "clip_grad_norm", request.clipGradNorm);
  return request;
}

/// Fills a request with options by their names, all of which it must know.
void fill(CompileRequest &request, nb::dict options) {
  take(options, "shapes", request.shapes);
  take(options, "input_values", request.inputValues);
  take(options, "lengths", request.lengths);
  take(options, "string_lengths", request.stringLengths);
  take(options, "load_weights", request.loadWeights);
  take(options, "precision", request.precision);
  take(options, "keep_f32", request.keepF32);
  take(options, "plans", request.plans);
  take(options, "tune", request.tuneSeconds);
  take(options, "winograd", request.winograd);
  take(options, "math", request.math);
  take(options, "memory_budget", request.memoryBudget);
  take(options, "time_limit", request.timeLimit);
  take(options, "memory_limit", request.memoryLimit);
  take(options, "loadable_weights", request.loadableWeights);
  take(options, "cpu", request.cpu);
  take(options, "cuda_chips", request.cuda.chips);
  take(options, "allow_tf32", request.cuda.allowTf32);
  take(options, "place", request.cuda.place);
  take(options, "cuda_toolkit", request.cuda.toolkit);
  take(options, "collectives", request.cuda.collectives);
  take(options, "jobs", request.jobs);
  take(options, "fuse", request.fuse);
  take(options, "plain_variables", request.plainVariables);
  take(options, "cache", request.cacheDirectory);
  std::string name = "cpu";
  take(options, "target", name);
  request.target = target(name);
  name = "automatic";
  take(options, "weights", name);
  request.weights = placement(name);
  for (auto [key, value] : options)
    throw nb::type_error(("tinh.compile has no option \"" +
                          nb::cast<std::string>(nb::str(key)) + "\"")
                             .c_str());
}

nb::dict describe(const KernelReport &kernel) {
  nb::dict row;
  row["name"] = kernel.name;
  row["strategy"] = kernel.strategy;
  row["image"] = kernel.image;
  row["milliseconds"] = kernel.milliseconds;
  row["code_size"] = kernel.codeSize;
  row["cached"] = kernel.cached;
  return row;
}

nb::dict describe(const FunctionReport &function) {
  nb::dict row;
  row["name"] = function.name;
  row["dispatches"] = function.dispatches;
  row["arena_size"] = function.arenaSize;
  row["unplanned_size"] = function.unplannedSize;
  row["lower_bound_size"] = function.lowerBoundSize;
  row["device_arena_size"] = function.deviceArenaSize;
  row["without_gpu"] = function.withoutGpu;
  return row;
}

template <typename Row> nb::list describe(const std::vector<Row> &rows) {
  nb::list list;
  for (const Row &row : rows)
    list.append(describe(row));
  return list;
}

nb::dict describe(const CompileReport &report) {
  nb::dict stages;
  for (const auto &[stage, milliseconds] : report.milliseconds)
    stages[stage.c_str()] = milliseconds;
  nb::dict result;
  result["milliseconds"] = stages;
  result["distinct_kernels"] = report.kernels;
  result["kernels"] = describe(report.compiledKernels);
  result["functions"] = describe(report.functions);
  result["weights_size"] = report.weightsSize;
  result["state_size"] = report.stateSize;
  return result;
}

nb::object compile(const std::string &model, const std::string &output,
                   const std::map<std::string, nb::object> &memory,
                   std::optional<nb::dict> train, nb::dict options) {
  CompileRequest request;
  request.model = model;
  request.output = output;
  std::vector<ReadBuffer> buffers;
  for (const auto &[name, object] : memory)
    request.memory[name] = buffers.emplace_back(object).block();
  if (train)
    request.training = training(*train);
  fill(request, options);
  std::string page;
  CompileResult result =
      without_gil([&] { return tools::compile_with_page(request, &page); });
  nb::list messages;
  for (const std::string &message : result.messages)
    messages.append(message);
  nb::object status =
      nb::cast(result.status == CompileStatus::Succeeded    ? "succeeded"
               : result.status == CompileStatus::WrongInput ? "wrong input"
                                                            : "internal error");
  return nb::make_tuple(status, messages, describe(result.report), page);
}

} // namespace

void bind_compiler(nb::module_ &module) {
  module.def("_compile", &compile, nb::arg("model"), nb::arg("output"),
             nb::arg("memory"), nb::arg("train").none(), nb::arg("options"),
             "Compiles a file to a file; gives a status, messages, and what\n"
             "tinh.Report shows, as a dict and as the data of a page.");
}

} // namespace tinh::python
