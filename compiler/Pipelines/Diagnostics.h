//===- Diagnostics.h - Messages for people ----------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_PIPELINES_DIAGNOSTICS_H
#define TINH_PIPELINES_DIAGNOSTICS_H

#include "mlir/IR/Diagnostics.h"

#include <string>

namespace tinh {

/// The text with what a terminal would not show as text, or would obey, as
/// escapes: names of a model may hold anything. Lines stay lines.
std::string escapeControls(llvm::StringRef text);

/// `file:line:column: error: …` or, where lines mean nothing,
/// `file: error: node 'Conv_12': …`; notes on lines of their own. Errors that
/// are the compiler's own are called internal errors. Of nodes whose location
/// names no file, `modelFile` is said to be it.
std::string formatDiagnostic(const mlir::Diagnostic &diagnostic,
                             llvm::StringRef modelFile = "");

/// Says something beside an error that has been reported.
void emitNote(mlir::Location location, const llvm::Twine &text);

/// Prints a context's diagnostics to stderr, for people; what is said of nodes
/// is about `modelFile`.
class DiagnosticPrinter : public mlir::ScopedDiagnosticHandler {
public:
  explicit DiagnosticPrinter(mlir::MLIRContext *context,
                             llvm::StringRef modelFile = "");
};

/// Makes a want of memory, wherever it arises, the message `error: out of
/// memory` and the end of the program, with exit code 1.
void reportExhaustedMemory();

} // namespace tinh

#endif // TINH_PIPELINES_DIAGNOSTICS_H
