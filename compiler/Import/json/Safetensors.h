//===- Safetensors.h - The header of a .safetensors file --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A safetensors file is a length (8 bytes), a JSON header of that length, and
// the tensors' bytes. Only the header is read; the bytes are referred to.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_IMPORT_JSON_SAFETENSORS_H
#define TINH_COMPILER_IMPORT_JSON_SAFETENSORS_H

#include "compiler/Import/ExternalData.h"

#include "llvm/ADT/StringMap.h"

namespace tinh::json {

/// The tensors of one file. Null values never occur.
using Safetensors = llvm::StringMap<mlir::TypedAttr>;

/// Reads and checks the header of `file`. False, with the reason in `error`,
/// if the file is malformed.
bool readSafetensors(const DataFile &file, mlir::MLIRContext *context,
                     Safetensors &tensors, std::string &error);

/// A tensor as a header describes it.
struct SafetensorsEntry {
  std::string name;
  mlir::RankedTensorType type;
  /// From the end of the header.
  uint64_t offset;
};

/// What stands in a file before the bytes of these tensors.
std::string writeSafetensorsHeader(llvm::ArrayRef<SafetensorsEntry> tensors);

} // namespace tinh::json

#endif // TINH_COMPILER_IMPORT_JSON_SAFETENSORS_H
