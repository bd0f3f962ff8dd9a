//===- PrecisionClasses.cpp - Which ops take lower precision ----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/PrecisionClasses.h"

#include "dialects/graph/Graph.h"

using namespace mlir;

namespace tinh::transforms {

using namespace graph;

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
      IsInfOp, ArgmaxOp, ArgminOp, IotaOp, ConstantOp, CastOp, BitcastOp,
      QuantizeOp, DequantizeOp, UnpackInt4Op, CustomGradientOp,
      // What regions carry and hand on; ops in them have classes of their own.
      IfOp, WhileOp, ScanOp, YieldOp, ConditionOp,
      // What ranks agree on, in the type that it has.
      AllReduceOp, ReduceScatterOp, AllGatherOp, CollectiveBroadcastOp>(
      classes, PrecisionClass::Full);
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

} // namespace tinh::transforms
