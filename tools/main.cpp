//===- main.cpp - The program of a tool -------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools.h"

int main(int argc, char **argv) { return tinh::tools::TINH_TOOL(argc, argv); }
