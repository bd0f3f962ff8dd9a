//===- Collectives.cpp - Collectives over a list of ranks -----------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Reference/Families.h"

using namespace mlir;

namespace tinh::reference {

namespace {

/// The elements as they are sent.
Tensor sent(const Tensor &x, std::optional<Type> communicationDtype) {
  if (!communicationDtype)
    return x;
  Tensor rounded = x;
  rounded.type = RankedTensorType::get(x.shape(), *communicationDtype);
  roundElements(rounded);
  rounded.type = x.type;
  return rounded;
}

Tensor reduce(graph::ReduceKind kind, std::optional<Type> communicationDtype,
              ArrayRef<const Tensor *> ranks) {
  Tensor result = sent(*ranks.front(), communicationDtype);
  visitElements(result, [&](auto zero) {
    using T = decltype(zero);
    std::vector<T> &all = result.elements<T>();
    for (const Tensor *rank : ranks.drop_front()) {
      Tensor other = sent(*rank, communicationDtype);
      for (auto [sum, x] : llvm::zip_equal(all, other.elements<T>()))
        sum = kind == graph::ReduceKind::Max ? larger(sum, x) : sum + x;
    }
    if (kind == graph::ReduceKind::Mean)
      for (T &sum : all)
        sum /= static_cast<T>(ranks.size());
  });
  Tensor rounded = sent(result, communicationDtype);
  roundElements(rounded);
  return rounded;
}

/// Part `index` of `x`, of the type `part`.
Tensor partOf(const Tensor &x, RankedTensorType part, size_t index) {
  Tensor result(part);
  visitElements(x, [&](auto zero) {
    using T = decltype(zero);
    std::copy_n(x.elements<T>().begin() + index * result.size(), result.size(),
                result.elements<T>().begin());
  });
  return result;
}

Tensor gather(RankedTensorType type, ArrayRef<const Tensor *> ranks) {
  Tensor result(type);
  visitElements(result, [&](auto zero) {
    using T = decltype(zero);
    auto at = result.elements<T>().begin();
    for (const Tensor *rank : ranks)
      at = llvm::copy(rank->elements<T>(), at);
  });
  return result;
}

} // namespace

std::optional<std::vector<Tensor>>
evaluateCollective(Operation *op, ArrayRef<const Tensor *> ranks) {
  size_t count = ranks.size();
  if (auto all = dyn_cast<graph::AllReduceOp>(op))
    return std::vector(
        count, reduce(all.getKind(), all.getCommunicationDtype(), ranks));
  if (auto scatter = dyn_cast<graph::ReduceScatterOp>(op)) {
    if (scatter.getRanks() != count)
      return std::nullopt;
    Tensor whole =
        reduce(scatter.getKind(), scatter.getCommunicationDtype(), ranks);
    std::vector<Tensor> parts;
    for (size_t rank = 0; rank < count; ++rank)
      parts.push_back(partOf(
          whole, cast<RankedTensorType>(scatter.getY().getType()), rank));
    return parts;
  }
  if (auto all = dyn_cast<graph::AllGatherOp>(op)) {
    if (all.getRanks() != count)
      return std::nullopt;
    return std::vector(
        count, gather(cast<RankedTensorType>(all.getY().getType()), ranks));
  }
  auto broadcast = cast<graph::CollectiveBroadcastOp>(op);
  if (broadcast.getRoot() >= count)
    return std::nullopt;
  return std::vector(count, *ranks[broadcast.getRoot()]);
}

} // namespace tinh::reference
