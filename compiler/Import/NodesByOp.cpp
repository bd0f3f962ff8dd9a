//===- NodesByOp.cpp - The nodes that a message lists -----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/NodesByOp.h"

namespace tinh {

size_t countNodes(const NodesByOp &nodes) {
  size_t count = 0;
  for (const auto &entry : nodes)
    count += entry.second.size();
  return count;
}

std::string listNodes(const NodesByOp &nodes) {
  constexpr size_t kShown = 10;
  std::string text;
  for (const auto &[op, names] : nodes) {
    text += "\n  " + op + ", " + std::to_string(names.size()) +
            (names.size() == 1 ? " node: " : " nodes: ");
    for (size_t i = 0; i < names.size() && i < kShown; ++i)
      text += (i ? ", \"" : "\"") + names[i] + "\"";
    if (names.size() > kShown)
      text += " and " + std::to_string(names.size() - kShown) + " more";
  }
  return text;
}

} // namespace tinh
