//===- Strategy.cpp - Kernel functions over flat memory ---------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Strategy.h"

#include "compiler/Codegen/CPU/OuterProducts.h"
#include "compiler/Codegen/CPU/Scatter.h"
#include "compiler/Codegen/CPU/Sized.h"
#include "compiler/Codegen/CPU/Transpose.h"
#include "compiler/Codegen/CPU/WindowReduction.h"
#include "dialects/graph/Graph.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <numeric>

using namespace mlir;

namespace tinh::cpu {

FailureOr<Target> targetOf(ModuleOp module) {
  auto name = module->getAttrOfType<StringAttr>(graph::names::kCpu);
  auto target = lookupTarget(name ? name.getValue() : "native");
  if (target)
    return *target;
  return module.emitError(llvm::toString(target.takeError()));
}

Buffer EmittedKernel::operand(unsigned i) {
  return {function.getArgument(i), operandStrides(source, i), {}};
}

Buffer EmittedKernel::scratchBuffer(OpBuilder &b, int64_t offset,
                                    ArrayRef<int64_t> shape, Type element) {
  auto tensor = RankedTensorType::get(shape, element);
  Location loc = source.getLoc();
  Value at = arith::ConstantIndexOp::create(b, loc, offset);
  SmallVector<int64_t> strides = graph::denseStrides(shape);
  Value view = memref::ViewOp::create(b, loc, flatType(tensor, strides),
                                      scratch, at, ValueRange());
  return {view, strides, {}};
}

void EmittedKernel::bindInputs(Pull &pull) {
  for (BlockArgument argument : source.getArguments())
    pull.buffers[argument] = operand(argument.getArgNumber());
}

Value EmittedKernel::loopOverUnits(OpBuilder &b, int64_t units,
                                   int64_t perChunk) {
  b.setInsertionPoint(function.getBody().front().getTerminator());
  Pull scalar(b, source.getLoc(), 1);
  Value first = scalar.mul(begin, perChunk);
  Value last = arith::MinUIOp::create(
      b, source.getLoc(), scalar.mul(end, perChunk), scalar.index(units));
  auto loop =
      scf::ForOp::create(b, source.getLoc(), first, last, scalar.index(1));
  b.setInsertionPointToStart(loop.getBody());
  return loop.getInductionVar();
}

LogicalResult storeResults(EmittedKernel &kernel, Pull &pull,
                           const Indices &at) {
  Operation *terminator = kernel.source.getBody().front().getTerminator();
  unsigned inputs = kernel.source.getNumArguments();
  for (auto [i, value] : llvm::enumerate(terminator->getOperands())) {
    auto element = pull.at(value, at);
    if (failed(element) ||
        failed(pull.store(*element, kernel.operand(inputs + i), at)))
      return failure();
    pull.registers[value] = *element;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Products and what the kernel reads of them
//===----------------------------------------------------------------------===//

/// The one reader of `value` if it is an `Op`.
template <typename Op> static Op onlyUser(Value value) {
  return value.hasOneUse() ? dyn_cast<Op>(*value.user_begin()) : Op();
}

/// Whether `op` moves elements, none of them along the last dimension.
static bool keepsRows(linalg::GenericOp op) {
  if (op.getNumDpsInputs() != 1 || op.getNumResults() != 1 ||
      op.getBody()->getTerminator()->getOperand(0) !=
          op.getBody()->getArgument(0))
    return false;
  AffineMap map = op.getMatchingIndexingMap(op.getDpsInputOperand(0));
  return map.isPermutation() &&
         op.getMatchingIndexingMap(op.getDpsInitOperand(0)).isIdentity() &&
         map.getDimPosition(map.getNumResults() - 1) == map.getNumDims() - 1;
}

/// `value` in panels of its last dimension; itself if they are not made of it.
static Value inPanels(Value value) {
  Value columns = value;
  if (auto pad = onlyUser<tensor::PadOp>(columns)) {
    if (!pad.hasZeroLowPad())
      return value;
    columns = pad.getResult();
  }
  auto split = onlyUser<tensor::ExpandShapeOp>(columns);
  if (!split || split.getReassociationIndices().back().size() != 2)
    return value;
  auto panels = onlyUser<linalg::GenericOp>(split.getResult());
  return panels && keepsRows(panels) ? panels.getResult(0) : value;
}

Value mergedResult(linalg::GenericOp op) {
  Value result = op.getResult(0);
  if (auto merged = onlyUser<tensor::CollapseShapeOp>(result))
    result = merged.getResult();
  return inPanels(result);
}

Indices indicesInResult(Pull &pull, Value product, Value result, Indices at) {
  while (product != result) {
    Operation *user = *product.user_begin();
    if (auto merged = dyn_cast<tensor::CollapseShapeOp>(user)) {
      at = pull.merge(at, merged.getSrcType().getShape(),
                      merged.getReassociationIndices());
    } else if (auto split = dyn_cast<tensor::ExpandShapeOp>(user)) {
      int64_t width = split.getResultType().getShape().back();
      LaneIndex column = at.pop_back_val();
      Value panel = column.base, lane = pull.peel(panel, width);
      at.push_back({panel, 0, 1});
      at.push_back({lane, column.stride, std::gcd(column.alignment, width)});
    } else if (auto moved = dyn_cast<linalg::GenericOp>(user)) {
      AffineMap map = moved.getMatchingIndexingMap(moved.getDpsInputOperand(0));
      Indices source = at;
      for (auto [i, index] : llvm::enumerate(source))
        at[map.getDimPosition(i)] = index;
    }
    product = user->getResult(0);
  }
  return at;
}

std::optional<int64_t> columnsOfPanels(Value result) {
  auto generic = result.getDefiningOp<linalg::GenericOp>();
  if (!generic || generic.getNumReductionLoops() > 0)
    return std::nullopt;
  auto split = generic.getDpsInputs()[0].getDefiningOp<tensor::ExpandShapeOp>();
  return split.getSrcType().getShape().back();
}

bool hasWholeVectors(Value result, int64_t lanes) {
  return !columnsOfPanels(result) ||
         cast<RankedTensorType>(result.getType()).getShape().back() % lanes ==
             0;
}

/// What the kernel's attributes say must be what its strategy does: callers
/// run as many chunks and give as much memory.
static LogicalResult checkDivision(func::FuncOp kernel, const Target &target) {
  auto strategy = kernel->getAttrOfType<StringAttr>(graph::names::kStrategy);
  auto chunks = kernel->getAttrOfType<IntegerAttr>(graph::names::kChunks);
  auto scratch = kernel->getAttrOfType<IntegerAttr>(graph::names::kScratch);
  if (!strategy || !chunks || !scratch)
    return kernel.emitError("no strategy has been chosen for this kernel");
  auto division = divideKernel(kernel, strategy.getValue(), target);
  if (!division)
    return kernel.emitError("strategy '")
           << strategy.getValue() << "' cannot compute this kernel";
  if (division->chunks != chunks.getInt() ||
      division->scratch != scratch.getInt())
    return kernel.emitError("strategy '")
           << strategy.getValue() << "' makes " << division->chunks
           << " chunks with " << division->scratch
           << " bytes of scratch memory, not " << chunks.getInt() << " with "
           << scratch.getInt();
  return success();
}

FailureOr<func::FuncOp> emitKernel(func::FuncOp kernel, ModuleOp module,
                                   const Target &target) {
  OpBuilder b = OpBuilder::atBlockEnd(module.getBody());
  auto strategy = kernel->getAttrOfType<StringAttr>(graph::names::kStrategy);
  if (strategy && isSized(strategy.getValue()))
    return emitSizedKernel(kernel, module, target);
  if (failed(checkDivision(kernel, target)))
    return failure();
  auto scratchSize = kernel->getAttrOfType<IntegerAttr>(graph::names::kScratch);

  SmallVector<Type> types;
  for (Type type : llvm::concat<const Type>(kernel.getArgumentTypes(),
                                            kernel.getResultTypes()))
    types.push_back(flatType(cast<RankedTensorType>(type),
                             operandStrides(kernel, types.size())));
  types.push_back(MemRefType::get({std::max<int64_t>(scratchSize.getInt(), 1)},
                                  b.getI8Type()));
  types.append(2, b.getIndexType());

  auto emit = [&](const Target &target) -> FailureOr<func::FuncOp> {
    auto function = func::FuncOp::create(b, kernel.getLoc(), kernel.getName(),
                                         b.getFunctionType(types, {}));
    Block *entry = function.addEntryBlock();
    OpBuilder atEnd = OpBuilder::atBlockEnd(entry);
    func::ReturnOp::create(atEnd, kernel.getLoc());
    unsigned count = types.size();
    EmittedKernel emitted{kernel, function, entry->getArgument(count - 3),
                          entry->getArgument(count - 2),
                          entry->getArgument(count - 1)};
    auto emitStrategy =
        llvm::StringSwitch<LogicalResult (*)(EmittedKernel &, const Target &)>(
            strategy.getValue())
            .Case("contraction", emitContraction)
            .Case("outer-products", emitOuterProducts)
            .Case("windows", emitWindows)
            .Case("transpose", emitTranspose)
            .Case("scatter", emitScatter)
            .Default(emitRows);
    LogicalResult result = emitStrategy(emitted, target);
    if (succeeded(result))
      return function;
    function.erase();
    return failure();
  };
  FailureOr<func::FuncOp> function = emit(target);
  // These divide their work alike for any vectors.
  bool anyVectors =
      strategy.getValue() == "rows" || strategy.getValue() == "windows";
  if (failed(function) && anyVectors) {
    // Some index is not affine in the lane: one element at a time then.
    Target scalar = target;
    scalar.vectorBytes = 4;
    function = emit(scalar);
  }
  if (failed(function))
    return kernel.emitError("internal error: strategy '")
           << strategy.getValue() << "' cannot generate code for this kernel";
  return function;
}

} // namespace tinh::cpu
