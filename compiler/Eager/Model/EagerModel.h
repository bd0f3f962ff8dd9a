//===- EagerModel.h - A model run one op at a time --------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The other side of the comparison: each op of a model becomes operations of
// the eager mode, one after the other, each with memory of its own. Nothing is
// fused and no memory is planned; kernels come from the same code generator.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_EAGER_MODEL_EAGERMODEL_H
#define TINH_EAGER_MODEL_EAGERMODEL_H

#include "compiler/Eager/Model/ModelOps.h"
#include "compiler/Graph/ExternalData.h"
#include "tinh/runtime.h"

#include "mlir/IR/BuiltinOps.h"

#include <memory>
#include <vector>

namespace tinh::eager {

class EagerModel {
public:
  /// Takes what it needs of `module`, which is at phase normalised; constants
  /// in files are relative to `directory`. Throws a tinh::Error.
  EagerModel(mlir::ModuleOp module, llvm::StringRef directory);

  /// Runs all ops on the engine and waits for the results. `outputs` are the
  /// caller's, as in tinh_context_run. Throws a tinh::Error.
  void run(const std::vector<tinh_buffer_t> &inputs,
           const std::vector<tinh_buffer_t> &outputs);

  /// Ops that compute something, and the bytes of all that they give.
  size_t numOperations() const { return operations; }
  uint64_t allocatedBytes() const { return allocated; }

private:
  void describe(mlir::func::FuncOp main);

  MappedFiles files;
  ModelOps ops;
  Sequence main;
  std::vector<std::pair<tinh_dtype_t, Dims>> inputTypes;
  size_t operations = 0;
  uint64_t allocated = 0;
};

} // namespace tinh::eager

#endif // TINH_EAGER_MODEL_EAGERMODEL_H
