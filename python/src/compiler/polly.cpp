//===- polly.cpp - In the place of Polly ------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Debian's LLVM asks Polly for its passes where LLD links bitcode. Nothing here
// does, and Polly is not linked.
//
//===----------------------------------------------------------------------===//
#include <cstdlib>

[[noreturn]] void getPollyPluginInfo();
void getPollyPluginInfo() { std::abort(); }
