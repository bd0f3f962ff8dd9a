//===- LowerPrecision.cpp - Products take bf16 operands -------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   %0 = graph.matmul %x, %w : tensor<8x4xf32>, tensor<4x2xf32> -> …
//   %1 = graph.relu %0 : tensor<8x2xf32>
//   %2 = graph.softmax %1 axis 1 : tensor<8x2xf32>
// becomes
//   %a = graph.cast %x : tensor<8x4xf32> to tensor<8x4xbf16>
//   %b = graph.cast %w : tensor<4x2xf32> to tensor<4x2xbf16>
//   %0 = graph.matmul %a, %b : tensor<8x4xbf16>, tensor<4x2xbf16> -> …
//   %1 = graph.relu %0 : tensor<8x2xbf16>
//   %c = graph.cast %1 : tensor<8x2xbf16> to tensor<8x2xf32>
//   %2 = graph.softmax %c axis 1 : tensor<8x2xf32>
//
// Each value that is rounded is cast back for those of its readers that stay in
// f32. Kernels compute element-wise ops on bf16 in f32 and round results.
//
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/LowerPrecision.h"

#include "compiler/Transforms/Constants.h"
#include "compiler/Transforms/Passes.h"
#include "dialects/graph/Graph.h"

using namespace mlir;

namespace tinh::transforms {

#define GEN_PASS_DEF_LOWERPRECISION
#include "compiler/Transforms/Passes.h.inc"

using namespace graph;

//===----------------------------------------------------------------------===//
// The classes
//===----------------------------------------------------------------------===//

namespace {

using Classes = llvm::DenseMap<TypeID, PrecisionClass>;

template <typename... Ops>
void classify(Classes &classes, PrecisionClass precision) {
  (classes.try_emplace(TypeID::get<Ops>(), precision), ...);
}

Classes makeClasses() {
  Classes classes;
  classify<MatmulOp, ConvOp, ConvTransposeOp, ConvWeightGradientOp,
           AttentionOp>(classes, PrecisionClass::Lowered);
  classify<
      // Exact, or as exact as a rounded result needs.
      NegOp, AbsOp, SignOp, ReluOp, FloorOp, CeilOp, RoundOp, ErfOp, TanhOp,
      SigmoidOp, GeluOp, AddOp, SubOp, MulOp, DivOp, MaxOp, MinOp, WhereOp,
      // What moves elements.
      ReshapeOp, BroadcastOp, TransposeOp, ConcatOp, SliceOp, PadOp, MaxPoolOp,
      MaxPoolGradientOp, StopGradientOp, DropoutOp>(classes,
                                                    PrecisionClass::Follows);
  classify<
      // Statistics of many elements.
      BatchNormOp, LayerNormOp, LrnOp, AvgPoolOp,
      // Their gradients add up what indices may bring together.
      GatherOp, GatherElementsOp, GatherNdOp>(classes, PrecisionClass::Rounded);
  classify<
      // An error of the operand grows in the result, or near some operands.
      ExpOp, LogOp, PowOp, SqrtOp, RsqrtOp, ReciprocalOp, SoftplusOp, SinOp,
      CosOp, TanOp, AsinOp, AcosOp, AtanOp, SinhOp, CoshOp, AsinhOp, AcoshOp,
      AtanhOp, ModOp, FmodOp,
      // Sums.
      SoftmaxOp, LogSoftmaxOp, ReduceOp, VarianceOp, CumsumOp, ScatterOp,
      ScatterElementsOp, ScatterNdOp,
      // What gives or takes no floats, or says what precision it has.
      NotOp, AndOp, OrOp, XorOp, ShiftLeftOp, ShiftRightOp, CompareOp, IsNanOp,
      IsInfOp, ArgmaxOp, ArgminOp, IotaOp, ConstantOp, CastOp, CustomGradientOp,
      // What regions carry and hand on; ops in them have classes of their own.
      IfOp, WhileOp, ScanOp, YieldOp, ConditionOp>(classes,
                                                   PrecisionClass::Full);
  return classes;
}

} // namespace

std::optional<PrecisionClass> precisionClassOf(OperationName op) {
  static const Classes classes = makeClasses();
  auto found = classes.find(op.getTypeID());
  if (found == classes.end())
    return std::nullopt;
  return found->second;
}

//===----------------------------------------------------------------------===//
// The transformation
//===----------------------------------------------------------------------===//

namespace {

class PrecisionLowering {
public:
  PrecisionLowering(func::FuncOp function, FloatType low)
      : function(function), low(low) {}

  int64_t run();

private:
  void visit(Operation *op);
  void findParameters(Operation *op);
  bool followsLow(Operation *op);
  bool canRound(Value parameter);
  void limitMask(AttentionOp op);
  void computeLow(Operation *op);
  void roundResult(Operation *op);
  Value rounded(Value value);
  Value castTo(OpBuilder &builder, Value value, Type element) {
    Type type = tensorType(value).clone(element);
    return CastOp::create(builder, value.getLoc(), type, value);
  }

  static bool isFull(Value value) {
    return tensorType(value).getElementType().isF32();
  }
  /// Whether `value` has been rounded, and is cast back.
  bool isLow(Value value) {
    auto cast = value.getDefiningOp<CastOp>();
    return cast && isFull(value) &&
           tensorType(cast.getX()).getElementType() == low;
  }

