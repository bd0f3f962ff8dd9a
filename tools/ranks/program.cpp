//===- program.cpp - What a context runs of an artifact ---------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "program.h"

#include "tinh/cuda.h"

namespace tinh::tools {

bool runs_on_gpu(const Module &module, const ContextOptions &options) {
  if (options.device == TINH_USE_CPU)
    return false;
  uint32_t count = 0; // One for both goes without.
  return module.info().needs_cuda ||
         (tinh_cuda_device_count(&count) == TINH_OK && count > 0);
}

static const tinh_artifact_t &program_of(const Module &module, bool on_gpu) {
  const tinh_artifact_t *artifact = nullptr;
  check(tinh_module_artifact(module.handle(), &artifact));
  return artifact->without_gpu && !on_gpu ? *artifact->without_gpu : *artifact;
}

const tinh_artifact_t &program_of(const Module &module,
                                  const Context &context) {
  return program_of(module, context.info().uses_cuda);
}

const tinh_artifact_t &program_of(const Module &module,
                                  const ContextOptions &options) {
  return program_of(module, runs_on_gpu(module, options));
}

} // namespace tinh::tools
