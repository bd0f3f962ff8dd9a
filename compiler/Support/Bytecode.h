//===- Bytecode.h - IR in binary files --------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// MLIR's reader of bytecode believes what it reads: damaged files make it
// crash, or ask for all memory. So what is written here names as its producer
// the hash of all its bytes, and nothing else is given to the reader.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_SUPPORT_BYTECODE_H
#define TINH_SUPPORT_BYTECODE_H

#include "mlir/IR/Operation.h"

namespace tinh {

llvm::LogicalResult writeBytecode(mlir::Operation *op,
                                  llvm::raw_ostream &stream);

/// Whether `content`, of which the first bytes are enough, is bytecode of any
/// program.
bool isBytecode(llvm::StringRef content);

/// Whether `content` is bytecode that `writeBytecode` wrote, as a whole.
bool isOurBytecode(llvm::StringRef content);

} // namespace tinh

#endif // TINH_SUPPORT_BYTECODE_H
