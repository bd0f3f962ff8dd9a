//===- stands_in.cpp - Whether one program can run for another --*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What an artifact has for contexts without a GPU must look to its callers as
// what it has for those with one.
//
//===----------------------------------------------------------------------===//
#include "artifact/check_artifact.h"

#include <algorithm>
#include <cstring>

namespace tinh::runtime {

/// Whether two lists of tensors of functions have the same names and types.
/// Whether two tensors of one rank have their sizes from the same outputs.
static bool same_sizes(const tinh_tensor_desc_t &a,
                       const tinh_tensor_desc_t &b) {
  if (!a.size_outputs || !b.size_outputs)
    return !a.size_outputs && !b.size_outputs;
  return std::equal(a.size_outputs, a.size_outputs + a.rank, b.size_outputs);
}

static bool same_tensors(const tinh_tensor_desc_t *a,
                         const tinh_tensor_desc_t *b, uint32_t count) {
  return std::equal(
      a, a + count, b,
      [](const tinh_tensor_desc_t &x, const tinh_tensor_desc_t &y) {
        return x.name && y.name && !std::strcmp(x.name, y.name) &&
               x.dtype == y.dtype && x.rank == y.rank && x.size == y.size &&
               x.variable == y.variable && same_sizes(x, y) &&
               std::equal(x.dims, x.dims + TINH_MAX_RANK, y.dims);
      });
}

static bool same_signature(const tinh_function_desc_t &a,
                           const tinh_function_desc_t &b) {
  return a.name && b.name && !std::strcmp(a.name, b.name) &&
         a.num_inputs == b.num_inputs && a.num_outputs == b.num_outputs &&
         same_tensors(a.inputs, b.inputs, a.num_inputs) &&
         same_tensors(a.outputs, b.outputs, a.num_outputs);
}

static bool same_variable(const tinh_variable_desc_t &a,
                          const tinh_variable_desc_t &b) {
  return a.name && b.name && !std::strcmp(a.name, b.name) &&
         a.dtype == b.dtype && a.rank == b.rank && a.size == b.size &&
         a.trainable == b.trainable &&
         std::equal(a.dims, a.dims + TINH_MAX_RANK, b.dims);
}

bool stands_in(const tinh_artifact_t &other, const tinh_artifact_t &artifact) {
  return other.version == artifact.version &&
         other.num_kernels == artifact.num_kernels &&
         other.kernels == artifact.kernels &&
         other.weights_size == artifact.weights_size &&
         other.num_functions == artifact.num_functions &&
         other.num_variables == artifact.num_variables && !other.init &&
         !other.without_gpu && other.device_weights_size == 0 &&
         std::equal(other.functions, other.functions + other.num_functions,
                    artifact.functions, same_signature) &&
         std::equal(other.variables, other.variables + other.num_variables,
                    artifact.variables, same_variable);
}

} // namespace tinh::runtime
