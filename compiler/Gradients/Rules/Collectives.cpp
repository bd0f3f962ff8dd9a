//===- Collectives.cpp - Gradients of what ranks compute together ---------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is differentiated is the sum of all ranks' losses, as PyTorch's
// torch.distributed.nn.functional has it. A broadcast has no rule: its root
// alone has a gradient.
//
//===----------------------------------------------------------------------===//
#include "compiler/Gradients/Rules/Rule.h"

using namespace mlir;

namespace tinh::gradients {

using graph::ReduceKind;

static NamedAttribute kindAttribute(GraphOps &ops, ReduceKind kind) {
  return ops.attr("kind",
                  graph::ReduceKindAttr::get(ops.graph.context(), kind));
}

static Value allReduce(GraphOps &ops, ReduceKind kind, Value x,
                       std::optional<Type> communicationDtype = {}) {
  SmallVector<NamedAttribute> attributes = {kindAttribute(ops, kind)};
  if (communicationDtype)
    attributes.push_back(
        ops.attr("communication_dtype", TypeAttr::get(*communicationDtype)));
  return ops.create<graph::AllReduceOp>({x}, attributes);
}

/// Of a maximum, those that are as large share the gradient.
static void differentiateAllReduce(Vjp<graph::AllReduceOp> &vjp) {
  vjp.give(0, [&] {
    GraphOps &ops = vjp.ops;
    ReduceKind kind = vjp.op.getKind();
    if (kind != ReduceKind::Max)
      return allReduce(ops, kind, vjp.dy(), vjp.op.getCommunicationDtype());
    Value x = vjp.op.getX();
    Value isLargest = ops.compare(graph::ComparePredicate::Equal, x, vjp.y());
    Value count = allReduce(ops, ReduceKind::Sum,
                            ops.cast(isLargest, GraphOps::element(x)));
    Value dy = allReduce(ops, ReduceKind::Sum, vjp.dy());
    return ops.where(isLargest, ops.div(dy, count), ops.scalarLike(x, 0));
  });
}

static Value allGather(GraphOps &ops, Value x, int64_t ranks) {
  return ops.create<graph::AllGatherOp>({x}, {ops.attr("ranks", ranks)});
}

static void differentiateReduceScatter(Vjp<graph::ReduceScatterOp> &vjp) {
  vjp.give(0, [&] {
    GraphOps &ops = vjp.ops;
    auto ranks = static_cast<int64_t>(vjp.op.getRanks());
    if (vjp.op.getKind() == ReduceKind::Max)
      return ops.fail("a maximum over ranks of which each has a part is not "
                      "differentiated; graph.all_reduce is");
    Value dx = allGather(ops, vjp.dy(), ranks);
    return vjp.op.getKind() == ReduceKind::Sum || !dx
               ? dx
               : ops.mul(dx, ops.scalarLike(dx, 1.0 / ranks));
  });
}

static void differentiateAllGather(Vjp<graph::AllGatherOp> &vjp) {
  vjp.give(0, [&] {
    GraphOps &ops = vjp.ops;
    auto ranks = static_cast<int64_t>(vjp.op.getRanks());
    return ops.create<graph::ReduceScatterOp>(
        {vjp.dy()},
        {kindAttribute(ops, ReduceKind::Sum), ops.attr("ranks", ranks)});
  });
}

void attachCollectiveRules(MLIRContext *context) {
  attachRules<differentiateAllReduce, differentiateReduceScatter,
              differentiateAllGather>(context);
}

} // namespace tinh::gradients
