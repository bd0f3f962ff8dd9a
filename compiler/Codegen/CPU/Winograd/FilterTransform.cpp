//===- FilterTransform.cpp - Filters for Winograd's algorithms --*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Winograd/FilterTransform.h"

#include "compiler/Codegen/CPU/Blocks.h"
#include "compiler/Codegen/CPU/Costs.h"
#include "compiler/Codegen/CPU/Winograd/KnownMatrix.h"
#include "compiler/Codegen/Kernel/Conversions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/OperationSupport.h"

using namespace mlir;

namespace tinh::cpu {

static constexpr int64_t kTaps = WinogradTransform::kTaps;

//===----------------------------------------------------------------------===//
// What linalg says
//===----------------------------------------------------------------------===//

static Value matrixConstant(OpBuilder &b, Location loc, const Matrix &matrix) {
  auto type =
      RankedTensorType::get({matrix.rows, matrix.columns}, b.getF64Type());
  return arith::ConstantOp::create(
      b, loc, DenseElementsAttr::get(type, ArrayRef(matrix.elements)));
}

/// Σ over two taps: panels, two numbers, channels and columns.
static SmallVector<AffineMap> transformMaps(MLIRContext *context) {
  AffineExpr p, i, j, c, n, k, l;
  bindDims(context, p, i, j, c, n, k, l);
  auto map = [&](ArrayRef<AffineExpr> exprs) {
    return AffineMap::get(7, 0, exprs, context);
  };
  return {map({p, k, l, c, n}), map({i, k}), map({j, l}), map({p, i, j, c, n})};
}

Value transformPanels(OpBuilder &b, Location loc, Value panels,
                      const WinogradTransform &t) {
  Type f64 = b.getF64Type();
  Value wide = convertElements(b, loc, panels, f64);
  Value matrix = matrixConstant(b, loc, t.filter);
  ArrayRef<int64_t> from = cast<RankedTensorType>(panels.getType()).getShape();
  int64_t shape[] = {from[0], t.side(), t.side(), from[3], from[4]};
  Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(f64));
  Value empty = tensor::EmptyOp::create(b, loc, shape, f64);
  Value initial = linalg::FillOp::create(b, loc, zero, empty).getResult(0);
  SmallVector<utils::IteratorType> iterators(5, utils::IteratorType::parallel);
  iterators.append(2, utils::IteratorType::reduction);
  auto sums = linalg::GenericOp::create(
      b, loc, initial.getType(), ValueRange{wide, matrix, matrix}, initial,
      transformMaps(b.getContext()), iterators,
      [](OpBuilder &b, Location loc, ValueRange x) {
        Value product = arith::MulFOp::create(b, loc, x[0], x[1]);
        product = arith::MulFOp::create(b, loc, product, x[2]);
        Value sum = arith::AddFOp::create(b, loc, x[3], product);
        linalg::YieldOp::create(b, loc, sum);
      });
  Value narrow = convertElements(b, loc, sums.getResult(0), b.getF32Type());
  SmallVector<ReassociationIndices> groups{{0}, {1, 2}, {3}, {4}};
  return tensor::CollapseShapeOp::create(b, loc, narrow, groups);
}

/// Whether the body of `kernel` is what transformPanels makes.
static bool computes(func::FuncOp kernel, const WinogradTransform &t) {
  OpBuilder b(kernel.getContext());
  Location loc = kernel.getLoc();
  OwningOpRef<func::FuncOp> expected =
      func::FuncOp::create(loc, kernel.getName(), kernel.getFunctionType());
  b.setInsertionPointToStart(expected->addEntryBlock());
  Value made = transformPanels(b, loc, expected->getArgument(0), t);
  func::ReturnOp::create(b, loc, made);
  return OperationEquivalence::isRegionEquivalentTo(
      &kernel.getBody(), &expected->getBody(),
      OperationEquivalence::IgnoreLocations);
}

Match<FilterTransform> FilterTransformStrategy::match(func::FuncOp kernel) {
  auto type = kernel.getNumArguments() == 1
                  ? cast<RankedTensorType>(kernel.getArgumentTypes()[0])
                  : RankedTensorType();
  if (!type || type.getRank() != 5 || !type.getElementType().isF32() ||
      type.getDimSize(1) != kTaps || type.getDimSize(2) != kTaps)
    return NoMatch{"reads no panels of 3 x 3 filters"};
  for (const WinogradTransform &t : winogradTransforms())
    if (computes(kernel, t))
      return FilterTransform{kernel, &t, type.getDimSize(0), type.getDimSize(3),
                             type.getDimSize(4)};
  return NoMatch{"does not transform filters"};
}

