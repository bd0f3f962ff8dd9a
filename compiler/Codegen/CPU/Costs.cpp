//===- Costs.cpp - What parts of kernels cost -------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Costs.h"

#include "compiler/Codegen/CPU/Math/MathFunctions.h"
#include "compiler/Codegen/Kernel/Analysis.h"
#include "compiler/Codegen/Kernel/Work.h"
#include "dialects/graph/Graph.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tinh::cpu {

double dispatchCycles(const Target &target, int64_t chunks) {
  // A call with its operands' addresses.
  constexpr double kCall = 100;
  return chunks * kCall + target.machine->barrierCycles;
}

double trafficCycles(func::FuncOp kernel, const Target &target) {
  double total = codegen::operandBytes(kernel), cycles = 0;
  for (Type type : kernel.getArgumentTypes())
    cycles += target.machine->readCycles(graph::tensorSize(type), total);
  // A line that is written is read before.
  for (Type type : kernel.getResultTypes())
    cycles += 2 * target.machine->readCycles(graph::tensorSize(type), total);
  return cycles;
}

/// Of the dialect math, what is no call of a function.
static bool isInstruction(Operation &op) {
  return !isa_and_present<math::MathDialect>(op.getDialect()) ||
         !isa<arith::ArithFastMathInterface>(op) ||
         isa<math::AbsFOp, math::CeilOp, math::CopySignOp, math::FloorOp,
             math::FmaOp, math::IsFiniteOp, math::IsInfOp, math::IsNaNOp,
             math::RoundEvenOp, math::RoundOp, math::RsqrtOp, math::SqrtOp,
             math::TruncOp>(op);
}

/// Vector instructions that an operation of a body becomes, about.
static double instructions(Operation &op) {
  // Where a loop is follows from its counter, not for each lane.
  if (op.getNumResults() == 1 && op.getResult(0).getType().isIndex())
    return 0;
  if (!isInstruction(op))
    return functionInstructions(&op);
  return llvm::TypeSwitch<Operation *, double>(&op)
      .Case<arith::DivFOp, math::SqrtOp, math::RsqrtOp>([](auto) { return 8; })
      // With what keeps NaN.
      .Case<arith::MaximumFOp, arith::MinimumFOp>([](auto) { return 3; })
      .Case<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp>(
          [](auto) { return 40; })
      .Case<arith::ConstantOp, linalg::YieldOp, arith::IndexCastOp>(
          [](auto) { return 0; })
      // One element after the other.
      .Case([](tensor::ExtractOp) { return 16; })
      .Default([](Operation *) { return 1; });
}

/// Whether the product is added to something by the same instruction: of two
/// that are added to each other, one is.
static bool isPartOfFma(Operation &op) {
  if (!isa<arith::MulFOp>(op) || !op.hasOneUse() ||
      !isa<arith::AddFOp, arith::SubFOp>(*op.user_begin()))
    return false;
  Operation *first = op.user_begin()->getOperand(0).getDefiningOp();
  return first == &op || !isa_and_nonnull<arith::MulFOp>(first) ||
         !first->hasOneUse();
}

double bodyCycles(linalg::GenericOp op, const Target &target) {
  double count = 0;
  for (Operation &inner : *op.getBody())
    if (!isPartOfFma(inner))
      count += instructions(inner);
  return count / target.machine->fmasPerCycle;
}

double wideningCycles(linalg::GenericOp op, OpOperand *operand,
                      const Target &target) {
  BlockArgument argument = op.getMatchingBlockArgument(operand);
  int64_t count = llvm::count_if(argument.getUsers(), [](Operation *user) {
    return isa<arith::ExtFOp>(user);
  });
  return count / target.machine->fmasPerCycle;
}

/// Whether neighbours in the loop over dimension `along` of the results are
/// neighbours, or the same, in an operand.
static bool isContiguous(AffineMap map, AffineExpr along) {
  for (auto [i, expr] : llvm::enumerate(map.getResults()))
    if (expr.isFunctionOfDim(cast<AffineDimExpr>(along).getPosition()) &&
        i + 1 < map.getNumResults())
      return false;
  return true;
}

