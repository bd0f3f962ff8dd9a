//===- PackQuantizedWeights.cpp - Integers in panels ------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Products read constant integers as words in panels, and their scales and zero
// points in panels, too: what a row reads lies from one end to the other.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Layouts/Weights.h"

using namespace mlir;

namespace tinh::cpu {

/// The values in the kernel of `w` that are packed.
static SmallVector<Value> packedValues(const QuantizedWeights &w) {
  SmallVector<Value> values{w.bytes, w.scale->get()};
  if (w.zeroPoint)
    values.push_back(w.zeroPoint->get());
  return values;
}

bool dequantizesWeights(graph::DispatchOp dispatch, func::FuncOp kernel) {
  auto c = ContractionStrategy::match(kernel);
  auto w = c && !c->packed ? findQuantizedWeights(*c) : std::nullopt;
  return w && llvm::all_of(packedValues(*w), [&](Value value) {
           BlockArgument argument = packableArgument(value);
           return argument && argument == value &&
                  isOfConstants(dispatch.getInputs()[argument.getArgNumber()]);
         });
}

void packQuantizedWeights(SymbolTable &symbols, graph::DispatchOp dispatch,
                          const Target &target) {
  auto kernel = symbols.lookup<func::FuncOp>(dispatch.getKernel());
  Contraction c = *ContractionStrategy::match(kernel);
  QuantizedWeights w = *findQuantizedWeights(c);
  PanelsAttr words = w.panels(panelWidth(c, target));
  OpBuilder b(dispatch);
  auto pack = [&](Value value, PanelsAttr panels) {
    unsigned i = cast<BlockArgument>(value).getArgNumber();
    convertOperand(b, {symbols, kernel, dispatch}, i, dispatch.getInputs()[i],
                   value.getType(), [&](Value x) {
                     return packPanels(b, kernel.getLoc(), x, panels);
                   });
    changeArgument(b, value, panels.getPacked(), [&](Value packed) {
      return unpackPanels(b, kernel.getLoc(), packed, panels);
    });
    return i;
  };
  SmallVector<Value> parameters = packedValues(w);
  for (Value value : llvm::drop_begin(parameters))
    pack(value, PanelsAttr::get(words.getContext(),
                                cast<RankedTensorType>(value.getType()), {},
                                words.getOrder(), 0, words.getWidth(), Type(),
                                /*group=*/1));
  kernel.setArgAttr(pack(w.bytes, words), names::kLayout, words);
}

} // namespace tinh::cpu
