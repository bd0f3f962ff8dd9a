//===- PlanChecks.h - What the numbers of plans may be ----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A plan is checked by a table of its numbers: name, value and rule. Verifiers
// of plans have one of the rules that hold for all kernels, and strategies one
// of those that a kernel makes.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_DIALECTS_GRAPH_PLANCHECKS_H
#define TINH_DIALECTS_GRAPH_PLANCHECKS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Diagnostics.h"

namespace tinh::graph {

using EmitError = llvm::function_ref<mlir::InFlightDiagnostic()>;

/// Threads of a GPU that run in step, and at most of a block.
inline constexpr int64_t kWarp = 32, kMostThreads = 1024;

/// What a number may be.
struct PlanRule {
  bool (*holds)(int64_t value, int64_t first, int64_t second);
  const char *words; ///< What it must be, with {0} and {1} for these two.
  int64_t first, second = 0;
  const char *why = ""; ///< What follows these words.

  bool allows(int64_t value) const { return holds(value, first, second); }
  std::string text() const;
  PlanRule because(const char *why) const;
};

PlanRule atLeast(int64_t least);
PlanRule within(int64_t least, int64_t most);
PlanRule either(int64_t one, int64_t other);
PlanRule powerOf2(int64_t least, int64_t most);
PlanRule zeroOrPowerOf2(int64_t most);
PlanRule multipleOf(int64_t unit, int64_t most = INT64_MAX);
/// Of threads of a block.
PlanRule wholeWarps();

/// A row of such a table.
struct PlanNumber {
  PlanNumber(llvm::StringRef name, int64_t value, PlanRule rule)
      : name(name), values({value}), rule(rule) {}
  /// Each number of a list; `parts` names them, if there are always as many.
  PlanNumber(llvm::StringRef name, mlir::DenseI64ArrayAttr list,
             llvm::StringRef parts, PlanRule rule)
      : name(name), values(list.asArrayRef()), parts(parts), rule(rule) {}

  llvm::StringRef name;
  llvm::SmallVector<int64_t, 3> values;
  llvm::StringRef parts;
  PlanRule rule;
};

/// Whether all numbers are what their rules say, in this order; else an error
/// that names the first one that is not.
llvm::LogicalResult checkNumbers(EmitError emitError,
                                 llvm::ArrayRef<PlanNumber> numbers);

} // namespace tinh::graph

#endif // TINH_DIALECTS_GRAPH_PLANCHECKS_H
