//===- TensorName.cpp - Names that tensors have in files --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Support/TensorName.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ConvertUTF.h"

using namespace mlir;

namespace tinh {

/// The format's own key, under which metadata is.
static constexpr llvm::StringLiteral kMetadata = "__metadata__";

static bool isUtf8(StringRef text) {
  auto *begin = reinterpret_cast<const llvm::UTF8 *>(text.begin());
  return llvm::isLegalUTF8String(
      &begin, reinterpret_cast<const llvm::UTF8 *>(text.end()));
}

bool isTensorName(StringRef name) {
  return name != kMetadata && !name.contains('\0') && isUtf8(name);
}

LogicalResult checkTensorName(Operation *weight, StringRef name) {
  if (isTensorName(name))
    return success();
  std::string shown;
  llvm::raw_string_ostream stream(shown);
  llvm::printEscapedString(name, stream);
  return weight->emitError()
         << "a weight that is trained or can be loaded cannot be called \""
         << shown << "\": "
         << (name == kMetadata
                 ? "in a .safetensors file that is the key of the metadata"
                 : "names in a .safetensors file are UTF-8 without NUL")
         << "; give it another name in the model";
}

} // namespace tinh
