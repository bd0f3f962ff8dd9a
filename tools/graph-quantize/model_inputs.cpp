//===- model_inputs.cpp - What a model takes, as arrays ---------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "model_inputs.h"

#include "compiler/Pipelines/ElementTypes.h"
#include "dialects/graph/Graph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace tinh::tools {

ModelInputs::ModelInputs(ModuleOp module) {
  auto main = module.lookupSymbol<func::FuncOp>(graph::names::kMain);
  for (auto [i, argument] : llvm::enumerate(main.getArgumentTypes())) {
    auto type = cast<RankedTensorType>(argument);
    auto name = main.getArgAttrOfType<StringAttr>(static_cast<unsigned>(i),
                                                  graph::names::kName);
    names.push_back(name ? name.str() : "");
    dims.emplace_back(type.getShape());
    tinh_tensor_info_t info = {};
    info.name = names.back().c_str();
    info.dtype = dtypeOf(type.getElementType());
    info.rank = static_cast<uint32_t>(type.getRank());
    info.dims = dims.back().data();
    info.size = static_cast<uint64_t>(graph::tensorSize(type));
    tensors.push_back(info);
  }
}

} // namespace tinh::tools
