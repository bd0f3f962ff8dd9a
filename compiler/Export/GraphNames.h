//===- GraphNames.h - Names for the tensors and nodes of a model ----------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Values have no names; tensors in files do, each its own. Inputs and outputs
// are called as `graph.name` says, everything else by its op's location, which
// names the node of the model that it came from, or by the op.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_EXPORT_GRAPHNAMES_H
#define TINH_COMPILER_EXPORT_GRAPHNAMES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <string>
#include <vector>

namespace tinh {

struct OutputName {
  std::string name;
  mlir::Value value;
  /// Whether the value's tensor has another name: it is an input, or an output
  /// before this one.
  bool isCopy = false;
};

/// The main function of a module that can be exported; null, with a diagnostic,
/// if it has none.
mlir::func::FuncOp findMain(mlir::ModuleOp module);

/// The name that a location gives, in valid UTF-8; empty if it gives none.
std::string nameOf(mlir::Location location);

class GraphNames {
public:
  /// Names everything in `main`. Fails, with a diagnostic, if the names of
  /// inputs and outputs are missing or contradict each other.
  mlir::LogicalResult assign(mlir::func::FuncOp main);

  const std::string &tensor(mlir::Value value) const;
  /// The name of an op's first result, or of the op if it has none.
  std::string node(mlir::Operation *op) const;
  llvm::ArrayRef<OutputName> outputs() const { return outputNames; }

  /// A name like `wanted` that nothing has yet.
  std::string fresh(llvm::StringRef wanted);

private:
  mlir::LogicalResult nameInputs(mlir::func::FuncOp main);
  mlir::LogicalResult nameOutputs(mlir::func::FuncOp main);
  void nameResults(mlir::Operation *op);

  llvm::StringSet<> taken;
  llvm::StringMap<unsigned> numbers;
  llvm::DenseMap<mlir::Value, std::string> tensors;
  std::vector<OutputName> outputNames;
};

} // namespace tinh

#endif // TINH_COMPILER_EXPORT_GRAPHNAMES_H
