//===- OpTable.cpp - What builds each op of ONNX ----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/onnx/OpTable.h"

#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace tinh::onnx {

const OpEntry *findOp(StringRef domain, StringRef name, int64_t opset) {
  using Table = llvm::StringMap<SmallVector<OpEntry, 1>>;
  static const Table table = [] {
    Table result;
    for (const OpFamily &family : {activationOps(),
                                   attentionOps(),
                                   constantOps(),
                                   contractionOps(),
                                   einsumOps(),
                                   elementwiseOps(),
                                   fusedOps(),
                                   groupQueryAttentionOps(),
                                   labelOps(),
                                   linearAlgebraOps(),
                                   lossOps(),
                                   movementOps(),
                                   normalizationOps(),
                                   optimizerOps(),
                                   poolingOps(),
                                   predictorOps(),
                                   quantizationOps(),
                                   quantizedLayerOps(),
                                   quantizedWeightsOps(),
                                   randomOps(),
                                   recurrentOps(),
                                   reductionOps(),
                                   regionOps(),
                                   resizeOps(),
                                   runtimeAttentionOps(),
                                   samplingOps(),
                                   scatterOps(),
                                   selectionOps(),
                                   sequenceOps(),
                                   shapeOps(),
                                   signalOps(),
                                   stateOps(),
                                   stringOps(),
                                   supportVectorOps(),
                                   suppressionOps(),
                                   treeOps(),
                                   vectorizerOps()})
      for (OpEntry entry : family) {
        if (entry.signature.since == 0)
          entry.signature = signatureOf(entry.name);
        result[entry.name].push_back(entry);
      }
    return result;
  }();
  const OpEntry *best = nullptr;
  auto it =
      table.find(domain.empty() ? name.str() : (domain + "." + name).str());
  if (it == table.end())
    return nullptr;
  for (const OpEntry &entry : it->second)
    if (entry.signature.since <= opset &&
        (!best || entry.signature.since > best->signature.since))
      best = &entry;
  return best;
}

} // namespace tinh::onnx
