//===- compile_and_run.cpp - A model compiled and run in one program ------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   compile_and_run MODEL OUT.so
//
// Compiles a model whose tensors are of f32, loads the artifact, runs it on
// 0, 1, 2 … and prints the elements of its outputs.
//
//===----------------------------------------------------------------------===//
#include "tinh/compiler.h"
#include "tinh/runtime.h"

#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

static void check(tinh_status_t status) {
  if (status == TINH_OK)
    return;
  std::fprintf(stderr, "error: %s\n", tinh_last_error());
  std::exit(1);
}

static bool compile(const char *model, const char *output) {
  tinh::CompileRequest request;
  request.model = model;
  request.output = output;
  tinh::CompileResult result = tinh::compileModel(request);
  for (const std::string &message : result.messages)
    std::fprintf(stderr, "%s\n", message.c_str());
  return result.succeeded();
}

static std::vector<float> makeTensor(const tinh_tensor_info_t &info) {
  if (info.dtype != TINH_DTYPE_F32) {
    std::fprintf(stderr, "error: tensor %s is of %s, not f32\n", info.name,
                 tinh_dtype_name(info.dtype));
    std::exit(1);
  }
  std::vector<float> tensor(info.size / sizeof(float));
  std::iota(tensor.begin(), tensor.end(), 0.0f);
  return tensor;
}

static void run(const char *artifact) {
  tinh_module_t *module;
  tinh_context_t *context;
  tinh_function_info_t function;
  tinh_tensor_info_t info;
  check(tinh_module_load(artifact, &module));
  check(tinh_context_create(module, nullptr, &context));
  check(tinh_module_function_info(module, 0, &function));
  std::vector<std::vector<float>> tensors;
  for (uint32_t i = 0; i < function.num_inputs; ++i) {
    check(tinh_module_input_info(module, 0, i, &info));
    tensors.push_back(makeTensor(info));
  }
  for (uint32_t i = 0; i < function.num_outputs; ++i) {
    check(tinh_module_output_info(module, 0, i, &info));
    tensors.push_back(makeTensor(info));
  }
  std::vector<tinh_buffer_t> buffers;
  for (std::vector<float> &tensor : tensors)
    buffers.push_back({tensor.data(), tensor.size() * sizeof(float)});
  check(tinh_context_run(context, 0, buffers.data(), function.num_inputs,
                         buffers.data() + function.num_inputs,
                         function.num_outputs));
  for (size_t i = function.num_inputs; i < tensors.size(); ++i)
    for (float value : tensors[i])
      std::printf("%g\n", value);
  tinh_context_release(context);
  tinh_module_release(module);
}

int main(int argc, char **argv) {
  if (argc != 3)
    return std::fprintf(stderr, "usage: %s MODEL OUT.so\n", argv[0]), 2;
  if (!compile(argv[1], argv[2]))
    return 1;
  run(argv[2]);
  return 0;
}