//===----------------------------------------------------------------------===//
// Plan
//===----------------------------------------------------------------------===//

/// Additions and multiplications of one filter's numbers, of f64.
static double operationsOf(const WinogradTransform &t) {
  return 2.0 * kTaps * t.side() * (kTaps + t.side());
}

SmallVector<FilterTransformPlanAttr>
FilterTransformStrategy::plans(const FilterTransform &f, const Target &target) {
  constexpr int64_t kMostChunks = 48;
  if (f.width % target.lanes() != 0)
    return {};
  double operations = operationsOf(*f.transform) * f.units() * f.width;
  func::FuncOp kernel = f.kernel;
  return {
      Plan::get(kernel.getContext(),
                unitsForChunks(f.units(), chunksFor(operations, kMostChunks)))};
}

FailureOr<Divided<FilterTransformPlanAttr>>
FilterTransformStrategy::expand(const FilterTransform &f, Plan attribute,
                                const Target &target, EmitError emitError) {
  Divided<Plan> plan{attribute, {}};
  if (failed(checkNumbers(
          emitError, {{"units", plan.getUnits(), within(1, f.units())}})) ||
      failed(checkColumns(emitError, "columns of panel", f.width,
                          target.lanes(), target)))
    return failure();
  plan.chunks = countChunks(f.units(), plan.getUnits());
  return plan;
}

double FilterTransformStrategy::cost(const FilterTransform &f,
                                     const Divided<Plan> &plan,
                                     const Target &target) {
  const Machine &machine = *target.machine;
  double vectors = f.units() * f.width / target.lanes();
  // A vector of f32 is two of f64.
  double each = std::max(operationsOf(*f.transform) / machine.fmasPerCycle,
                         f.transform->products() / machine.storesPerCycle);
  return vectors * each + trafficCycles(f.kernel, target) +
         dispatchCycles(target, plan.chunks);
}

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

/// Of the columns in a vector: from where their taps lie to where their numbers
/// do, each of which is `between` elements from the next one.
static void emitVector(OpBuilder &b, Location loc, Value source, Value from,
                       Value result, Value to, int64_t between, int64_t lanes,
                       const WinogradTransform &t) {
  IndexBuilder scalar(&b, loc);
  auto narrow = VectorType::get({lanes}, b.getF32Type());
  auto wide = VectorType::get({lanes}, b.getF64Type());
  SmallVector<Value> taps;
  for (int64_t tap = 0; tap < kTaps * kTaps; ++tap) {
    Value at = scalar.add(from, scalar.index(tap * between));
    Value tapOf = vector::LoadOp::create(b, loc, narrow, source, at);
    taps.push_back(arith::ExtFOp::create(b, loc, wide, tapOf));
  }
  for (auto [i, value] :
       llvm::enumerate(multiplyBothSides(b, loc, t.filter, taps))) {
    Value number = arith::TruncFOp::create(b, loc, narrow, value);
    Value at = scalar.add(to, scalar.index(i * between));
    vector::StoreOp::create(b, loc, number, result, at);
  }
}

LogicalResult FilterTransformStrategy::emit(EmittedKernel &kernel,
                                            const FilterTransform &f,
                                            const Divided<Plan> &plan,
                                            const Target &target) {
  OpBuilder b = kernel.builder();
  Location loc = kernel.source.getLoc();
  Value panel = kernel.loopOverUnits(b, f.units(), plan.getUnits());
  IndexBuilder scalar(&b, loc);
  Value channel = scalar.takeDigit(panel, f.channels);
  int64_t between = f.channels * f.width;
  Value column = scalar.mul(channel, f.width);
  Value from = scalar.add(scalar.mul(panel, kTaps * kTaps * between), column);
  Value to =
      scalar.add(scalar.mul(panel, f.transform->products() * between), column);
  for (int64_t at = 0; at < f.width; at += target.lanes())
    emitVector(b, loc, kernel.function.getArgument(0),
               scalar.add(from, scalar.index(at)),
               kernel.function.getArgument(1), scalar.add(to, scalar.index(at)),
               between, target.lanes(), *f.transform);
  return success();
}

} // namespace tinh::cpu
