//===- ContractionMatch.cpp - Recognising products --------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Contraction/Contraction.h"

#include "compiler/Codegen/CPU/Layouts/Packing.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace tinh::cpu {

/// Whether the left factor lies side by side along the last loop over k.
static bool liesAlongDepth(const Contraction &c) {
  auto along = dyn_cast<AffineDimExpr>(c.left.map.getResults().back());
  return along && along.getPosition() == c.depth.back();
}

/// Whether bytes lie as instructions multiply them.
static Match<Contraction> checkBytes(const Contraction &c) {
  if (!liesAlongDepth(c))
    return NoMatch{"has a left factor of bytes that do not lie side by side "
                   "along what is summed over"};
  linalg::GenericOp op = c.op;
  unsigned right = op.getDpsInputs()[1] == c.right.value;
  if (!isUnsignedInput(op, 1 - right) || isUnsignedInput(op, right))
    return NoMatch{"does not multiply unsigned by signed bytes"};
  return c;
}

/// Whether instructions that take pairs of bf16 can multiply the factors.
static bool hasPairs(const Contraction &c) {
  return c.element().isF32() && !c.quantized && liesAlongDepth(c) &&
         getElementTypeOrSelf(c.left.value).isBF16() &&
         getElementTypeOrSelf(c.right.value).isBF16();
}

int64_t groupOfPanels(const Contraction &c, const Target &target) {
  if (c.isOfBytes())
    return c.group();
  return target.paysBf16Pairs() && hasPairs(c) ? 2 : 1;
}

/// The contraction that a product is, with its right factor as the weights.
static Match<Contraction> assignRoles(Product product) {
  Contraction c;
  static_cast<Product &>(c) = std::move(product);
  if (c.output.getNumResults() < 2 ||
      !c.right.map.isProjectedPermutation(/*allowZeroInResults=*/true))
    return NoMatch{"has no matrix of results, or a right factor that is a "
                   "window"};
  unsigned last = c.output.getDimPosition(c.output.getNumResults() - 1);
  if (c.right.loops.empty() || c.column() != last)
    return NoMatch{"has a last dimension that is not the right factor's alone"};
  if (c.right.loops.size() > 1)
    return NoMatch{"has two dimensions of results that are the right factor's "
                   "alone"};
  if (c.left.loops.empty())
    return NoMatch{"has no rows"};
  // Rows of a tile lie along the last of these: one that has some.
  unsigned lastRow = c.left.loops.back();
  llvm::erase_if(c.left.loops,
                 [&](unsigned loop) { return c.extents[loop] == 1; });
  if (c.left.loops.empty())
    c.left.loops = {lastRow};
  for (unsigned loop : c.depth)
    if (!c.right.map.isFunctionOfDim(loop) || !c.left.map.isFunctionOfDim(loop))
      return NoMatch{"sums over a dimension that one factor has not"};
  return c.isOfBytes() ? checkBytes(c) : c;
}

/// Whether the weights of `c` are what its packed operand, in `layout`, holds.
static bool unpacksOperand(const Contraction &c, PanelsAttr layout) {
  Value value = c.quantized ? c.quantized->bytes : c.right.value;
  PanelsAttr wanted = c.quantized ? c.quantized->panels(layout.getWidth())
                                  : panelsOf(c, layout.getWidth(), c.group());
  while (Operation *op = value.getDefiningOp()) {
    if (op->getNumOperands() == 0)
      return false;
    value = op->getOperand(0);
  }
  return cast<BlockArgument>(value).getArgNumber() == *c.packed &&
         c.right.map.isProjectedPermutation() && wanted == layout;
}

/// Whether operand `i` of `kernel` can have the order of the panels' groups.
static bool isOrderOf(const Contraction &c, func::FuncOp kernel, unsigned i) {
  if (!c.packed || !c.isOfBytes() || c.groupOrder)
    return false;
  int64_t panels = llvm::divideCeil(c.columns(), c.packedWidth);
  int64_t shape[] = {c.extentOf(c.batch) * panels, c.orderLength()};
  return kernel.getArgument(i).getType() ==
         RankedTensorType::get(shape,
                               IntegerType::get(kernel.getContext(), 16));
}

Match<Contraction> ContractionStrategy::match(func::FuncOp kernel) {
  Match<Contraction> c = matchProducts<Contraction>(kernel, 1, assignRoles,
                                                    Elements::FloatsOrBytes);
  for (unsigned i = 0; c && i < kernel.getNumArguments(); ++i) {
    auto layout = kernel.getArgAttrOfType<PanelsAttr>(i, names::kLayout);
    if (!layout)
      continue;
    c->packed = i;
    c->packedWidth = layout.getWidth();
    c->quantized = findQuantizedWeights(*c);
    if (layout.getGroup() == 2 && hasPairs(*c))
      c->packedGroup = 2;
    if (!unpacksOperand(*c, layout))
      return NoMatch{"does not read its packed operand as weights"};
  }
  for (unsigned i = 0; c && i < kernel.getNumArguments(); ++i) {
    if (!kernel.getArgAttr(i, names::kGroupOrder))
      continue;
    if (!isOrderOf(*c, kernel, i))
      return NoMatch{"has an order of groups that is not the only one, of no "
                     "panels of bytes, or without a line of all groups for "
                     "each of these"};
    c->groupOrder = i;
  }
  return c;
}

Match<Contraction> matchContractionStage(linalg::GenericOp op) {
  if (op.getNumReductionLoops() == 0 || !isSumOfProducts(op))
    return NoMatch{"is no sum of products"};
  for (unsigned right : {1u, 0u}) {
    auto product = describeProduct(op, right);
    auto c = product ? assignRoles(std::move(*product))
                     : Match<Contraction>(NoMatch{product.whyNot()});
    if (!c || c->left.loops.size() > 2 || c->columns() < 8 ||
        c->rowsOfLine() < 8)
      continue;
    // The rows have to follow the batch dimensions.
    bool ordered = true;
    for (unsigned i = 0; i < c->batch.size(); ++i)
      ordered &= c->output.getDimPosition(i) == c->batch[i];
    if (ordered)
      return c;
  }
  return NoMatch{"has too few rows or columns for tiles"};
}

} // namespace tinh::cpu
