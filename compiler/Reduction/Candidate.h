//===- Candidate.h - A model that may take a larger one's place -*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_REDUCTION_CANDIDATE_H
#define TINH_COMPILER_REDUCTION_CANDIDATE_H

#include "compiler/Graph/ExternalData.h"
#include "dialects/graph/Graph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <string>

namespace tinh::reduction {

/// A copy of a model, to be changed. A change leaves dead ops, unused inputs
/// and types behind that no longer fit: `settle` comes after it.
class Candidate {
public:
  /// Null, after a diagnostic, if inputs and outputs have no proper names.
  static std::optional<Candidate> create(mlir::ModuleOp module);
  Candidate clone() const;

  mlir::ModuleOp get() const { return *module; }
  mlir::OwningOpRef<mlir::ModuleOp> take() { return std::move(module); }
  mlir::func::FuncOp main() const;
  /// The ops of @main but its constants and its end, in their order.
  llvm::SmallVector<mlir::Operation *> nodes() const;
  llvm::SmallVector<graph::ConstantOp> constants() const;
  /// How many ops there are but constants, those in regions among them.
  size_t numOps() const;

  /// Keeps these results alone.
  void keepResults(llvm::ArrayRef<unsigned> kept);
  /// Makes the results of a node those of the model.
  void endAt(mlir::Operation *node);
  /// Makes inputs of what others read of these nodes.
  void cut(llvm::ArrayRef<mlir::Operation *> nodes);
  /// Puts one of a node's operands in the place of its result; false if none
  /// has its type.
  bool bypass(mlir::Operation *node);
  /// False if there are none.
  bool dropUnusedInputs();
  /// Gives an input or a constant another extent, which is smaller: its first
  /// elements. False if the elements cannot be read.
  bool resize(mlir::Value root, int64_t axis, int64_t extent,
              MappedFiles &files);

  /// Erases dead ops and infers types again. False if what is left is no
  /// valid model.
  bool settle();
  /// Without locations.
  std::string text() const;

private:
  Candidate() = default;

  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// What results of nodes are called as inputs.
  llvm::DenseMap<mlir::Value, std::string> names;
};

/// The elements of a constant, as the runtime's buffers have them; none if they
/// cannot be read, or are booleans, which attributes hold in another way.
llvm::ArrayRef<char> bytesOf(graph::ConstantOp op, MappedFiles &files);

/// The first elements of each dimension, of which `size` bytes are one.
std::vector<char> leadingBox(llvm::ArrayRef<char> bytes,
                             llvm::ArrayRef<int64_t> from,
                             llvm::ArrayRef<int64_t> to, int64_t size);

/// Gives all elements of a constant the value of the first one. False if they
/// are equal already or cannot be read.
bool makeSplat(graph::ConstantOp op, MappedFiles &files);

} // namespace tinh::reduction

#endif // TINH_COMPILER_REDUCTION_CANDIDATE_H
