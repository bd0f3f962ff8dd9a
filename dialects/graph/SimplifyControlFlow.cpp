//===- SimplifyControlFlow.cpp - Branches and loops that do less *- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The canonical forms of the ops with regions.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/Graph.h"

#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace tinh::graph;

/// The value of a boolean that is constant.
static std::optional<bool> constantCondition(Value condition) {
  DenseIntElementsAttr elements;
  if (!condition || !matchPattern(condition, m_Constant(&elements)))
    return std::nullopt;
  return elements.getSplatValue<bool>();
}

/// Puts the ops of a region with one block before `op`, with `arguments` for
/// the block's, and replaces the op by `results` of the terminator's operands.
static void inlineRegion(PatternRewriter &rewriter, Operation *op,
                         Region &region, ValueRange arguments = {}) {
  Block &block = region.front();
  Operation *terminator = block.getTerminator();
  ValueRange results = terminator->getOperands();
  rewriter.inlineBlockBefore(&block, op, arguments);
  rewriter.replaceOp(op, results);
  rewriter.eraseOp(terminator);
}

//===----------------------------------------------------------------------===//
// if
//===----------------------------------------------------------------------===//

static LogicalResult chooseBranch(IfOp op, PatternRewriter &rewriter) {
  std::optional<bool> condition = constantCondition(op.getCondition());
  if (!condition)
    return failure();
  inlineRegion(rewriter, op,
               *condition ? op.getThenBranch() : op.getElseBranch());
  return success();
}

void IfOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                       MLIRContext *) {
  patterns.add(chooseBranch);
}

//===----------------------------------------------------------------------===//
// while
//===----------------------------------------------------------------------===//

/// A loop whose condition is false from the start.
static LogicalResult dropLoop(WhileOp op, PatternRewriter &rewriter) {
  std::optional<bool> condition =
      constantCondition(op.getConditionOp().getCondition());
  if (!condition || *condition)
    return failure();
  rewriter.replaceOp(op, op.getInitial());
  return success();
}

void WhileOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                          MLIRContext *) {
  patterns.add(dropLoop);
}

//===----------------------------------------------------------------------===//
// scan
//===----------------------------------------------------------------------===//

void ScanOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                         MLIRContext *) {}
