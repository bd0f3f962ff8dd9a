//===- fiber.cpp - A stack for each thread of a block -----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "fiber.h"

#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>

namespace tinh::fake {

static constexpr size_t kStackSize = 128 << 10, kPage = 4096;

Stacks::~Stacks() {
  if (memory)
    ::munmap(memory, count * kStackSize);
}

void Stacks::reserve(size_t wanted) {
  if (wanted <= count)
    return;
  if (memory)
    ::munmap(memory, count * kStackSize);
  void *mapped =
      ::mmap(nullptr, wanted * kStackSize, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (mapped == MAP_FAILED) {
    std::perror("fake CUDA driver: no memory for stacks");
    std::abort();
  }
  memory = static_cast<char *>(mapped);
  count = wanted;
  for (size_t i = 0; i < count; ++i)
    ::mprotect(memory + i * kStackSize, kPage, PROT_NONE);
}

char *Stacks::top(size_t index) const {
  return memory + (index + 1) * kStackSize;
}

// Callee-saved registers lie on the stack of a fiber that waits.
asm(R"(
  .text
  .hidden tinh_fake_switch
  .globl tinh_fake_switch
  .type tinh_fake_switch, @function
tinh_fake_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .size tinh_fake_switch, .-tinh_fake_switch
)");

void *prepareFiber(char *top, void (*start)()) {
  void **slots = reinterpret_cast<void **>(top);
  *--slots = nullptr; // Where `start` would return to.
  *--slots = reinterpret_cast<void *>(start);
  for (int i = 0; i < 6; ++i)
    *--slots = nullptr;
  return slots;
}

} // namespace tinh::fake
