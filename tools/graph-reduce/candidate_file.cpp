//===- candidate_file.cpp - Models as files for a command -------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "candidate_file.h"

#include "compiler/Graph/ExternalData.h"
#include "model_job.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Signals.h"

using namespace mlir;

namespace tinh::tools {

/// A copy that can lie in any folder.
static OwningOpRef<ModuleOp> withWholeNames(ModuleOp module,
                                            StringRef directory) {
  OwningOpRef<ModuleOp> copy = module.clone();
  MappedFiles files(directory);
  copy->walk([&](graph::ConstantOp op) {
    auto value =
        dyn_cast<graph::ExternalAttr>(graph::elementsOf(op.getValue()));
    if (!value)
      return;
    SmallString<256> path(files.pathOf(value));
    llvm::sys::fs::make_absolute(path);
    op.setValueAttr(graph::ExternalAttr::get(op.getContext(), value.getType(),
                                             path, value.getOffset(),
                                             value.getSize()));
  });
  return copy;
}

LogicalResult writeReduced(ModuleOp module, const CompileJob &job,
                           const CompileOptions &options) {
  StringRef extension = llvm::sys::path::extension(job.output);
  if (extension != ".mlir" && extension != ".mlirbc")
    return writeModel(module, job, options);
  return writeModule(*withWholeNames(module, options.phases.modelDirectory),
                     job.output);
}

CandidateFile::CandidateFile(StringRef like) : unique("tinh-reduce") {
  StringRef extension = llvm::sys::path::extension(like);
  model = unique.name + extension.str();
  weights = extension == ".json" ? unique.name + ".safetensors"
                                 : model + ".data"; // compiler/Export's names.
  for (const std::string &path : {model, weights})
    llvm::sys::RemoveFileOnSignal(path);
}

CandidateFile::~CandidateFile() {
  for (const std::string &path : {model, weights}) {
    llvm::sys::fs::remove(path);
    llvm::sys::DontRemoveFileOnSignal(path);
  }
}

LogicalResult CandidateFile::write(ModuleOp module,
                                   const CompileOptions &options) {
  CompileJob job;
  job.output = model;
  return writeReduced(module, job, options);
}

} // namespace tinh::tools
