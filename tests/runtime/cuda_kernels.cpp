//===- cuda_kernels.cpp - Kernels for GPUs, as if compiled ------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The image of one kernel, KERNEL, as the fake driver takes it: each thread
// computes one of 1024 floats.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/Emulate/EmulatorAbi.h"

using namespace tinh::emulator;

namespace {

uint32_t index() {
  return tinh_emu_register(Register::CtaidX) *
             tinh_emu_register(Register::NtidX) +
         tinh_emu_register(Register::TidX);
}

template <typename T> T *operand(void *const *parameters, int number) {
  return *static_cast<T *const *>(parameters[number]);
}

void scale_add(void *const *p) { // x, w; 2 x + w
  uint32_t i = index();
  operand<float>(p, 2)[i] =
      2 * operand<const float>(p, 0)[i] + operand<const float>(p, 1)[i];
}

void flip(void *const *p) {
  uint32_t i = index();
  operand<float>(p, 1)[i] = operand<const float>(p, 0)[1023 - i];
}

void add(void *const *p) {
  uint32_t i = index();
  operand<float>(p, 2)[i] =
      operand<const float>(p, 0)[i] + operand<const float>(p, 1)[i];
}

void add_number(void *const *p) { // x, an i64; x + the number
  uint32_t i = index();
  operand<float>(p, 2)[i] =
      operand<const float>(p, 0)[i] + float(*operand<const int64_t>(p, 1));
}

void is_small(void *const *p) { // x; whether x[0] < 100
  if (index() == 0)
    *operand<uint8_t>(p, 1) = operand<const float>(p, 0)[0] < 100;
}

const Parameter pointers[] = {{8, 1}, {8, 1}, {8, 1}};

} // namespace

#define TEXT(NAME) #NAME
#define NAME_OF(NAME) TEXT(NAME)
static const Kernel kernel = {
    NAME_OF(KERNEL), pointers, KERNEL, NUM_OPERANDS, 0, 0, 0};
extern "C" __attribute__((visibility("default")))
const Image tinh_emu_image = {kImageVersion, 1, &kernel};
// What the others are not used for.
[[maybe_unused]] static void (*const all[])(void *const *) = {
    scale_add, flip, add, add_number, is_small};
