//===- candidate_file.h - Models as files for a command ---------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_GRAPH_REDUCE_CANDIDATE_FILE_H
#define TINH_GRAPH_REDUCE_CANDIDATE_FILE_H

#include "compiler/Pipelines/Compile.h"
#include "compiler/Support/Files.h"

namespace tinh::tools {

/// Writes a model in phase graph as ONNX, a JSON graph or IR, as the job's
/// output is called. IR refers to files by their whole names then.
mlir::LogicalResult writeReduced(mlir::ModuleOp module, const CompileJob &job,
                                 const CompileOptions &options);

/// A temporary file that is called as `like` ends; one model after the other is
/// written to it. It goes, with that of its weights, with this object and on
/// signals.
class CandidateFile {
public:
  explicit CandidateFile(llvm::StringRef like);
  ~CandidateFile();
  CandidateFile(const CandidateFile &) = delete;

  const std::string &path() const { return model; }
  mlir::LogicalResult write(mlir::ModuleOp module,
                            const CompileOptions &options);

private:
  ScratchFile unique; ///< A name that these begin with.
  std::string model, weights;
};

} // namespace tinh::tools

#endif // TINH_GRAPH_REDUCE_CANDIDATE_FILE_H
