//===- ThreadsEmit.cpp - The strategy for every kernel ----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/Strategy.h"

#include "dialects/graph/Graph.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace tinh::cuda {

static constexpr int64_t kThreads = 256;

namespace {

/// Results of one shape, which the same threads compute.
struct ResultGroup {
  SmallVector<unsigned> results;
  SmallVector<int64_t> shape;
  int64_t width = 1; ///< Elements of a thread, along the last dimension.
  int64_t units() const { return ShapedType::getNumElements(shape) / width; }
};

} // namespace

static Value resultOf(func::FuncOp kernel, unsigned i) {
  return kernel.getBody().front().getTerminator()->getOperand(i);
}

/// Computes unit `unit` of a group.
static LogicalResult emitUnit(EmittedKernel &kernel, const ResultGroup &group,
                              OpBuilder &b, Value unit) {
  Pull pull(b, kernel.source.getLoc(), group.width);
  kernel.bindInputs(pull);
  Indices at(group.shape.size());
  for (int64_t i = group.shape.size() - 1; i >= 0; --i) {
    bool last = i + 1 == static_cast<int64_t>(group.shape.size());
    int64_t extent = group.shape[i] / (last ? group.width : 1);
    Value digit = i == 0 ? unit : pull.peel(unit, extent);
    at[i] = {digit, 0, 1};
    if (last && group.width > 1)
      at[i] = {pull.mul(digit, group.width), 1, group.width};
  }
  SmallVector<LaneValue> values;
  for (unsigned i : group.results) {
    auto value = pull.at(resultOf(kernel.source, i), at);
    if (failed(value))
      return failure();
    values.push_back(*value);
  }
  unsigned inputs = kernel.source.getNumArguments();
  for (auto [i, value] : llvm::zip_equal(group.results, values))
    if (failed(pull.store(value, kernel.operand(inputs + i), at)))
      return failure();
  return success();
}

/// Whether the code of a unit can be made with vectors of the group's width.
static bool takesVectors(func::FuncOp source, const ResultGroup &group) {
  return canEmit(source, [&](EmittedKernel &trial) {
    OpBuilder b(trial.function.getBody().front().getTerminator());
    return emitUnit(trial, group, b, trial.thread);
  });
}

static SmallVector<ResultGroup> groupResults(func::FuncOp kernel) {
  SmallVector<ResultGroup> groups;
  for (auto [i, type] : llvm::enumerate(kernel.getResultTypes())) {
    auto shape = cast<RankedTensorType>(type).getShape();
    auto known = llvm::find_if(groups, [&](const ResultGroup &group) {
      return ArrayRef(group.shape) == shape;
    });
    if (known == groups.end()) {
      groups.push_back({{}, SmallVector<int64_t>(shape)});
      known = std::prev(groups.end());
    }
    known->results.push_back(i);
  }
  int64_t width = widestVector(kernel);
  for (ResultGroup &group : groups) {
    if (group.shape.empty() || group.shape.back() % width != 0)
      continue;
    group.width = width;
    if (!takesVectors(kernel, group))
      group.width = 1;
  }
  return groups;
}

Division divideThreads(func::FuncOp kernel) {
  int64_t blocks = 0;
  for (const ResultGroup &group : groupResults(kernel))
    blocks += llvm::divideCeil(group.units(), kThreads);
  return {std::max<int64_t>(blocks, 1), kThreads};
}

LogicalResult emitThreads(EmittedKernel &kernel, const Target &) {
  OpBuilder b(kernel.function.getBody().front().getTerminator());
  Location loc = kernel.source.getLoc();
  Pull scalar(b, loc, 1);
  // Each group has whole blocks of its own.
  int64_t first = 0;
  for (const ResultGroup &group : groupResults(kernel.source)) {
    int64_t blocks = llvm::divideCeil(group.units(), kThreads);
    Value block =
        arith::SubIOp::create(b, loc, kernel.block, scalar.index(first));
    first += blocks;
    Value unit = scalar.add(scalar.mul(block, kThreads), kernel.thread);
    // One unsigned comparison: blocks of earlier groups are beyond, too.
    Value takesPart = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult,
                                            unit, scalar.index(group.units()));
    auto branch = scf::IfOp::create(b, loc, takesPart);
    OpBuilder inner = branch.getThenBodyBuilder();
    if (failed(emitUnit(kernel, group, inner, unit)))
      return failure();
  }
  return success();
}

} // namespace tinh::cuda
