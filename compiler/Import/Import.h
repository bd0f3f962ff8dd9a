//===- Import.h - Model files to the graph dialect --------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one way in: reads an ONNX model, a JSON graph, or MLIR text or bytecode
// and gives a module in the `graph` phase (see docs/architecture.md).
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_IMPORT_IMPORT_H
#define TINH_COMPILER_IMPORT_IMPORT_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace tinh {

struct ImportOptions {
  /// Shapes for inputs whose shape the model leaves open, by input name
  /// (--shape NAME=1x3x224x224).
  llvm::StringMap<llvm::SmallVector<int64_t>> shapes;
  /// Gets the names of the model's weights, by which its constants are told
  /// from those of its nodes; IR has none. May be null.
  llvm::StringSet<> *weights = nullptr;
};

/// Reads the model in `path`, whose kind is told from its name (.onnx, .json,
/// .mlir, .mlirbc) or, failing that, its content. Null if that is impossible:
/// the reason was then reported to the context's diagnostic engine, at a
/// location that holds a FileLineColLoc of the file (line 0 if lines mean
/// nothing in it).
mlir::OwningOpRef<mlir::ModuleOp> importModel(llvm::StringRef path,
                                              const ImportOptions &options,
                                              mlir::MLIRContext &context);

} // namespace tinh

#endif // TINH_COMPILER_IMPORT_IMPORT_H
