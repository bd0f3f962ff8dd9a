//===- Bytecode.cpp - IR in binary files ------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Support/Bytecode.h"

#include "mlir/Bytecode/BytecodeWriter.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/BLAKE3.h"

using namespace mlir;

namespace tinh {

// A file begins with the magic number, a byte of MLIR's version of the format,
// and the producer, a string that ends with a 0.
static constexpr llvm::StringLiteral kMagic = "ML\xefR";
static constexpr llvm::StringLiteral kProducer = "tinh ";
static constexpr size_t kProducerOffset = kMagic.size() + 1;
static constexpr size_t kHashOffset = kProducerOffset + kProducer.size();
static constexpr size_t kHashBytes = 20;
static constexpr size_t kHashEnd = kHashOffset + 2 * kHashBytes;

/// In hexadecimal digits, of all bytes but these.
static std::string hashOf(StringRef content) {
  llvm::BLAKE3 hasher;
  hasher.update(content.take_front(kHashOffset));
  hasher.update(content.drop_front(kHashEnd));
  return llvm::toHex(hasher.final<kHashBytes>());
}

LogicalResult writeBytecode(Operation *op, llvm::raw_ostream &stream) {
  std::string content;
  llvm::raw_string_ostream buffer(content);
  std::string producer = kProducer.str() + std::string(2 * kHashBytes, '0');
  BytecodeWriterConfig config(producer);
  if (failed(writeBytecodeToFile(op, buffer, config)))
    return failure();
  content.replace(kHashOffset, 2 * kHashBytes, hashOf(content));
  stream << content;
  return success();
}

bool isBytecode(StringRef content) { return content.starts_with(kMagic); }

bool isOurBytecode(StringRef content) {
  return isBytecode(content) && content.size() > kHashEnd &&
         content.substr(kProducerOffset).starts_with(kProducer) &&
         content.slice(kHashOffset, kHashEnd) == hashOf(content);
}

} // namespace tinh
