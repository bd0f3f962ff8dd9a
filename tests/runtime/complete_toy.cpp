//===- complete_toy.cpp - Writes the toy artifact ---------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// complete_toy LIBRARY FILE, for tests of whole programs.
//
//===----------------------------------------------------------------------===//
#include "toy.h"

#include <cstdio>

int main(int argc, char **argv) {
  if (argc != 3)
    return std::fprintf(stderr, "usage: complete_toy LIBRARY FILE\n"), 2;
  Toy toy({}, false, argv[1]);
  std::filesystem::copy_file(toy.path(), argv[2],
                             std::filesystem::copy_options::overwrite_existing);
  return 0;
}