/// The loop that vectors lie along; nothing if the results are one element.
static std::optional<unsigned> laneLoop(linalg::GenericOp op,
                                        const ElementLoops &loops) {
  if (loops.alongReduced.contains(op)) {
    SmallVector<unsigned> reduced;
    op.getReductionDims(reduced);
    return reduced.back();
  }
  AffineMap output = codegen::outputMap(op);
  if (output.getNumResults() == 0)
    return std::nullopt;
  int64_t last = output.getNumResults() - 1;
  auto dim = dyn_cast<AffineDimExpr>(
      output.getResult(loops.along < 0 ? last : std::min(loops.along, last)));
  return dim ? std::optional(dim.getPosition()) : std::nullopt;
}

/// Values that are computed from sums which are in registers, with them.
using Registers = llvm::DenseSet<Value>;

/// To load what one step of the body reads, for a vector, and to store.
static double accessCycles(linalg::GenericOp op, unsigned lane,
                           const ElementLoops &loops,
                           const Registers &registers, const Target &target) {
  AffineExpr dim = getAffineDimExpr(lane, op.getContext());
  auto each = [&](OpOperand *operand, double perCycle) -> double {
    bool together = isContiguous(op.getMatchingIndexingMap(operand), dim);
    return together ? 1 / perCycle : loops.lanes; // Else one after the other.
  };
  double cycles = 0;
  for (OpOperand *input : op.getDpsInputOperands())
    if (!registers.contains(input->get()))
      cycles += each(input, target.machine->loadsPerCycle);
  if (op.getNumReductionLoops() == 0 && !registers.contains(op.getResult(0)))
    cycles += each(op.getDpsInitOperand(0), target.machine->storesPerCycle);
  return cycles;
}

static double genericCycles(linalg::GenericOp op, const ElementLoops &loops,
                            const Registers &registers, const Target &target) {
  // Where the next element is found, and whether it is padding: in a reduction,
  // for each element that it reads.
  constexpr double kPull = 0.5, kReducedPull = 1.5;
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  double steps = ShapedType::getNumElements(extents);
  if (steps == 0)
    return 0;
  double each = bodyCycles(op, target), lanes = 1;
  if (auto lane = laneLoop(op, loops); lane && loops.lanes > 1) {
    each = std::max(each, accessCycles(op, *lane, loops, registers, target));
    lanes =
        extents[*lane] / double(llvm::divideCeil(extents[*lane], loops.lanes));
  }
  if (registers.contains(op.getResult(0)))
    return steps * each / lanes;
  if (op.getNumReductionLoops() == 0)
    return steps * (each + kPull) / lanes;
  double latency = target.machine->fmaLatency / double(loops.registers);
  return steps * (std::max(each, latency) + kReducedPull) / lanes;
}

double elementwiseCycles(func::FuncOp kernel,
                         const llvm::DenseSet<Operation *> &except,
                         const ElementLoops &loops, const Target &target) {
  double cycles = 0;
  Registers registers;
  for (Operation &op : kernel.getOps()) {
    auto generic = dyn_cast<linalg::GenericOp>(op);
    bool isReduction = generic && generic.getNumReductionLoops() != 0;
    bool follows = llvm::any_of(op.getOperands(),
                                [&](Value x) { return registers.contains(x); });
    if (loops.followsInRegisters &&
        (except.contains(&op) || (follows && !isReduction)))
      registers.insert_range(op.getResults());
    if (generic && !except.contains(&op))
      cycles += genericCycles(generic, loops, registers, target);
  }
  return cycles;
}

double tileCycles(double tiles, int64_t rows, int64_t vectors, double depth,
                  const Target &target) {
  const Machine &machine = *target.machine;
  double fmas = rows * vectors / machine.fmasPerCycle;
  double loads = (rows + vectors) / machine.loadsPerCycle;
  // Sums that are too few wait for one another.
  double least = machine.fmaLatency;
  double step = std::max({fmas, loads, least});
  // The first and the last steps overlap with nothing; sums are stored.
  double ends =
      2 * machine.fmaLatency + rows * vectors / machine.storesPerCycle;
  return tiles * (depth * step + ends);
}

} // namespace tinh::cpu
