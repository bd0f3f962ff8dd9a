//===- ImportOnnx.h - ONNX models to the graph dialect ----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_IMPORT_ONNX_IMPORTONNX_H
#define TINH_COMPILER_IMPORT_ONNX_IMPORTONNX_H

#include "compiler/Import/Import.h"

namespace tinh::onnx {

/// Reads an ONNX model, the content of the file `path`. Null, with a
/// diagnostic, if that is impossible.
mlir::OwningOpRef<mlir::ModuleOp> importOnnx(llvm::StringRef path,
                                             llvm::StringRef content,
                                             const ImportOptions &options,
                                             mlir::MLIRContext &context);

} // namespace tinh::onnx

#endif // TINH_COMPILER_IMPORT_ONNX_IMPORTONNX_H
