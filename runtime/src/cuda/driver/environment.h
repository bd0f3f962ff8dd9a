//===- environment.h - What the environment says of CUDA --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All variables of the environment that the runtime reads.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_RUNTIME_CUDA_ENVIRONMENT_H
#define TINH_RUNTIME_CUDA_ENVIRONMENT_H

#include <string>

namespace tinh::runtime::cuda {

struct Environment {
  // Files to load: TINH_CUDA_DRIVER, TINH_CUBLASLT and TINH_CUDNN.
  std::string driver, cublaslt, cudnn;
  // TINH_CUDA_LIBRARIES, "cublaslt,cudnn" or "none", and whether it lists them;
  // without it both may be used.
  std::string libraries;
  bool allows_cublaslt, allows_cudnn;
};

/// As it is now: a program may change it before it asks for a GPU.
Environment read_environment();

} // namespace tinh::runtime::cuda

#endif // TINH_RUNTIME_CUDA_ENVIRONMENT_H
