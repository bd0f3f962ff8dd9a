//===- EagerModel.h - A model run one op at a time --------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The other side of the comparison: the same code generator, but a kernel for
// each op, called one after the other, each with outputs allocated for it and
// freed after their last use. Nothing is fused and no memory is planned.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_EAGER_EAGERMODEL_H
#define TINH_EAGER_EAGERMODEL_H

#include "compiler/Pipelines/Compile.h"
#include "tinh/runtime.h"

#include <memory>
#include <vector>

namespace tinh {

class EagerModel {
public:
  /// Compiles the ops of `module`, which is at phase Kernels with a kernel for
  /// each op, for `threads` threads. Null after a diagnostic.
  static std::unique_ptr<EagerModel> create(mlir::ModuleOp module,
                                            const CompileOptions &options,
                                            uint32_t threads);
  ~EagerModel();

  /// Runs all ops; false if one fails (tinh_last_error says why). `outputs` are
  /// the caller's, as in tinh_context_run.
  bool run(const std::vector<tinh_buffer_t> &inputs,
           const std::vector<tinh_buffer_t> &outputs);

  /// Kernel calls of a run, and the bytes that it allocates in all.
  size_t kernelCalls() const { return calls.size(); }
  uint64_t allocatedBytes() const { return allocated; }

private:
  EagerModel() = default;

  /// A call of one op: values are numbered, inputs of the model first.
  struct Call {
    std::vector<uint32_t> inputs, outputs;
    std::vector<uint32_t> dead; // Values that nothing reads after it.
  };
  class Planner;

  std::vector<Call> calls;
  std::vector<uint64_t> sizes;   // Of the values.
  std::vector<uint32_t> results; // The values that the model returns.
  uint32_t numInputs = 0;
  uint64_t allocated = 0;
  tinh_module_t *loaded = nullptr;
  tinh_context_t *context = nullptr;
};

} // namespace tinh

#endif // TINH_EAGER_EAGERMODEL_H
