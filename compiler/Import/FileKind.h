//===- FileKind.h - What a file is that is no model -------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_IMPORT_FILEKIND_H
#define TINH_COMPILER_IMPORT_FILEKIND_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace tinh {

/// What the content of a file says that it is, and what can be done with it, if
/// that is something else than a model that is read here: none of these starts
/// as ONNX, JSON or IR could. Empty otherwise.
std::string describeOtherKind(llvm::StringRef path, llvm::StringRef content);

} // namespace tinh

#endif // TINH_COMPILER_IMPORT_FILEKIND_H
