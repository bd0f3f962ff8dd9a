//===- Export.h - The graph dialect to model files --------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one way out: writes a module in phase `graph` or `normalised` as an ONNX
// model or a JSON graph (docs/export.md). What compiler/Import makes of the
// file computes the same.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_EXPORT_EXPORT_H
#define TINH_COMPILER_EXPORT_EXPORT_H

#include "mlir/IR/BuiltinOps.h"

namespace tinh {

struct ExportOptions {
  /// The folder that the module's references to files start from.
  std::string modelDirectory;
};

/// Writes `path` and, for weights of more than kMaxInlineBytes, `path`.data.
/// Each file appears as a whole or not at all; equal modules give equal files.
/// On failure nothing is written, and a diagnostic lists all ops that ONNX
/// cannot express, or says what else is wrong.
mlir::LogicalResult exportOnnx(mlir::ModuleOp module, llvm::StringRef path,
                               const ExportOptions &options);

/// The same as a JSON graph, with large weights in a .safetensors file that is
/// called like it.
mlir::LogicalResult exportJson(mlir::ModuleOp module, llvm::StringRef path,
                               const ExportOptions &options);

} // namespace tinh

#endif // TINH_COMPILER_EXPORT_EXPORT_H
