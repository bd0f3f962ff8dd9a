//===- sanitizer_options.cpp - What sanitizers leave out --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Parts of the compiler and LLVM are compiled without sanitizers. LLVM's
// allocators mark what they have not given out, in code with AddressSanitizer
// only, where other code does give it out: marks are ignored. With assertions,
// statistics of passes have members that MLIR's constructor, without, leaves
// as they are: memory begins with zeros. Contexts come and go with each input,
// which would fill the memory that is kept to find its use after it was freed.
//
//===----------------------------------------------------------------------===//

extern "C" const char *__asan_default_options() {
  return "allow_user_poisoning=0:malloc_fill_byte=0:quarantine_size_mb=64";
}
