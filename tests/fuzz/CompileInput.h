//===- CompileInput.h - Compiles what a fuzzer made -------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TESTS_FUZZ_COMPILEINPUT_H
#define TINH_TESTS_FUZZ_COMPILEINPUT_H

#include "compiler/Pipelines/Phases.h"

#include "llvm/ADT/StringRef.h"

namespace tinh::fuzz {

/// Takes a file of this content, called model`extension`, from phase `from` to
/// phase `to` as graph-compile does. It may be compiled or refused with a
/// message; an internal error ends the program, as a crash does.
void compileInput(llvm::StringRef content, llvm::StringRef extension,
                  Phase from, Phase to);

} // namespace tinh::fuzz

#endif // TINH_TESTS_FUZZ_COMPILEINPUT_H
