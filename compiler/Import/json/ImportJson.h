//===- json/ImportJson.h - JSON graphs to the graph dialect -----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The format is described in docs/json-format.md, and by graph.schema.json.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_IMPORT_JSON_IMPORTJSON_H
#define TINH_COMPILER_IMPORT_JSON_IMPORTJSON_H

#include "compiler/Import/Import.h"

namespace tinh::json {

/// Reads a JSON graph, the text of the file `path`. Null, with diagnostics, if
/// that is impossible.
mlir::OwningOpRef<mlir::ModuleOp> importJson(llvm::StringRef path,
                                             llvm::StringRef text,
                                             const ImportOptions &options,
                                             mlir::MLIRContext &context);

} // namespace tinh::json

#endif // TINH_COMPILER_IMPORT_JSON_IMPORTJSON_H
