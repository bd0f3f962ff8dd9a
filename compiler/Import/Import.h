//===- Import.h - Model files to the graph dialect --------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one way in: reads an ONNX model, a JSON graph, or MLIR text or bytecode
// and gives a module in the `graph` phase (see docs/architecture.md).
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_IMPORT_IMPORT_H
#define TINH_COMPILER_IMPORT_IMPORT_H

#include "compiler/Support/Interruption.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <string>
#include <vector>

namespace tinh {

/// What a model's file says for its training; IR says nothing.
struct TrainingInfo {
  /// The names of its weights, by which its constants are told from those of
  /// its nodes.
  llvm::StringSet<> weights;
  /// As the options of graph-compile have them: "adam,lr=0.001". Empty, if the
  /// file has none.
  std::string loss, optimizer;
  std::vector<std::string> trainable;
  /// Of products and convolutions, with what the loss is multiplied by for it,
  /// and patterns of what stays in f32.
  std::string precision, lossScale;
  std::vector<std::string> keepF32;
};

struct ImportOptions {
  /// Shapes for inputs whose shape the model leaves open, by input name
  /// (--shape NAME=1x3x224x224).
  llvm::StringMap<llvm::SmallVector<int64_t>> shapes;
  /// Elements, by input name, of inputs that become constants: one for all or a
  /// list, as in "16000", "true" or "0.5,-inf" (--input-value NAME=VALUE).
  llvm::StringMap<std::string> inputValues;
  /// How many tensors inputs have that are sequences (--length NAME=3); of an
  /// optional one, 1 or 0: whether it is there, or kAbsent.
  llvm::StringMap<int64_t> lengths;
  static constexpr int64_t kAbsent = -1;
  /// How many bytes the strings of an input have at most, by its name
  /// (--string-length NAME=256); kStringLength where nothing is said.
  llvm::StringMap<int64_t> stringLengths;
  static constexpr int64_t kStringLength = 64;
  /// Not null: the model is to be trained. Nodes are then imported in the form
  /// that they have in inference, of which compiler/Training makes the other.
  TrainingInfo *training = nullptr;
  /// Gets the names of the model's weights; may be null. IR has none.
  llvm::StringSet<> *weights = nullptr;
  /// A .safetensors file of other weights; empty: the model's own.
  std::string loadWeights;
  /// The folder that the model's names of files start from; empty: its own.
  std::string directory;
  /// Ends the import between two nodes; may be null.
  Interruption *interruption = nullptr;

  std::string directoryOf(llvm::StringRef model) const;
};

/// Reads the model in `path`, whose kind is told from its name (.onnx, .json,
/// .mlir, .mlirbc) or, failing that, its content. Null if that is impossible:
/// the reason was then reported to the context's diagnostic engine, at a
/// location that holds a FileLineColLoc of the file (line 0 if lines mean
/// nothing in it).
mlir::OwningOpRef<mlir::ModuleOp> importModel(llvm::StringRef path,
                                              const ImportOptions &options,
                                              mlir::MLIRContext &context);

} // namespace tinh

#endif // TINH_COMPILER_IMPORT_IMPORT_H
