//===- Split.cpp - A kernel as several, one after the other -----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/Kernel/Split.h"

#include "compiler/Codegen/Kernel/Analysis.h"
#include "compiler/Codegen/Kernel/Conversions.h"
#include "compiler/Codegen/Kernel/Forms/Scan.h"
#include "compiler/Codegen/Kernel/Pull.h"
#include "compiler/Codegen/Kernel/Rewrites.h"
#include "compiler/Codegen/Kernel/Stages.h"
#include "dialects/graph/Strides.h"
#include "dialects/origin/Origin.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace tinh::codegen {

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

llvm::DenseSet<Operation *> dependencies(Operation *stage) {
  llvm::DenseSet<Operation *> found;
  SmallVector<Operation *> worklist{stage};
  while (!worklist.empty()) {
    Operation *op = worklist.pop_back_val();
    if (!found.insert(op).second)
      continue;
    op->walk([&](Operation *nested) {
      for (Value operand : nested->getOperands())
        if (Operation *source = operand.getDefiningOp();
            source && source->getBlock() == stage->getBlock())
          worklist.push_back(source);
    });
  }
  return found;
}

SmallVector<Value> handedOver(linalg::GenericOp stage) {
  SmallVector<Value> values;
  for (Value result : stage.getResults())
    if (!result.use_empty())
      values.push_back(result);
  while (values.size() == 1 && values[0].hasOneUse()) {
    OpOperand &use = *values[0].use_begin();
    auto next = dyn_cast<linalg::GenericOp>(use.getOwner());
    if (!next || next.getNumReductionLoops() > 0 ||
        next.getNumDpsInputs() != 1 || next.getNumResults() != 1 ||
        !next.getMatchingIndexingMap(&use).isIdentity() ||
        !outputMap(next).isIdentity())
      break;
    values[0] = next.getResult(0);
  }
  auto isReturned = [](Value value) {
    return llvm::any_of(value.getUsers(), llvm::IsaPred<func::ReturnOp>);
  };
  if (llvm::any_of(values, isReturned))
    values.clear();
  return values;
}

int64_t largestValue(func::FuncOp kernel, Operation *without) {
  llvm::DenseSet<Operation *> others;
  if (without)
    others = dependencies(without);
  int64_t most = 0;
  for (auto op : kernel.getOps<linalg::GenericOp>()) {
    int64_t elements = 1;
    for (int64_t extent : op.getStaticLoopRanges())
      elements *= extent;
    if (!others.contains(op))
      most = std::max(most, elements);
  }
  return most;
}

func::FuncOp outlineStage(func::FuncOp kernel, StringRef suffix,
                          ValueRange results,
                          SmallVectorImpl<unsigned> &inputs) {
  llvm::DenseSet<Operation *> ops = dependencies(results[0].getDefiningOp());
  auto isRead = [&](BlockArgument argument) {
    return llvm::any_of(argument.getUsers(), [&](Operation *user) {
      return ops.contains(
          kernel.getBody().front().findAncestorOpInBlock(*user));
    });
  };
  SmallVector<Type> types;
  for (BlockArgument argument : kernel.getArguments())
    if (isRead(argument)) {
      inputs.push_back(argument.getArgNumber());
      types.push_back(argument.getType());
    }
  OpBuilder b(kernel.getContext());
  auto stage = func::FuncOp::create(
      b, results[0].getLoc(), (kernel.getName() + suffix).str(),
      b.getFunctionType(types, results.getTypes()));
  stage.setPrivate();
  if (Attribute device = kernel->getAttr(graph::names::kDevice))
    stage->setAttr(graph::names::kDevice, device);
  b.setInsertionPointToStart(stage.addEntryBlock());
  IRMapping mapping;
  for (auto [i, input] : llvm::enumerate(inputs)) {
    mapping.map(kernel.getArgument(input), stage.getArgument(i));
    if (Attribute strides = kernel.getArgAttr(input, graph::names::kStrides))
      stage.setArgAttr(i, graph::names::kStrides, strides);
  }
  for (Operation &op : kernel.getBody().front())
    if (ops.contains(&op))
      b.clone(op, mapping);
  func::ReturnOp::create(b, stage.getLoc(),
                         llvm::map_to_vector(results, [&](Value value) {
                           return mapping.lookup(value);
                         }));
  return stage;
}

