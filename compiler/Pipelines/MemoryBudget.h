//===- MemoryBudget.h - Functions that fit into a given memory --*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_PIPELINES_MEMORYBUDGET_H
#define TINH_PIPELINES_MEMORYBUDGET_H

#include "compiler/Pipelines/Phases.h"

#include <optional>

namespace tinh {

/// Reads "260000000", "260MB", "248MiB" or "60%"; nothing if it is none of
/// these.
std::optional<MemoryBudget> parseMemoryBudget(llvm::StringRef text);

/// Reads all but shares of these; nothing if it is no size.
std::optional<uint64_t> parseMemorySize(llvm::StringRef text);
/// What to say of a limit on memory that is no size.
std::string malformedMemorySize(llvm::StringRef text);

/// What to say of a text that is none.
std::string malformedMemoryBudget(llvm::StringRef text);

/// Has values of `module`, in phase optimised, computed again where a function
/// would take more than options.memoryBudget, and says so in a remark and in
/// the report. Fails, with a message, where that does not suffice.
mlir::LogicalResult fitMemoryBudget(mlir::ModuleOp module,
                                    const PhaseOptions &options,
                                    CompileReport &report);

} // namespace tinh

#endif // TINH_PIPELINES_MEMORYBUDGET_H
