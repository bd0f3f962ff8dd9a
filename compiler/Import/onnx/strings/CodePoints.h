//===- CodePoints.h - The characters of strings -----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_IMPORT_ONNX_STRINGS_CODEPOINTS_H
#define TINH_COMPILER_IMPORT_ONNX_STRINGS_CODEPOINTS_H

#include "compiler/Graph/GraphOps.h"

#include <string>

namespace tinh::onnx {

enum class Case { Lower, Upper };

/// A letter of Unicode in a case, by the simple mapping: one letter becomes
/// one. Those whose other case has another length in UTF-8, about fifty, stay.
uint32_t changeCase(uint32_t letter, Case to);
/// The same of the letters of a string in UTF-8; bytes that are none stay.
std::string changeCase(llvm::StringRef string, Case to);
/// The same of strings in a graph.
mlir::Value changeCase(GraphOps &b, mlir::Value bytes, Case to);

/// Whether bytes of strings belong to white space of Unicode, as
/// Python's str.isspace has it.
mlir::Value isWhiteSpace(GraphOps &b, mlir::Value bytes);

/// A code point in UTF-8.
std::string encode(uint32_t codePoint);

} // namespace tinh::onnx

#endif // TINH_COMPILER_IMPORT_ONNX_STRINGS_CODEPOINTS_H
