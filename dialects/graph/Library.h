//===- Library.h - What libraries can be asked to compute -------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_GRAPH_LIBRARY_H
#define TINH_GRAPH_LIBRARY_H

#include "dialects/graph/Graph.h"

namespace tinh::graph {

/// Whether the views of `library` lie within operands of so many elements.
mlir::LogicalResult
verifyViews(LibraryAttr library, llvm::ArrayRef<int64_t> operandElements,
            llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

} // namespace tinh::graph

#endif // TINH_GRAPH_LIBRARY_H
