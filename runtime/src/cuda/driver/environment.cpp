//===- environment.cpp - What the environment says of CUDA ------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "cuda/driver/environment.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace tinh::runtime::cuda {

static std::string file_of(const char *variable, const char *otherwise) {
  const char *value = std::getenv(variable);
  return value && *value ? value : otherwise;
}

/// Whether a list with commas has the name.
static bool lists(std::string_view list, std::string_view name) {
  while (!list.empty()) {
    size_t end = std::min(list.find(','), list.size());
    if (list.substr(0, end) == name)
      return true;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return false;
}

Environment read_environment() {
  const char *allowed = std::getenv("TINH_CUDA_LIBRARIES");
  return {file_of("TINH_CUDA_DRIVER", "libcuda.so.1"),
          file_of("TINH_CUBLASLT", "libcublasLt.so.13"),
          file_of("TINH_CUDNN", "libcudnn.so.9"),
          allowed ? allowed : "",
          !allowed || lists(allowed, "cublaslt"),
          !allowed || lists(allowed, "cudnn")};
}

} // namespace tinh::runtime::cuda
