//===- complete_toy.cpp - Writes the toy artifact ---------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// complete_toy FILE, for tests of whole programs.
//
//===----------------------------------------------------------------------===//
#include "toy.h"

#include <cstdio>

int main(int argc, char **argv) {
  if (argc != 2)
    return std::fprintf(stderr, "usage: complete_toy FILE\n"), 2;
  Toy toy;
  std::filesystem::copy_file(toy.path(), argv[1],
                             std::filesystem::copy_options::overwrite_existing);
  return 0;
}
