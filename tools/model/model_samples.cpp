//===- model_samples.cpp - Samples of a model's inputs -------- -*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "model_samples.h"

#include "compiler/Support/ElementTypes.h"
#include "dialects/graph/Graph.h"
#include "inputs.h"
#include "samples.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <deque>

using namespace mlir;

namespace tinh::tools {

namespace {

/// The inputs of a module's @main, as those of an artifact are described.
class ModelInputs {
public:
  explicit ModelInputs(ModuleOp module) {
    auto main = module.lookupSymbol<func::FuncOp>(graph::names::kMain);
    for (BlockArgument argument : main.getArguments()) {
      auto name = main.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                    graph::names::kName);
      names.push_back(name ? name.str() : "");
      add(cast<RankedTensorType>(argument.getType()));
    }
  }
  const std::vector<tinh_tensor_info_t> &infos() const { return tensors; }

private:
  void add(RankedTensorType type) {
    dims.emplace_back(type.getShape());
    tinh_tensor_info_t info = {};
    info.name = names.back().c_str();
    info.dtype = dtypeOf(type.getElementType());
    info.rank = static_cast<uint32_t>(type.getRank());
    info.dims = dims.back().data();
    info.size = static_cast<uint64_t>(graph::tensorSize(type));
    tensors.push_back(info);
  }

  std::deque<std::string> names;
  std::deque<std::vector<int64_t>> dims;
  std::vector<tinh_tensor_info_t> tensors;
};

} // namespace

FailureOr<ModelSamples> ModelSamples::read(ModuleOp module,
                                           const std::string &option,
                                           const std::string &path) {
  try {
    ModelInputs inputs(module);
    ModelSamples samples(read_samples(option, path, inputs.infos()));
    for (uint64_t i = 0; i < samples.data.num_batches(); ++i)
      samples.buffers.push_back(samples.data.batch_at(i));
    return samples;
  } catch (const UserError &error) {
    return emitError(UnknownLoc::get(module.getContext()), error.what());
  }
}

} // namespace tinh::tools
