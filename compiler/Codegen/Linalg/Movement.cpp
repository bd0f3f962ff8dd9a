//===- Movement.cpp - Movement of elements as views and generics ----------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Views where the tensor dialect has them; a permutation or repetition is a
// generic that yields its input through a map; what no affine map expresses
// reads its input at computed indices.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/Linalg/LowerToLinalg.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace tinh::codegen {
namespace {

using graph::PadMode;

FailureOr<Value> lowerConstant(graph::ConstantOp op, Emitter &e, ValueRange) {
  auto elements = dyn_cast<DenseElementsAttr>(op.getValue());
  if (!elements || !elements.isSplat())
    return op.emitOpError("cannot lie in a kernel: only a constant with the "
                          "same value throughout can");
  Type element = storageType(elements.getElementType());
  TypedAttr value;
  if (isa<IntegerType>(elements.getElementType())) {
    value = e.b.getIntegerAttr(element, elements.getSplatValue<APInt>());
  } else {
    auto number = elements.getSplatValue<APFloat>();
    value = isa<FloatType>(element)
                ? TypedAttr(e.b.getFloatAttr(element, number))
                : e.b.getIntegerAttr(element, number.bitcastToAPInt());
  }
  return e.fill(elements.getType().getShape(),
                arith::ConstantOp::create(e.b, value));
}

FailureOr<Value> lowerReshape(graph::ReshapeOp op, Emitter &e,
                              ValueRange operands) {
  return e.reshape(operands[0],
                   cast<RankedTensorType>(op.getType()).getShape());
}

FailureOr<Value> lowerBroadcast(graph::BroadcastOp op, Emitter &e,
                                ValueRange operands) {
  Value x = operands[0];
  ArrayRef<int64_t> shape = cast<RankedTensorType>(op.getType()).getShape();
  return e.move(shape, x, e.broadcast(shapeOf(x), shape));
}

FailureOr<Value> lowerTranspose(graph::TransposeOp op, Emitter &e,
                                ValueRange operands) {
  return e.permute(operands[0], op.getPermutation());
}

FailureOr<Value> lowerConcat(graph::ConcatOp op, Emitter &e,
                             ValueRange operands) {
  return tensor::ConcatOp::create(e.b, op.getAxis(), operands).getResult();
}

//===----------------------------------------------------------------------===//
// slice
//===----------------------------------------------------------------------===//

FailureOr<Value> lowerSlice(graph::SliceOp op, Emitter &e,
                            ValueRange operands) {
  Value x = operands[0];
  ArrayRef<int64_t> starts = op.getStarts(), sizes = op.getSizes();
  SmallVector<int64_t> steps(op.getSteps());
  for (size_t i = 0; i < steps.size(); ++i)
    if (sizes[i] <= 1)
      steps[i] = 1;
  if (llvm::all_of(steps, [](int64_t step) { return step > 0; }))
    return e.slice(x, starts, sizes, steps);
  return e.parallel(sizes, elementOf(x), {}, {}, [&](Scalars &s, ValueRange) {
    SmallVector<Value> indices;
    for (auto [i, step] : llvm::enumerate(steps))
      indices.push_back(s.add(s.index(starts[i]),
                              s.mul(Emitter::index(s, i), s.index(step))));
    return Emitter::extract(s, x, indices);
  });
}

//===----------------------------------------------------------------------===//
// pad
//===----------------------------------------------------------------------===//

/// Padding by a value; negative amounts cut before the others are added.
Value padConstant(Emitter &e, graph::PadOp op, Value x, Value scalar) {
  ArrayRef<int64_t> shape = shapeOf(x);
  auto result = cast<RankedTensorType>(op.getType());
  SmallVector<int64_t> offsets, sizes, low, high, ones(shape.size(), 1);
  for (auto [i, extent] : llvm::enumerate(shape)) {
    int64_t begin = std::clamp<int64_t>(-op.getLow()[i], 0, extent);
    int64_t end = std::clamp<int64_t>(
        extent + std::min<int64_t>(op.getHigh()[i], 0), begin, extent);
    int64_t added = result.getDimSize(i) - (end - begin);
    offsets.push_back(begin);
    sizes.push_back(end - begin);
    low.push_back(std::clamp<int64_t>(op.getLow()[i], 0, added));
    high.push_back(added - low.back());
  }
  if (ArrayRef<int64_t>(sizes) != shape)
    x = e.slice(x, offsets, sizes, ones);
  return e.pad(x, low, high, scalar);
}

/// The index in [0, extent) that index i, relative to the input and maybe
/// outside of it, stands for.
Value foldIndex(Scalars &s, PadMode mode, Value i, int64_t extent) {
  if (mode == PadMode::Edge)
    return s.clampIndex(i, extent);
  if (mode == PadMode::Wrap)
    return s.floorMod(i, extent);
  if (extent == 1)
    return s.index(0);
  int64_t period = 2 * (extent - 1);
  Value phase = s.floorMod(i, period);
  Value mirrored = s.sub(s.index(period), phase);
  return s.select(s.less(phase, s.index(extent)), phase, mirrored);
}

FailureOr<Value> lowerPad(graph::PadOp op, Emitter &e, ValueRange operands) {
  Value x = operands[0];
  PadMode mode = op.getMode();
  if (mode == PadMode::Constant)
    return padConstant(e, op, x, e.scalarOf(operands[1]));
  auto result = cast<RankedTensorType>(op.getType());
  if (result.getNumElements() && llvm::is_contained(shapeOf(x), 0))
    return op.emitOpError("has no elements to repeat");
  ArrayRef<int64_t> low = op.getLow(), high = op.getHigh();
  return e.parallel(
      result.getShape(), elementOf(x), {}, {}, [&](Scalars &outer, ValueRange) {
        Scalars s(outer.b); // indices are signed
        SmallVector<Value> indices;
        for (auto [i, extent] : llvm::enumerate(shapeOf(x))) {
          Value index = Emitter::index(s, i);
          if (low[i] || high[i])
            index = foldIndex(s, mode, s.sub(index, s.index(low[i])), extent);
          indices.push_back(index);
        }
        return Emitter::extract(s, x, indices);
      });
}

FailureOr<Value> lowerIota(graph::IotaOp op, Emitter &e, ValueRange) {
  auto type = cast<RankedTensorType>(op.getType());
  Type element = storageType(type.getElementType());
  Type i64 = e.b.getI64Type();
  return e.parallel(
      type.getShape(), element, {}, {}, [&](Scalars &s, ValueRange) {
        Value i = s.fromIndex(Emitter::index(s, 0), i64);
        Value value = s.add(s.integer(i64, op.getStart()),
                            s.mul(i, s.integer(i64, op.getStep())));
        return s.convert(value, element);
      });
}

} // namespace

void attachMovementLowerings(MLIRContext *context) {
  using namespace graph;
  attachLowerings<lowerConstant, lowerReshape, lowerBroadcast, lowerTranspose,
                  lowerConcat, lowerSlice, lowerPad, lowerIota>(context);
}

} // namespace tinh::codegen
