//===- EagerModel.cpp - A model run one op at a time ------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Model/EagerModel.h"

#include "compiler/Transforms/Quantization/DecomposeQuantization.h"

#include "tinh/engine.h"

#include <cstring>

using namespace mlir;

namespace tinh::eager {

EagerModel::EagerModel(ModuleOp module, StringRef directory)
    : files(directory), ops(files) {
  OwningOpRef<ModuleOp> decomposed = module.clone();
  transforms::decomposeQuantization(*decomposed);
  auto function = decomposed->lookupSymbol<func::FuncOp>(graph::names::kMain);
  main = ops.sequence(function.front());
  for (auto [i, type] : llvm::enumerate(function.getArgumentTypes())) {
    auto tensor = cast<RankedTensorType>(type);
    if (std::string why = whyNoTensor(tensor); !why.empty()) {
      auto name = function.getArgAttrOfType<StringAttr>(i, graph::names::kName);
      throw Error(TINH_INVALID_ARGUMENT, "input '" + name.str() + "': " + why);
    }
    inputTypes.emplace_back(dtypeOf(tensor.getElementType()),
                            dimsOf(tensor.getShape()));
  }
  function.walk([&](mlir::Operation *op) {
    if (isa<graph::ConstantOp, graph::ReshapeOp, graph::BroadcastOp,
            graph::TransposeOp>(op) ||
        op->hasTrait<OpTrait::IsTerminator>() || op == function.getOperation())
      return;
    if (op->getNumResults() > 0 && ops.isConstant(op->getResult(0)))
      return;
    ++operations;
    for (Type type : op->getResultTypes())
      allocated += static_cast<uint64_t>(graph::tensorSize(type));
  });
  ops.dropUnusedConstants();
  wait_all();
}

void EagerModel::run(const std::vector<tinh_buffer_t> &inputs,
                     const std::vector<tinh_buffer_t> &outputs) {
  Frame frame = ops.constants();
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto &[dtype, sizes] = inputTypes[i];
    frame[main.arguments[i]] =
        from_bytes(inputs[i].data, toArray(sizes), DType(dtype));
  }
  main.run(frame);
  for (size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i].size > 0)
      frame[main.results[i]].copy_to(outputs[i].data);
}

} // namespace tinh::eager
