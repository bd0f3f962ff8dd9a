//===- Reducer.h - Which parts of a model can go ----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_REDUCTION_REDUCER_H
#define TINH_COMPILER_REDUCTION_REDUCER_H

#include "compiler/Reduction/Candidate.h"
#include "compiler/Reduction/Reduction.h"

#include "llvm/ADT/DenseSet.h"

namespace tinh::reduction {

/// Holds the smallest model so far. Steps make changed copies of it and say
/// whether one of these has taken its place.
class Reducer {
public:
  Reducer(Candidate model, const IsInteresting &isInteresting,
          const ReduceOptions &options, ReduceReport &report);

  /// Takes steps until none of them finds anything.
  mlir::OwningOpRef<mlir::ModuleOp> run();

private:
  /// Changes a copy; false if there is nothing to change.
  using Change = llvm::function_ref<bool(Candidate &)>;

  bool attempt(const Candidate &base, Change change);
  bool attempt(Change change) { return attempt(best, change); }

  // What is computed: Reduce.cpp.
  bool cutResults();
  bool bisect(llvm::function_ref<void(Candidate &, size_t)> keep);
  bool cutTail();
  bool cutHead();
  bool removeChunk(size_t begin, size_t size);
  bool removeNodes();
  bool dropInputs();

  // On what, and how: Simplify.cpp.
  bool resizeAll(int64_t from, int64_t to);
  bool shrinkExtent(int64_t extent);
  bool shrinkDimension(size_t root, int64_t axis);
  bool shrinkShapes();
  bool resetAttribute(size_t node, mlir::StringAttr name);
  bool resetAttributes();
  bool splatConstants();

  Candidate best;
  const IsInteresting &isInteresting;
  const ReduceOptions &options;
  ReduceReport &report;
  MappedFiles files;
  llvm::DenseSet<uint64_t> seen; ///< Hashes of what was tested.
  bool stopped = false;          ///< By a failure.
};

} // namespace tinh::reduction

#endif // TINH_COMPILER_REDUCTION_REDUCER_H
