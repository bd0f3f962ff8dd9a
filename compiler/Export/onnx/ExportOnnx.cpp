//===- ExportOnnx.cpp - The graph dialect to ONNX models --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Export/Export.h"
#include "compiler/Export/onnx/ModelWriter.h"

#include "llvm/Support/Path.h"

using namespace mlir;

namespace tinh {

LogicalResult exportOnnx(ModuleOp module, StringRef path,
                         const ExportOptions &options) {
  func::FuncOp main = findMain(module);
  if (!main)
    return failure();
  std::string weightsPath = (path + ".data").str();
  MappedFiles sources(options.modelDirectory);
  onnx::ModelWriter writer(module, main, sources);
  if (failed(writer.build(llvm::sys::path::filename(weightsPath))))
    return failure();
  if (llvm::Error error =
          writeModel(path, writer.model.SerializeAsString(), weightsPath,
                     /*header=*/"", writer.weightFile, sources))
    return emitError(UnknownLoc::get(module.getContext()),
                     llvm::toString(std::move(error)));
  return success();
}

} // namespace tinh
