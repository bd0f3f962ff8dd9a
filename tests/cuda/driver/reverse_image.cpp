//===- reverse_image.cpp - A kernel as if compiled --------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// y[i] = x[j], where j is i from the end of its block: by way of shared memory
// and a barrier. `offset` moves what is written.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/Emulate/EmulatorAbi.h"

using namespace tinh::emulator;

static void reverse(const float *x, float *y, int64_t offset) {
  uint32_t thread = tinh_emu_register(Register::TidX);
  uint32_t threads = tinh_emu_register(Register::NtidX);
  uint32_t first = tinh_emu_register(Register::CtaidX) * threads;
  auto *shared = reinterpret_cast<float *>(tinh_emu_shared());
  shared[thread] = x[first + thread];
  tinh_emu_barrier(0, 0);
  y[first + thread + offset] = shared[threads - 1 - thread];
}

static void entry(void *const *parameters) {
  reverse(*static_cast<const float *const *>(parameters[0]),
          *static_cast<float *const *>(parameters[1]),
          *static_cast<const int64_t *>(parameters[2]));
}

static const Parameter parameters[] = {{8, 1}, {8, 1}, {8, 0}};

static const Kernel kernel = {"reverse", parameters, entry, 3, 1, 0, 0};

extern "C" __attribute__((visibility("default")))
const Image tinh_emu_image = {kImageVersion, 1, &kernel};
