//===- model_inputs.h - What a model takes, as arrays -----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_GRAPH_QUANTIZE_MODEL_INPUTS_H
#define TINH_GRAPH_QUANTIZE_MODEL_INPUTS_H

#include "tinh/runtime.h"

#include "mlir/IR/BuiltinOps.h"

#include <deque>
#include <string>
#include <vector>

namespace tinh::tools {

/// The inputs of a module's @main, as those of an artifact are described.
class ModelInputs {
public:
  explicit ModelInputs(mlir::ModuleOp module);
  const std::vector<tinh_tensor_info_t> &infos() const { return tensors; }

private:
  std::deque<std::string> names;
  std::deque<std::vector<int64_t>> dims;
  std::vector<tinh_tensor_info_t> tensors;
};

} // namespace tinh::tools

#endif // TINH_GRAPH_QUANTIZE_MODEL_INPUTS_H
