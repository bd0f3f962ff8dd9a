//===- Spaces.h - What memory a plan has ------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The inputs, outputs, arenas and weights that steps of a function find their
// bytes in: how large each is, on which device, and whether it may be written.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_PLAN_SPACES_H
#define TINH_PLAN_SPACES_H

#include "dialects/plan/Plan.h"

#include <map>

namespace tinh::plan {

class Spaces {
public:
  explicit Spaces(FunctionOp function);

  /// Which inputs and outputs are variables. Fails, with a diagnostic, if an
  /// output is one that no input is, or if one is twice among either.
  mlir::LogicalResult findVariables();

  bool isOnDevice(BufferAttr buffer) const;

  /// The memory that `buffer`, within `numLoops` loops, lies in, in bytes;
  /// nothing if there is none.
  std::optional<int64_t> sizeOf(BufferAttr buffer, size_t numLoops) const;

  /// Whether input `index` is a variable among the outputs.
  bool isChanged(int64_t index) const { return changed.contains(index); }

  /// The input at which output `index` lies, if it is a variable.
  std::optional<int64_t> inputOf(int64_t index) const {
    auto found = inputs.find(index);
    return found == inputs.end() ? std::nullopt : std::optional(found->second);
  }

private:
  mutable FunctionOp function;
  std::map<int64_t, int64_t> weightEnds; ///< By where the weight begins.
  llvm::SmallDenseSet<int64_t> changed;
  llvm::SmallDenseMap<int64_t, int64_t> inputs;
  llvm::SmallDenseSet<mlir::StringAttr> onDevice; ///< Variables that are.
};

} // namespace tinh::plan

#endif // TINH_PLAN_SPACES_H
