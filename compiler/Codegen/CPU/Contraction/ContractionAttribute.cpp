//===- ContractionAttribute.cpp - Plans of products as attributes ---------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A plan is written as an attribute, which anybody may have edited: what is
// read from one is checked against the product and the CPU.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Contraction/AmxTile.h"
#include "compiler/Codegen/CPU/Contraction/Contraction.h"

using namespace mlir;

namespace tinh::cpu {

ContractionPlanAttr ContractionPlan::attribute(MLIRContext *context) const {
  auto list = [&](ArrayRef<int64_t> numbers) {
    return DenseI64ArrayAttr::get(context, numbers);
  };
  return ContractionPlanAttr::get(
      context, list({tileRows * tileLines, panelWidth}),
      list({linesPerBlock, tilesPerBlock, panelsPerGroup}), depthPerBlock, left,
      right, multiplier);
}

/// Whether both factors can be found where the plan says.
static LogicalResult checkAccess(const Contraction &c, const ContractionPlan &p,
                                 EmitError emitError) {
  if (p.left == LeftAccess::InPlace && !isInPlace(c, c.left))
    return emitError() << "'left' must be staged, as the left factor is "
                          "computed, padded or of another type, found in_place";
  if (p.right == RightAccess::InPlace && !hasVectorsInPlace(c))
    return emitError() << "'right' must be copied, as the right factor has no "
                          "vectors along the columns, found in_place";
  if (p.right != RightAccess::Packed && c.group() > 1)
    return emitError() << "'right' must be packed, as the factors are "
                          "multiplied in groups";
  if (p.right != RightAccess::Packed && !c.isUnpacked())
    return success();
  if (!c.packed)
    return emitError() << "'right' must be copied or in_place, as no operand "
                          "of the kernel is packed, found packed";
  return checkNumbers(emitError, {{"columns of tile", p.panelWidth,
                                   within(c.packedWidth, c.packedWidth)}});
}

static LogicalResult checkAmx(const Contraction &c, const ContractionPlan &p,
                              EmitError emitError) {
  if (c.group() == 1)
    return emitError() << "'multiplier' must be vectors, as tiles multiply "
                          "groups of four bytes, found amx";
  if (failed(checkNumbers(emitError, {{"columns of tile", p.panelWidth,
                                       within(kAmxColumns, 2 * kAmxColumns)}})))
    return failure();
  AmxBlock block;
  block.rows = p.tileRows;
  block.lines = p.tileLines;
  int64_t depth = c.extents[c.depth.front()], most = mostRowTiles(p);
  if (block.rowTiles() > most)
    return emitError() << "the rows of the tile must fit into " << most
                       << " tiles of " << kAmxRows << " rows of one line, "
                       << "found " << p.tileRows * p.tileLines << " rows";
  return checkNumbers(emitError,
                      {{"depth", p.depthPerBlock, within(depth, depth)}});
}

static LogicalResult checkPlan(const Contraction &c, const ContractionPlan &p,
                               EmitError emitError) {
  auto blocks = [](int64_t extent, int64_t each) {
    return static_cast<int64_t>(llvm::divideCeil(extent, each));
  };
  int64_t rows = c.rowsOfLine(), depth = c.extents[c.depth.front()];
  if (failed(checkNumbers(
          emitError, {{"rows of tile", p.tileRows, within(1, rows)},
                      {"lines of block", p.linesPerBlock, within(1, c.lines())},
                      {"tiles of block", p.tilesPerBlock,
                       within(1, blocks(rows, p.tileRows))},
                      {"panels of block", p.panelsPerGroup,
                       within(1, blocks(c.columns(), p.panelWidth))},
                      {"depth", p.depthPerBlock, within(1, depth)}})))
    return failure();
  bool cutsGroups = c.depth.size() == 1 && p.depthPerBlock < depth;
  if (cutsGroups &&
      failed(checkNumbers(emitError, {{"depth", p.depthPerBlock,
                                       graph::multipleOf(c.stepsTogether())}})))
    return failure();
  if (failed(checkAccess(c, p, emitError)))
    return failure();
  return p.usesAmx() ? checkAmx(c, p, emitError) : success();
}

FailureOr<ContractionPlan> expandPlan(const Contraction &c,
                                      ContractionPlanAttr plan,
                                      EmitError emitError,
                                      int64_t scratchOffset) {
  ContractionPlan p;
  p.multiplier = plan.getMultiplier();
  p.tileRows = plan.getTileRows();
  int64_t line = c.rowsOfLine();
  if (p.usesAmx() && p.tileRows > line) {
    if (failed(checkNumbers(
            emitError,
            {{"rows of tile", p.tileRows, graph::multipleOf(line)},
             {"rows of tile", p.tileRows, within(1, line * c.lines())}})))
      return failure();
    p.tileLines = p.tileRows / line;
    p.tileRows = line;
  }
  p.panelWidth = plan.getTileColumns();
  p.linesPerBlock = plan.getLinesPerBlock();
  p.tilesPerBlock = plan.getTilesPerBlock();
  p.panelsPerGroup = plan.getPanelsPerBlock();
  p.depthPerBlock = plan.getDepth();
  p.left = plan.getLeft();
  p.right = plan.getRight();
  if (failed(checkPlan(c, p, emitError)))
    return failure();
  divide(c, p, scratchOffset);
  return p;
}

FailureOr<ContractionPlan>
ContractionStrategy::expand(const Contraction &c, ContractionPlanAttr attribute,
                            const Target &target, EmitError emitError) {
  auto plan = expandPlan(c, attribute, emitError);
  int64_t lanes = c.lanes(target);
  if (failed(plan) ||
      failed(checkColumns(c, plan->panelWidth, target, emitError)))
    return failure();
  if (plan->usesAmx() && !hasTilesFor(c, target))
    return emitError() << "'multiplier' must be vectors, as " << target.name
                       << " has no tiles for "
                       << (c.isOfBytes() ? "bytes" : "bf16") << ", found amx";
  bool extends = c.extendsBytes(target) && !plan->usesAmx();
  if (extends != (plan->left == LeftAccess::Extended))
    return emitError() << "'left' must " << (extends ? "" : "not ")
                       << "be extended, as " << target.name << " has "
                       << (extends ? "no instruction" : "instructions")
                       << " for the factors, found "
                       << stringifyLeftAccess(plan->left);
  if (c.groupOrder && !extends)
    return emitError() << "no operand must have '" << names::kGroupOrder
                       << "', as " << target.name
                       << " has instructions for bytes";
  if (c.groupOrder && plan->depthPerBlock != c.extents[c.depth.front()])
    return emitError() << "'depth' must be " << c.extents[c.depth.front()]
                       << ", as an operand has '" << names::kGroupOrder
                       << "', found " << plan->depthPerBlock;
  if (c.group() == 2 && !target.hasBf16Dots())
    return emitError() << "panels must be without 'group', as " << target.name
                       << " multiplies no pairs of bf16, found group = 2";
  if (!hasVectors(c, *plan, lanes))
    return emitError() << "some element is not found at a step from its "
                          "neighbour, so that there are no vectors";
  return plan;
}

FailureOr<ContractionPlan> expandStagePlan(const Contraction &c,
                                           ContractionPlanAttr plan,
                                           int64_t rows, int64_t scratchOffset,
                                           EmitError emitError) {
  auto p = expandPlan(c, plan, emitError, scratchOffset);
  if (failed(p))
    return failure();
  bool hasRows = rows == c.rowsOfLine()
                     ? p->tilesPerBlock == p->tiles
                     : p->tilesPerBlock * p->tileRows == rows;
  bool isWhole = p->linesPerBlock == p->lines && hasRows &&
                 p->panelsPerGroup == p->panels &&
                 p->depthPerBlock == c.extents[c.depth.front()];
  if (!isWhole || p->left != LeftAccess::Staged ||
      p->right != RightAccess::Copied)
    return emitError() << "product " << plan << " within rows must be of "
                       << rows << " rows, all columns and all of the depth, "
                       << "staged and copied";
  return p;
}

} // namespace tinh::cpu