  func::FuncOp function;
  FloatType low;
  llvm::DenseSet<Value> parameters;      // Computed of variables and constants.
  llvm::DenseMap<Value, bool> roundable; // Of these, as far as it is known.
  llvm::DenseMap<Value, Value> casts;    // From f32.
  int64_t count = 0;
};

} // namespace

void PrecisionLowering::findParameters(Operation *op) {
  if (isa<ConstantOp>(op) ||
      (op->getNumRegions() == 0 && op->getNumOperands() > 0 &&
       llvm::all_of(op->getOperands(), [&](Value operand) {
         return parameters.contains(operand);
       })))
    parameters.insert_range(op->getResults());
}

/// Whether no number of a parameter is rounded to an infinity, such as f32's
/// lowest one in masks. Weights, which may lie in files, are not so large.
bool PrecisionLowering::canRound(Value parameter) {
  auto [known, isNew] = roundable.try_emplace(parameter, true);
  auto constant = parameter.getDefiningOp<ConstantOp>();
  if (!isNew || !constant)
    return known->second;
  if (auto elements = dyn_cast<DenseFPElementsAttr>(constant.getValue()))
    known->second = llvm::all_of(elements, [&](APFloat number) {
      bool isFinite = number.isFinite(), losesInfo;
      number.convert(low.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                     &losesInfo);
      return isFinite == number.isFinite();
    });
  return known->second;
}

/// Whether one operand has been rounded and the others, but for parameters,
/// too. What was computed in f32 for its precision is not rounded for it.
bool PrecisionLowering::followsLow(Operation *op) {
  bool any = false;
  for (Value operand : op->getOperands()) {
    if (!isFull(operand))
      continue;
    bool operandIsLow = isLow(operand);
    any |= operandIsLow;
    if (!operandIsLow && !(parameters.contains(operand) && canRound(operand)))
      return false;
  }
  return any;
}

/// `value` in the lower precision: one cast for all readers, where it is made.
Value PrecisionLowering::rounded(Value value) {
  if (isLow(value))
    return value.getDefiningOp<CastOp>().getX();
  Value &cast = casts[value];
  if (!cast) {
    OpBuilder builder(function.getContext());
    builder.setInsertionPointAfterValue(value);
    cast = castTo(builder, value, low);
  }
  return cast;
}

void PrecisionLowering::computeLow(Operation *op) {
  for (OpOperand &operand : op->getOpOperands())
    if (isFull(operand.get()))
      operand.set(rounded(operand.get()));
  Value result = op->getResult(0);
  Type full = tensorType(result).getElementType();
  result.setType(tensorType(result).clone(low));
  OpBuilder builder(op->getContext());
  builder.setInsertionPointAfter(op);
  Value back = castTo(builder, result, full);
  result.replaceAllUsesExcept(back, back.getDefiningOp());
  ++count;
}

void PrecisionLowering::roundResult(Operation *op) {
  Value result = op->getResult(0);
  OpBuilder builder(op->getContext());
  builder.setInsertionPointAfter(op);
  Value down = castTo(builder, result, low);
  Value back = castTo(builder, down, tensorType(result).getElementType());
  result.replaceAllUsesExcept(back, down.getDefiningOp());
  ++count;
}

/// f32's lowest number, which masks often have, would be minus infinity, and
/// rows that see nothing NaN.
void PrecisionLowering::limitMask(AttentionOp op) {
  Value mask = op.getMask();
  if (!mask || !isFull(mask) || isLow(mask))
    return;
  OpBuilder builder(op);
  auto scalar = RankedTensorType::get({}, tensorType(mask).getElementType());
  double lowest =
      APFloat::getLargest(low.getFloatSemantics(), /*Negative=*/true)
          .convertToDouble();
  Value limit = createSplat(builder, op.getLoc(), scalar, lowest);
  op.getMaskMutable().assign(
      MaxOp::create(builder, op.getLoc(), mask, limit).getY());
}

void PrecisionLowering::visit(Operation *op) {
  findParameters(op);
  if (op->getNumResults() != 1 || !isFull(op->getResult(0)) ||
      parameters.contains(op->getResult(0)))
    return;
  switch (precisionClassOf(op->getName()).value_or(PrecisionClass::Full)) {
  case PrecisionClass::Lowered:
    if (auto attention = dyn_cast<AttentionOp>(op))
      limitMask(attention);
    return computeLow(op);
  case PrecisionClass::Follows:
    return followsLow(op) ? computeLow(op) : void();
  case PrecisionClass::Rounded:
    return isLow(op->getOperand(0)) ? roundResult(op) : void();
  case PrecisionClass::Full:
    return;
  }
}

int64_t PrecisionLowering::run() {
  for (BlockArgument argument : function.getArguments())
    if (function.getArgAttr(argument.getArgNumber(), names::kVariable))
      parameters.insert(argument);
  SmallVector<Operation *> ops;
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op != function && !op->hasTrait<OpTrait::IsTerminator>())
      ops.push_back(op);
    // The two regions of a custom gradient belong together.
    return isa<CustomGradientOp>(op) ? WalkResult::skip()
                                     : WalkResult::advance();
  });
  llvm::for_each(ops, [&](Operation *op) { visit(op); });
  return count;
}

namespace {

struct LowerPrecisionPass : impl::LowerPrecisionBase<LowerPrecisionPass> {
  void runOnOperation() override {
    numLowered +=
        lowerPrecision(getOperation(), BFloat16Type::get(&getContext()));
  }
};

} // namespace

int64_t lowerPrecision(func::FuncOp function, FloatType low) {
  return PrecisionLowering(function, low).run();
}

} // namespace tinh::transforms
