//===- SanitizerOptions.cpp - What sanitizers leave out ---------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rest of the compiler, LLVM and the runtime are compiled without
// sanitizers. ThreadSanitizer sees the memory that they free and copy, but not
// how their threads wait for each other, and would take that for races: it is
// told to leave calls from libraries out. (The runtime's own tests run under it
// as a whole.) LLVM's allocators mark what they have not given out, in code
// with AddressSanitizer only, where other code does give it out: marks are
// ignored.
//
//===----------------------------------------------------------------------===//

extern "C" const char *__tsan_default_options() {
  return "ignore_noninstrumented_modules=1";
}

extern "C" const char *__asan_default_options() {
  return "allow_user_poisoning=0";
}
