//===- Bisection.h - Which node is computed wrong ---------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs a function of a model compiled, op by op and by the reference
// interpreter, and finds the first node, in the model's order, whose value is
// another one than the reference's: by bisection over functions that end after
// so many nodes. Then it makes a small model of it that still shows the fault.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_BISECTION_BISECTION_H
#define TINH_COMPILER_BISECTION_BISECTION_H

#include "compiler/Bisection/Tolerances.h"
#include "compiler/Bisection/Ways.h"
#include "compiler/Reduction/Reduction.h"

#include <optional>

namespace tinh::bisection {

/// A function of a module, and the phase that this is in: graph, or
/// differentiated for a step of training.
struct Subject {
  mlir::ModuleOp module;
  Phase phase = Phase::Graph;
  std::string function;
};

struct BisectOptions {
  const CompileOptions &compile;
  uint32_t threads = 1;
  /// The largest relative difference; Tolerances say it if there is none.
  std::optional<double> tolerance;
  /// Elements of an input, by its name. May fail after a diagnostic.
  std::function<mlir::FailureOr<std::vector<char>>(llvm::StringRef name,
                                                   mlir::RankedTensorType)>
      makeInput;
  /// Told what is being done, for a person who waits; may be empty.
  std::function<void(const std::string &)> progress;
};

/// A value, and how far it is from the reference's.
struct ValueReport {
  std::string name, op; ///< Of a result: its name and "".
  mlir::RankedTensorType type;
  reference::Difference difference;
  Tolerance tolerance;
  bool hasNaNs = false; ///< Of a result: in the reference, too.

  double error() const { return tolerance.errorOf(difference); }
  bool mismatches() const { return error() > tolerance.limit; }
};

/// A way of running the function, and what it gives.
struct WayReport {
  std::vector<ValueReport> results;
  std::string failure; ///< Why it cannot be run so; empty: it can.

  bool mismatches() const {
    return llvm::any_of(results,
                        [](auto &result) { return result.mismatches(); });
  }
};

/// The first node whose value diverges from the reference.
struct Culprit {
  bool isEager = false; ///< Op by op, if only that mismatches; else compiled.
  size_t position = 0;  ///< Which node it is, from 1.
  /// Its value where the function ends after so many nodes, and that of
  /// function that ends at it, which may be right.
  ValueReport value, alone;
  std::optional<ValueReport> other; ///< The same in the other way.
  std::vector<std::string> kernels; ///< That compute it.
  std::vector<ValueReport> feeding; ///< Of the nodes that it reads.
};

/// A model that shows the fault.
struct Reproducer {
  mlir::OwningOpRef<mlir::ModuleOp> module; ///< Null: none was found.
  Data inputs;                              ///< Those that show it.
  bool needsInputs = true;                  ///< Those of makeInput do not.
  reduction::ReduceReport report;
};

struct BisectReport {
  size_t nodes = 0;
  size_t runs = 0; ///< Of functions that end earlier.
  WayReport compiled, eager;
  std::optional<Culprit> culprit; ///< If one of the two mismatches.
  Reproducer reproducer;
};

/// Fails after a diagnostic; a value that mismatches is no failure. What is
/// said for gradients alone leaves a module in phase differentiated.
mlir::LogicalResult bisect(const Subject &subject, const BisectOptions &options,
                           BisectReport &report);

} // namespace tinh::bisection

#endif // TINH_COMPILER_BISECTION_BISECTION_H
