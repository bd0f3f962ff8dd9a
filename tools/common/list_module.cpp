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

#include <cstdio>

namespace tinh::tools {

static void print_tensor(const char *kind, const tinh_tensor_info_t &tensor) {
  std::printf("  %-7s %-32s %-24s %12llu bytes\n", kind, tensor.name,
              type_text(tensor).c_str(),
              static_cast<unsigned long long>(tensor.size));
}

static void print_function(const tinh_module_t *module, uint32_t index) {
  tinh_function_info_t function;
  tinh_tensor_info_t tensor;
  if (tinh_module_function_info(module, index, &function) != TINH_OK)
    return;
  std::printf("\nfunction %s%s\n", function.name,
              function.mutates_state ? " (updates state)" : "");
  for (uint32_t i = 0; i < function.num_inputs; ++i)
    if (tinh_module_input_info(module, index, i, &tensor) == TINH_OK)
      print_tensor("input", tensor);
  for (uint32_t i = 0; i < function.num_outputs; ++i)
    if (tinh_module_output_info(module, index, i, &tensor) == TINH_OK)
      print_tensor("output", tensor);
  std::printf("  steps %u, arena %llu bytes (lower bound %llu, without reuse "
              "%llu)\n",
              function.num_steps,
              static_cast<unsigned long long>(function.arena_size),
              static_cast<unsigned long long>(function.lower_bound_size),
              static_cast<unsigned long long>(function.unplanned_size));
  if (function.device_arena_size)
    std::printf(
        "  on the GPU: arena %llu bytes (lower bound %llu, without "
        "reuse %llu)\n",
        static_cast<unsigned long long>(function.device_arena_size),
        static_cast<unsigned long long>(function.device_lower_bound_size),
        static_cast<unsigned long long>(function.device_unplanned_size));
  if (function.num_steps_without_gpu)
    std::printf(
        "  without a GPU: steps %u, arena %llu bytes (lower bound %llu, "
        "without reuse %llu)\n",
        function.num_steps_without_gpu,
        static_cast<unsigned long long>(function.arena_size_without_gpu),
        static_cast<unsigned long long>(function.lower_bound_size_without_gpu),
        static_cast<unsigned long long>(function.unplanned_size_without_gpu));
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
  std::printf("model %s, by %s, for %s%s\n", info.model, info.producer,
              info.cpu,
              info.needs_cuda ? " and an NVIDIA GPU"
              : info.has_cuda ? ", alone or with an NVIDIA GPU"
                              : "");
  std::printf("weights %llu bytes, state %llu bytes, %u kernels\n",
              static_cast<unsigned long long>(info.weights_size),
              static_cast<unsigned long long>(info.state_size),
              info.num_kernels);
  if (info.device_state_size)
    std::printf("state on the GPU %llu bytes\n",
                static_cast<unsigned long long>(info.device_state_size));
  if (info.state_size_without_gpu)
    std::printf("state without a GPU %llu bytes\n",
                static_cast<unsigned long long>(info.state_size_without_gpu));
  for (uint32_t i = 0; i < info.num_functions; ++i)
    print_function(module, i);
  print_variables(module, info.num_variables);
}

} // namespace tinh::tools
