//===- NodesByOp.h - The nodes that a message lists -------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_IMPORT_NODESBYOP_H
#define TINH_COMPILER_IMPORT_NODESBYOP_H

#include "llvm/ADT/MapVector.h"

#include <map>
#include <string>
#include <vector>

namespace tinh {

/// The names of nodes by what is to be said of their op, so that a user sees
/// at once all that is not supported.
using NodesByOp = llvm::MapVector<std::string, std::vector<std::string>,
                                  std::map<std::string, unsigned>>;

size_t countNodes(const NodesByOp &nodes);

/// A line for each op: its number of nodes and the names of the first ones.
std::string listNodes(const NodesByOp &nodes);

} // namespace tinh

#endif // TINH_COMPILER_IMPORT_NODESBYOP_H
