//===- SanitizerOptions.cpp - What ThreadSanitizer leaves out ---*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// ThreadSanitizer sees the memory that LLVM, MLIR and the runtime free and
// copy, but not how their threads wait for each other, and so takes that for
// races. It is told to leave calls from libraries out; the runtime's own tests
// run under it as a whole.
//
//===----------------------------------------------------------------------===//

extern "C" const char *__tsan_default_options() {
  return "ignore_noninstrumented_modules=1";
}
