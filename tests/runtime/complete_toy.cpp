//===- complete_toy.cpp - Runs a command on the toy artifact ----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// complete_toy COMMAND ARG... runs COMMAND TOY.so ARG...
//
//===----------------------------------------------------------------------===//
#include "toy.h"

#include <cstdlib>

int main(int argc, char **argv) {
  if (argc < 2)
    return 2;
  Toy toy;
  std::string command = std::string(argv[1]) + " " + toy.path();
  for (int i = 2; i < argc; ++i)
    command += std::string(" ") + argv[i];
  return std::system(command.c_str()) == 0 ? 0 : 1;
}
