//===- WeightFile.h - Weights beside a model --------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_EXPORT_WEIGHTFILE_H
#define TINH_COMPILER_EXPORT_WEIGHTFILE_H

#include "compiler/Graph/ExternalData.h"

#include "mlir/IR/BuiltinAttributeInterfaces.h"

#include <string>
#include <vector>

namespace tinh {

/// Whether a constant is too large to stand in the model's own file.
bool isLarge(mlir::TypedAttr value);

/// Writes the elements of dense elements as files hold them: little-endian, row
/// by row, a boolean in a byte. `out` has the size that the type asks for.
void writeElements(mlir::DenseElementsAttr value,
                   llvm::MutableArrayRef<char> out);

/// The elements of a constant that is not large, wherever they lie.
llvm::Expected<std::string> smallElements(mlir::TypedAttr value,
                                          MappedFiles &sources);

/// A file of weights, laid out first and then written, from one file to the
/// other without being held in between.
class WeightFile {
public:
  /// Weights begin at multiples of `alignment`.
  explicit WeightFile(uint64_t alignment) : alignment(alignment) {}

  bool empty() const { return weights.empty(); }
  /// The offset, behind the file's header, at which `value` will lie.
  uint64_t add(mlir::TypedAttr value);

private:
  struct Weight {
    mlir::TypedAttr value;
    uint64_t offset;
  };
  std::vector<Weight> weights;
  uint64_t alignment, size = 0;

  friend llvm::Error writeModel(llvm::StringRef, llvm::StringRef,
                                llvm::StringRef, llvm::StringRef,
                                const WeightFile &, MappedFiles &);
  llvm::Error fill(llvm::MutableArrayRef<char> memory,
                   MappedFiles &sources) const;
};

/// Writes a model's `content` to `path` and, if there are any, the weights,
/// behind `header`, to `weightsPath`. Nothing is at either path before both
/// files are complete. Fails if weights come from the file at `weightsPath`.
llvm::Error writeModel(llvm::StringRef path, llvm::StringRef content,
                       llvm::StringRef weightsPath, llvm::StringRef header,
                       const WeightFile &weights, MappedFiles &sources);

} // namespace tinh

#endif // TINH_COMPILER_EXPORT_WEIGHTFILE_H
