//===- Formats.h - Files of each format to the graph dialect ----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_IMPORT_FORMATS_H
#define TINH_COMPILER_IMPORT_FORMATS_H

#include "compiler/Graph/GraphBuilder.h"
#include "compiler/Import/Import.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tinh {

/// Reads `content`, that of the file `path`. Null, with diagnostics, if that is
/// impossible.
using ImportFunction = mlir::OwningOpRef<mlir::ModuleOp>(
    llvm::StringRef path, llvm::StringRef content, const ImportOptions &options,
    mlir::MLIRContext &context);

namespace json {
/// The format is described in docs/json-format.md, and by graph.schema.json.
ImportFunction importJson;
} // namespace json

namespace onnx {
ImportFunction importOnnx;
} // namespace onnx

/// Ends @main, whose arguments are there, by the return of these values as
/// outputs of these names, and erases what they do not need. For importers.
void buildReturn(GraphBuilder &builder, mlir::func::FuncOp main,
                 mlir::ValueRange values,
                 llvm::ArrayRef<llvm::StringRef> names);

} // namespace tinh

#endif // TINH_COMPILER_IMPORT_FORMATS_H
