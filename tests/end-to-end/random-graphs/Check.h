//===- Check.h - Runs a module in every way there is ------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TESTS_RANDOM_GRAPHS_CHECK_H
#define TINH_TESTS_RANDOM_GRAPHS_CHECK_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <optional>
#include <string>
#include <vector>

namespace tinh::test {

struct Problem {
  std::optional<unsigned> output; // None: the module as a whole.
  std::string what;
};

/// What runs compiled code.
struct Machine {
  std::string cpu = "native";
  bool hasGpu = false; // An emulated one runs the kernels;
  bool splits = false; // about half of them, and the CPU the others.
};

/// Runs `module` (phase graph) compiled, on one thread and on two, op by op,
/// and on the reference interpreter, on inputs that `seed` gives; says where
/// the results differ by more than rounding, or at all between thread counts.
std::vector<Problem> check(mlir::ModuleOp module, uint64_t seed,
                           const Machine &machine);

/// `module` with one output, and what that needs.
mlir::OwningOpRef<mlir::ModuleOp> keepOutput(mlir::ModuleOp module,
                                             unsigned output);

} // namespace tinh::test

#endif // TINH_TESTS_RANDOM_GRAPHS_CHECK_H