/// Removes what nobody reads from `kernel`, and from what `dispatch` passes.
static void eraseUnused(func::FuncOp kernel, graph::DispatchOp dispatch) {
  eraseDead(kernel.getBody().front());
  for (unsigned i = kernel.getNumArguments(); i-- > 0;)
    if (kernel.getArgument(i).use_empty()) {
      (void)kernel.eraseArgument(i);
      dispatch.getInputsMutable().erase(i);
    }
}

graph::DispatchOp dispatchStage(DispatchedKernel dispatched, StringRef suffix,
                                ValueRange values) {
  auto [symbols, kernel, dispatch] = dispatched;
  // In several kernels, parts of attention are products and a softmax like
  // others.
  for (auto op : kernel.getOps<linalg::GenericOp>())
    if (op->hasAttrOfType<origin::AttentionAttr>(origin::kOp))
      op->removeAttr(origin::kOp);
  SmallVector<unsigned> inputs;
  func::FuncOp stage = outlineStage(kernel, suffix, values, inputs);
  symbols.insert(stage, kernel->getIterator());
  OpBuilder b(dispatch);
  auto operands = llvm::map_to_vector(inputs, [&](unsigned input) {
    return Value(dispatch.getInputs()[input]);
  });
  auto computed = graph::DispatchOp::create(
      b, dispatch.getLoc(), stage.getResultTypes(), stage.getName(), operands);
  if (llvm::all_of(operands, isOfConstants))
    stage->removeAttr(graph::names::kDevice); // @init is the CPU's.
  for (auto [value, result] : llvm::zip_equal(values, computed.getResults())) {
    unsigned number = kernel.getNumArguments();
    (void)kernel.insertArgument(number, value.getType(), {}, value.getLoc());
    Value(value).replaceAllUsesWith(kernel.getArgument(number));
    dispatch.getInputsMutable().append(result);
  }
  eraseUnused(kernel, dispatch);
  return computed;
}

