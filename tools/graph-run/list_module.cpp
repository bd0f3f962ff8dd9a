//===- list_module.cpp - What an artifact has -------------------*- C++ -*-===//
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
#include "list_module.h"

#include "inputs.h"
#include "printable.h"

#include <cinttypes>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace tinh::tools {

static void print_tensor(const char *kind, const tinh_tensor_info_t &tensor) {
  std::printf("  %-7s %-32s %-24s %12" PRIu64 " bytes\n", kind,
              printable(tensor.name).c_str(), type_text(tensor).c_str(),
              tensor.size);
}

static void print_function(const tinh_module_t *module, uint32_t index) {
  tinh_function_info_t function;
  tinh_tensor_info_t tensor;
  if (tinh_module_function_info(module, index, &function) != TINH_OK)
    return;
  std::printf("\nfunction %s%s\n", printable(function.name).c_str(),
              function.mutates_state ? " (updates state)" : "");
  for (uint32_t i = 0; i < function.num_inputs; ++i)
    if (tinh_module_input_info(module, index, i, &tensor) == TINH_OK)
      print_tensor("input", tensor);
  for (uint32_t i = 0; i < function.num_outputs; ++i)
    if (tinh_module_output_info(module, index, i, &tensor) == TINH_OK)
      print_tensor("output", tensor);
  std::printf("  steps %u, arena %" PRIu64 " bytes (lower bound %" PRIu64
              ", without reuse %" PRIu64 ")\n",
              function.num_steps, function.arena_size,
              function.lower_bound_size, function.unplanned_size);
  if (function.device_arena_size)
    std::printf("  on the GPU: arena %" PRIu64 " bytes (lower bound %" PRIu64
                ", without reuse %" PRIu64 ")\n",
                function.device_arena_size, function.device_lower_bound_size,
                function.device_unplanned_size);
  if (function.num_steps_without_gpu)
    std::printf("  without a GPU: steps %u, arena %" PRIu64
                " bytes (lower bound %" PRIu64 ", without reuse %" PRIu64 ")\n",
                function.num_steps_without_gpu, function.arena_size_without_gpu,
                function.lower_bound_size_without_gpu,
                function.unplanned_size_without_gpu);
}

static void print_variables(const tinh_module_t *module, uint32_t count) {
  tinh_variable_info_t variable;
  if (count)
    std::printf("\nvariables\n");
  for (uint32_t i = 0; i < count; ++i)
    if (tinh_module_variable_info(module, i, &variable) == TINH_OK)
      print_tensor(variable.trainable ? "trained" : "kept", variable.type);
}

void print_module(const tinh_module_t *module) {
  tinh_module_info_t info;
  if (tinh_module_info(module, &info) != TINH_OK)
    return;
  std::printf("model %s, by %s, for %s%s\n", printable(info.model).c_str(),
              printable(info.producer).c_str(), printable(info.cpu).c_str(),
              info.needs_cuda ? " and an NVIDIA GPU"
              : info.has_cuda ? ", alone or with an NVIDIA GPU"
                              : "");
  std::printf("weights %" PRIu64 " bytes, state %" PRIu64
              " bytes, %u kernels\n",
              info.weights_size, info.state_size, info.num_kernels);
  if (info.device_state_size)
    std::printf("state on the GPU %" PRIu64 " bytes\n", info.device_state_size);
  if (info.state_size_without_gpu)
    std::printf("state without a GPU %" PRIu64 " bytes\n",
                info.state_size_without_gpu);
  for (uint32_t i = 0; i < info.num_functions; ++i)
    print_function(module, i);
  print_variables(module, info.num_variables);
}

using Json = nlohmann::ordered_json;

static Json to_json(const tinh_tensor_info_t &tensor) {
  Json json = {{"name", tensor.name},
               {"dtype", tinh_dtype_name(tensor.dtype)},
               {"shape", std::vector(tensor.dims, tensor.dims + tensor.rank)},
               {"bytes", tensor.size}};
  if (tensor.size_outputs)
    json["size_outputs"] =
        std::vector(tensor.size_outputs, tensor.size_outputs + tensor.rank);
  return json;
}

static Json arena_json(uint64_t size, uint64_t lower_bound,
                       uint64_t unplanned) {
  return {{"bytes", size},
          {"lower_bound_bytes", lower_bound},
          {"unplanned_bytes", unplanned}};
}

static Json function_json(const tinh_module_t *module, uint32_t index) {
  tinh_function_info_t function;
  tinh_tensor_info_t tensor;
  if (tinh_module_function_info(module, index, &function) != TINH_OK)
    return {};
  Json json = {{"name", function.name},
               {"updates_state", function.mutates_state != 0},
               {"inputs", Json::array()},
               {"outputs", Json::array()}};
  for (uint32_t i = 0; i < function.num_inputs; ++i)
    if (tinh_module_input_info(module, index, i, &tensor) == TINH_OK)
      json["inputs"].push_back(to_json(tensor));
  for (uint32_t i = 0; i < function.num_outputs; ++i)
    if (tinh_module_output_info(module, index, i, &tensor) == TINH_OK)
      json["outputs"].push_back(to_json(tensor));
  json["steps"] = function.num_steps;
  json["arena"] = arena_json(function.arena_size, function.lower_bound_size,
                             function.unplanned_size);
  if (function.device_arena_size)
    json["device_arena"] =
        arena_json(function.device_arena_size, function.device_lower_bound_size,
                   function.device_unplanned_size);
  if (function.num_steps_without_gpu)
    json["without_gpu"] = {
        {"steps", function.num_steps_without_gpu},
        {"arena", arena_json(function.arena_size_without_gpu,
                             function.lower_bound_size_without_gpu,
                             function.unplanned_size_without_gpu)}};
  return json;
}

void print_module_json(const tinh_module_t *module) {
  tinh_module_info_t info;
  if (tinh_module_info(module, &info) != TINH_OK)
    return;
  Json json = {{"model", info.model},
               {"producer", info.producer},
               {"cpu", info.cpu},
               {"has_cuda", info.has_cuda != 0},
               {"needs_cuda", info.needs_cuda != 0},
               {"weights_bytes", info.weights_size},
               {"state_bytes", info.state_size},
               {"device_state_bytes", info.device_state_size},
               {"kernels", info.num_kernels},
               {"functions", Json::array()},
               {"variables", Json::array()}};
  if (info.state_size_without_gpu)
    json["state_bytes_without_gpu"] = info.state_size_without_gpu;
  for (uint32_t i = 0; i < info.num_functions; ++i)
    json["functions"].push_back(function_json(module, i));
  tinh_variable_info_t variable;
  for (uint32_t i = 0; i < info.num_variables; ++i)
    if (tinh_module_variable_info(module, i, &variable) == TINH_OK) {
      Json entry = to_json(variable.type);
      entry["trainable"] = variable.trainable != 0;
      json["variables"].push_back(std::move(entry));
    }
  auto replace = Json::error_handler_t::replace;
  std::printf("%s\n", json.dump(2, ' ', false, replace).c_str());
}

} // namespace tinh::tools
