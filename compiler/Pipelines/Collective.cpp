//===- Collective.cpp - Collectives of a plan for the runtime -------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Pipelines/Collective.h"

#include "compiler/Support/ElementTypes.h"
#include "dialects/graph/Strides.h"
#include "tinh/collectives.h"

using namespace mlir;

namespace tinh {

tinh_collective_desc_t describeCollective(plan::StartOp start) {
  static constexpr tinh_collective_kind_t kKinds[] = {
      TINH_ALL_REDUCE, TINH_ALL_GATHER, TINH_REDUCE_SCATTER, TINH_BROADCAST};
  static constexpr tinh_reduction_t kReductions[] = {
      TINH_REDUCE_SUM, TINH_REDUCE_MEAN, TINH_REDUCE_MAX};
  plan::CollectiveAttr collective = start.getCollective();
  Type element = collective.getElement();
  // Of a rank's part, where ranks have parts.
  bool isScattered =
      collective.getKind() == plan::CollectiveKind::ReduceScatter;
  plan::BufferAttr counted =
      isScattered ? start.getTarget() : start.getSource();
  return {
      kKinds[static_cast<int>(collective.getKind())],
      kReductions[static_cast<int>(collective.getReduction())],
      dtypeOf(element),
      dtypeOf(collective.getCommunicationDtype()
                  ? collective.getCommunicationDtype()
                  : element),
      static_cast<uint32_t>(collective.getRoot()),
      static_cast<uint32_t>(collective.getRanks()),
      static_cast<uint64_t>(counted.getSize() / graph::elementSize(element))};
}

} // namespace tinh