graph::DispatchOp splitStage(DispatchedKernel dispatched,
                             ArrayRef<linalg::GenericOp> stages,
                             function_ref<bool(ValueRange)> isWorth) {
  for (linalg::GenericOp stage : stages) {
    SmallVector<Value> values = handedOver(stage);
    if (!values.empty() && isWorth(values))
      return dispatchStage(dispatched, "_stage", values);
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Parts of reductions
//===----------------------------------------------------------------------===//

/// The dimension of an operand that the loop alone indexes.
static std::optional<unsigned> dimensionOf(AffineMap map, unsigned loop) {
  return map.getResultPosition(getAffineDimExpr(loop, map.getContext()));
}

/// Whether `loop` can be two: it alone indexes a dimension of each operand that
/// it indexes at all.
static bool isDivisible(linalg::GenericOp op, unsigned loop) {
  return llvm::all_of(op.getDpsInputOperands(), [&](OpOperand *operand) {
    AffineMap map = op.getMatchingIndexingMap(operand);
    return !map.isFunctionOfDim(loop) || dimensionOf(map, loop);
  });
}

/// The least number that divides `extent` and gives `wanted` parts; else the
/// largest one up to `most`.
static int64_t countParts(int64_t extent, int64_t wanted, int64_t most) {
  int64_t best = 1;
  for (int64_t parts = 2; parts <= std::min(extent, most) && best < wanted;
       ++parts)
    if (extent % parts == 0)
      best = parts;
  return best;
}

/// What `op` gives for each part of `loop`: the parts are the first dimension.
static Value reduceParts(OpBuilder &b, linalg::GenericOp op, unsigned loop,
                         int64_t parts, TypedAttr neutral) {
  Location loc = op.getLoc();
  unsigned loops = op.getNumLoops() + 1;
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  auto addMap = [&](AffineMap map, std::optional<unsigned> at) {
    SmallVector<AffineExpr> exprs(map.shiftDims(1).getResults());
    if (at)
      exprs.insert(exprs.begin() + *at, b.getAffineDimExpr(0));
    maps.push_back(AffineMap::get(loops, 0, exprs, b.getContext()));
  };
  for (OpOperand *operand : op.getDpsInputOperands()) {
    AffineMap map = op.getMatchingIndexingMap(operand);
    std::optional<unsigned> dim = dimensionOf(map, loop);
    addMap(map, dim);
    inputs.push_back(dim ? divideDimension(b, loc, operand->get(), *dim, parts)
                         : operand->get());
  }
  addMap(outputMap(op), 0);
  SmallVector<utils::IteratorType> iterators = op.getIteratorTypesArray();
  iterators.insert(iterators.begin(), utils::IteratorType::parallel);

  auto type = cast<RankedTensorType>(op.getResult(0).getType());
  SmallVector<int64_t> shape(type.getShape());
  shape.insert(shape.begin(), parts);
  Value start = arith::ConstantOp::create(b, loc, neutral);
  Value empty = tensor::EmptyOp::create(b, loc, shape, type.getElementType());
  Value init =
      linalg::FillOp::create(b, loc, ValueRange(start), ValueRange(empty))
          .getResult(0);
  return cloneBody(b, op, inputs, init, maps, iterators);
}

/// Combines `parts` along their first dimension as `op` combines elements.
static Value combineParts(OpBuilder &b, linalg::GenericOp op, Value parts) {
  Value init = op.getDpsInits()[0];
  auto type = cast<RankedTensorType>(init.getType());
  unsigned rank = type.getRank();
  SmallVector<AffineExpr> exprs;
  for (unsigned dim = 0; dim < rank; ++dim)
    exprs.push_back(b.getAffineDimExpr(dim));
  AffineMap output = AffineMap::get(rank + 1, 0, exprs, b.getContext());
  exprs.insert(exprs.begin(), b.getAffineDimExpr(rank));
  AffineMap maps[] = {AffineMap::get(rank + 1, 0, exprs, b.getContext()),
                      output};
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::parallel);
  iterators.push_back(utils::IteratorType::reduction);
  Operation *combiner =
      op.getBody()->getTerminator()->getOperand(0).getDefiningOp();
  return linalg::GenericOp::create(
             b, op.getLoc(), type, parts, init, maps, iterators,
             [&](OpBuilder &b, Location loc, ValueRange arguments) {
               Operation *combined = b.clone(*combiner);
               combined->setOperands({arguments[1], arguments[0]});
               linalg::YieldOp::create(b, loc, combined->getResults());
             })
      .getResult(0);
}

namespace {
struct DividedLoop {
  unsigned loop;
  int64_t parts;
};
} // namespace

static DividedLoop chooseLoop(linalg::GenericOp op, ArrayRef<unsigned> loops,
                              const Parts &parts) {
  DividedLoop best{0, 1};
  int64_t most = reducedElements(op) / parts.leastReduced;
  for (unsigned loop : loops) {
    int64_t extent = op.getStaticLoopRanges()[loop];
    int64_t found = countParts(extent, parts.wanted, most);
    if (found <= best.parts || !isDivisible(op, loop))
      continue;
    best = {loop, found};
    if (parts.ofFirstLoop)
      break;
  }
  return best;
}

int64_t countParts(linalg::GenericOp op, ArrayRef<unsigned> loops,
                   const Parts &parts) {
  return chooseLoop(op, loops, parts).parts;
}

graph::DispatchOp dispatchParts(DispatchedKernel dispatched,
                                linalg::GenericOp op, ArrayRef<unsigned> loops,
                                const Parts &parts) {
  auto [split, count] = chooseLoop(op, loops, parts);
  if (count == 1)
    return {};
  OpBuilder b(op);
  Value reduced = reduceParts(b, op, split, count, matchCombiner(op)->neutral);
  op.getResult(0).replaceAllUsesWith(combineParts(b, op, reduced));
  op.erase();
  return dispatchStage(dispatched, "_parts", reduced);
}

bool combinesElements(linalg::GenericOp op) {
  auto readsMore = op.getBody()->walk([](Operation *inner) {
    return isa<linalg::IndexOp, tensor::ExtractOp>(inner)
               ? WalkResult::interrupt()
               : WalkResult::advance();
  });
  return matchCombiner(op) && !matchScan(op) && !readsMore.wasInterrupted();
}

graph::DispatchOp
splitReduction(DispatchedKernel dispatched, int64_t leastElements,
               function_ref<Parts(linalg::GenericOp)> partsOf) {
  func::FuncOp kernel = dispatched.kernel;
  for (auto op : kernel.getOps<linalg::GenericOp>()) {
    if (ShapedType::getNumElements(op.getStaticLoopRanges()) < leastElements ||
        !combinesElements(op) || largestValue(kernel, op) >= leastElements)
      continue;
    SmallVector<unsigned> loops;
    op.getReductionDims(loops);
    if (auto split = dispatchParts(dispatched, op, loops, partsOf(op)))
      return split;
  }
  return {};
}

} // namespace tinh::codegen
