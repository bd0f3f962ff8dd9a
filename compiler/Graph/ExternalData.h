//===- ExternalData.h - Constants in files ----------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_GRAPH_EXTERNALDATA_H
#define TINH_COMPILER_GRAPH_EXTERNALDATA_H

#include "dialects/graph/Graph.h"

#include "mlir/IR/BuiltinAttributeInterfaces.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

#include <optional>
#include <string>

namespace tinh {

/// A file that a model's constants lie in.
struct DataFile {
  /// As constants name it, relative to the model's directory.
  std::string name;
  std::string path;
  uint64_t size = 0;
};

/// Finds the file `location` that a model in `directory` names. Models may
/// come from strangers, so the file must lie in that directory. False with
/// the reason in `error` if there is none such.
bool findDataFile(llvm::StringRef directory, llvm::StringRef location,
                  DataFile &file, std::string &error);

/// Memory of the program in the place of a file: constants refer to it as
/// "memory:NAME". It must stay as it is as long as `context` is used.
void addMemory(mlir::MLIRContext &context, llvm::StringRef name,
               llvm::ArrayRef<char> bytes);

/// The memory of that name as a file of its size; false with the reason in
/// `error` if there is none.
bool findMemory(mlir::MLIRContext &context, llvm::StringRef name,
                DataFile &file, std::string &error);

/// The bytes that a constant refers to if they are memory of the program.
std::optional<llvm::ArrayRef<char>> readMemory(graph::ExternalAttr constant);

/// The tensor whose bytes lie in a file: read if they are few, else referred
/// to. Null with the reason in `error` if the sizes do not fit.
mlir::TypedAttr referToBytes(mlir::RankedTensorType type, const DataFile &file,
                             uint64_t offset, uint64_t size,
                             std::string &error);

/// The files that a model's constants lie in, mapped when they are first read.
class MappedFiles {
public:
  /// Relative names start at `directory`, the model's.
  explicit MappedFiles(llvm::StringRef directory) : directory(directory) {}

  /// The bytes of a constant; they stay as long as this object.
  llvm::Expected<llvm::ArrayRef<char>> read(graph::ExternalAttr constant);
  /// The file that a constant lies in.
  std::string pathOf(graph::ExternalAttr constant) const;

private:
  std::string directory;
  llvm::StringMap<std::unique_ptr<llvm::MemoryBuffer>> files;
};

} // namespace tinh

#endif // TINH_COMPILER_GRAPH_EXTERNALDATA_H
