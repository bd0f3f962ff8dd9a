//===- ContractionMatch.cpp - Recognising products --------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/Contraction/Contraction.h"

#include "dialects/graph/Graph.h"

#include "mlir/IR/Matchers.h"

#include <limits>

using namespace mlir;

namespace tinh::cuda {

bool Product::takesTensorCores(const Target &target) const {
  Type type = getElementTypeOrSelf(left.value);
  if (isOfBytes())
    return true;
  return element().isF32() &&
         (type.isF16() || type.isBF16() || target.allowTf32) &&
         getElementTypeOrSelf(right.value) == type;
}

void Product::setDigits(Pull &pull, const Loops &loops, Value linear,
                        int64_t lanes, Indices &dims) const {
  for (size_t i = loops.size(); i-- > 0;) {
    unsigned loop = loops[i];
    bool last = i + 1 == loops.size();
    Value digit = i == 0 ? linear : pull.takeDigit(linear, extents[loop]);
    dims[loop] = {digit, last && lanes > 1 ? 1 : 0, last ? lanes : 1};
  }
}

void Product::setDepth(Pull &pull, Value first, Value at, int64_t stepDepth,
                       int64_t lanes, Indices &dims) const {
  if (depth.empty() || extents[depth.back()] % stepDepth != 0)
    return setDigits(pull, depth, pull.add(first, at), lanes, dims);
  setDigits(pull, depth, first, 1, dims);
  LaneIndex &last = dims[depth.back()];
  last = {pull.add(last.base, at), lanes > 1 ? 1 : 0, lanes};
}

int64_t copyBytes(const Factor &factor) {
  int64_t size = graph::elementSize(getElementTypeOrSelf(factor.value));
  int64_t bytes = factor.width * size;
  bool lies = factor.access && factor.access->argument &&
              (size > 1 || factor.alongDepth);
  return lies && bytes >= 4 ? bytes : 0;
}

/// Sorts the loops of the depth as one of the factors has them in memory.
static void sortDepth(Product &p) {
  for (const Factor *factor : {&p.left, &p.right}) {
    if (!factor->access)
      continue;
    ArrayRef<int64_t> steps = factor->access->steps;
    if (llvm::none_of(p.depth, [&](unsigned loop) { return steps[loop] == 1; }))
      continue;
    llvm::sort(p.depth, [&](unsigned x, unsigned y) {
      return std::pair(-steps[x], x) < std::pair(-steps[y], y);
    });
    return;
  }
}

/// Sorts the rows' or the columns' loops as their factor has them in memory, if
/// only so elements lie side by side for those that load them, and not for
/// those that store the gradient of a filter. Below that depth the stores cost
/// as much (docs/benchmarks/gpu.md).
static void sortLines(Product &p, Factor &factor) {
  constexpr int64_t kLongDepth = 1024;
  if (!factor.access || factor.loops.empty() || factor.alongDepth ||
      p.hasColumnVectors(2) || p.extentOf(p.depth) < kLongDepth)
    return;
  ArrayRef<int64_t> steps = factor.access->steps;
  auto isDense = [&](unsigned loop) { return steps[loop] == 1; };
  if (isDense(factor.loops.back()) || llvm::none_of(factor.loops, isDense))
    return;
  llvm::stable_sort(factor.loops, [&](unsigned x, unsigned y) {
    return std::abs(steps[x]) > std::abs(steps[y]);
  });
}

/// Whether the first factor alone is indexed by the last of these loops: it has
/// the columns then, so that stores are contiguous along these.
static bool hasColumnsFirst(linalg::GenericOp op) {
  AffineMap output = outputMap(op);
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  for (unsigned i = output.getNumResults(); i-- > 0;) {
    unsigned loop = output.getDimPosition(i);
    if (extents[loop] == 1)
      continue;
    auto indexes = [&](unsigned input) {
      return op.getMatchingIndexingMap(op.getDpsInputOperand(input))
          .isFunctionOfDim(loop);
    };
    return indexes(0) && !indexes(1);
  }
  return false;
}

Match<Product> describeProduct(linalg::GenericOp op, unsigned right) {
  auto described = codegen::describeProduct(op, right);
  if (!described)
    return NoMatch{described.whyNot()};
  Product p{std::move(*described)};
  for (Loops *loops : {&p.left.loops, &p.right.loops, &p.batch, &p.depth})
    llvm::erase_if(*loops, [&](unsigned loop) { return p.extents[loop] == 1; });
  sortDepth(p);
  p.findVectors();
  return p;
}

Match<Product> ContractionStrategy::match(func::FuncOp kernel) {
  auto op = matchSumOfProducts(kernel, Elements::FloatsOrBytes);
  if (!op)
    return NoMatch{op.whyNot()};
  Value result = mergedResult(*op);
  if (columnsOfPanels(result))
    return NoMatch{"has results in panels"};
  AffineMap output = outputMap(*op);
  if (!output.isProjectedPermutation())
    return NoMatch{"has a result that is not indexed by single loops"};
  auto p = describeProduct(*op, /*right=*/hasColumnsFirst(*op) ? 0 : 1);
  if (!p)
    return p;
  p->result = result;
  for (Factor *factor : {&p->left, &p->right})
    sortLines(*p, *factor);
  p->findVectors();
  return p;
}

} // namespace tinh::cuda
