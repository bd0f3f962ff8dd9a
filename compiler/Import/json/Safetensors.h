//===- Safetensors.h - Tensors of a .safetensors file -----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// tinh/safetensors.h for the compiler: tensors as attributes. Their bytes are
// not read but referred to.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_IMPORT_JSON_SAFETENSORS_H
#define TINH_COMPILER_IMPORT_JSON_SAFETENSORS_H

#include "compiler/Graph/ExternalData.h"

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
};

/// What stands in a file before the bytes of these tensors, which follow it
/// without gaps. Fails if one has a name that the format does not allow.
llvm::Expected<std::string>
writeSafetensorsHeader(llvm::ArrayRef<SafetensorsEntry> tensors);

} // namespace tinh::json

#endif // TINH_COMPILER_IMPORT_JSON_SAFETENSORS_H
