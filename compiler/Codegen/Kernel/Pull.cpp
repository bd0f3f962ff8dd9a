//===- Pull.cpp - Values of tensors, a vector at a time ---------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/Kernel/Pull.h"

#include "compiler/Codegen/Kernel/Analysis.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace tinh::codegen {

Type memoryType(Type element) {
  return element.isInteger(1) ? IntegerType::get(element.getContext(), 8)
                              : element;
}

Value Pull::asVector(LaneValue value) {
  if (lanes == 1 || !value.uniform || !b)
    return value.value;
  auto type = VectorType::get({lanes}, value.value.getType());
  return vector::BroadcastOp::create(*b, loc, type, value.value);
}

LaneValue Pull::affineValue(LaneIndex lane) {
  bool uniform = lane.stride == 0 || lanes == 1;
  if (uniform || !b)
    return {lane.base, uniform, lane};
  Value offsets = laneOffsets(lane.stride);
  Value base = asVector({lane.base, true, {}});
  return {arith::AddIOp::create(*b, loc, base, offsets), false, lane};
}

LaneValue Pull::splat(TypedAttr value) {
  return {b ? arith::ConstantOp::create(*b, loc, value) : Value(), true, {}};
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

LaneIndex Pull::linearIndex(const Buffer &buffer, const Indices &indices) {
  LaneIndex linear = constant(0);
  for (auto [i, each] : llvm::enumerate(indices)) {
    LaneIndex lane = each;
    if (!buffer.origin.empty() && !isConstantIntValue(buffer.origin[i], 0))
      lane = {sub(lane.base, buffer.origin[i]), lane.stride, 1};
    linear = sum(linear, scale(lane, buffer.strides[i]));
  }
  return linear;
}

/// What the address of a vector of `element` at `at` is known to be a multiple
/// of.
static llvm::MaybeAlign alignmentAt(const Buffer &buffer, Type element,
                                    const LaneIndex &at) {
  if (buffer.alignment == 0)
    return {};
  int64_t bytes = element.getIntOrFloatBitWidth() / 8;
  return llvm::Align(llvm::MinAlign(
      buffer.alignment, std::max<int64_t>(at.alignment, 1) * bytes));
}

/// How far each lane's element lies from the first one's.
Value Pull::laneOffsets(int64_t stride) {
  auto type = VectorType::get({lanes}, b->getIndexType());
  Value step = vector::StepOp::create(*b, loc, type);
  Value scale = asVector({index(stride), true, {}});
  return arith::MulIOp::create(*b, loc, step, scale);
}

Value Pull::activeLanes() {
  if (mask)
    return mask;
  auto type = VectorType::get({lanes}, b->getI1Type());
  return arith::ConstantOp::create(*b, loc, DenseElementsAttr::get(type, true));
}

Value Pull::loadVector(const Buffer &buffer, Type element,
                       const LaneIndex &at) {
  auto type = VectorType::get({lanes}, element);
  Value zero = arith::ConstantOp::create(*b, loc, type, b->getZeroAttr(type));
  if (at.stride != 1)
    return vector::GatherOp::create(*b, loc, type, buffer.memref, at.base,
                                    laneOffsets(at.stride), activeLanes(),
                                    zero);
  if (mask)
    return vector::MaskedLoadOp::create(*b, loc, type, buffer.memref, at.base,
                                        mask, zero);
  return vector::LoadOp::create(*b, loc, type, buffer.memref, at.base,
                                /*nontemporal=*/false,
                                alignmentAt(buffer, element, at));
}

LaneValue Pull::load(const Buffer &buffer, Type element,
                     const Indices &indices) {
  LaneIndex at = linearIndex(buffer, indices);
  bool uniform = lanes == 1 || at.stride == 0;
  if (!b)
    return {{}, uniform, {}};
  Value value = uniform
                    ? memref::LoadOp::create(*b, loc, buffer.memref, at.base)
                    : loadVector(buffer, memoryType(element), at);
  if (element.isInteger(1)) {
    Value zero = arith::ConstantOp::create(*b, loc, value.getType(),
                                           b->getZeroAttr(value.getType()));
    value = compare(arith::CmpIPredicate::ne, value, zero);
  }
  return {value, uniform, {}};
}

LogicalResult Pull::store(LaneValue value, const Buffer &buffer,
                          const Indices &indices) {
  LaneIndex at = linearIndex(buffer, indices);
  Value vector = asVector(value);
  if (getElementTypeOrSelf(vector).isInteger(1)) {
    Type byte = b->getI8Type();
    if (lanes > 1)
      byte = VectorType::get({lanes}, byte);
    vector = arith::ExtUIOp::create(*b, loc, byte, vector);
  }
  if (lanes == 1) {
    memref::StoreOp::create(*b, loc, vector, buffer.memref, at.base);
    return success();
  }
  if (at.stride != 1)
    vector::ScatterOp::create(*b, loc, Type(), buffer.memref, at.base,
                              laneOffsets(at.stride), activeLanes(), vector);
  else if (mask)
    vector::MaskedStoreOp::create(*b, loc, buffer.memref, at.base, mask,
                                  vector);
  else
    vector::StoreOp::create(
        *b, loc, vector, buffer.memref, at.base, /*nontemporal=*/false,
        alignmentAt(buffer, getElementTypeOrSelf(vector), at));
  return success();
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

template <typename Op>
FailureOr<LaneValue> Pull::moved(Op op, const Indices &indices) {
  auto source = sourceOf(op, indices);
  return succeeded(source) ? at(op->getOperand(0), *source)
                           : FailureOr<LaneValue>(failure());
}

FailureOr<LaneValue> Pull::at(Value tensor, const Indices &indices) {
  if (auto known = registers.find(tensor); known != registers.end())
    return known->second;
  auto type = cast<RankedTensorType>(tensor.getType());
  if (auto buffer = buffers.find(tensor); buffer != buffers.end())
    return load(buffer->second, type.getElementType(), indices);
  Operation *op = tensor.getDefiningOp();
  if (!op)
    return failure();
  if (auto fill = dyn_cast<linalg::FillOp>(op))
    return scalar(fill.getInputs()[0]);
  if (isa<tensor::EmptyOp>(op)) // What it holds is up to us.
    return splat(Builder(op->getContext()).getZeroAttr(type.getElementType()));
  if (auto list = dyn_cast<arith::ConstantOp>(op)) {
    auto elements = dyn_cast<SplatElementsAttr>(list.getValue());
    if (!elements)
      return failure();
    return splat(elements.getSplatValue<TypedAttr>());
  }
  if (isa<linalg::GenericOp>(op))
    return genericOnce(cast<OpResult>(tensor), indices);
  if (auto padding = dyn_cast<tensor::PadOp>(op))
    return pad(padding, indices);
  if (auto pieces = dyn_cast<tensor::ConcatOp>(op))
    return concat(pieces, indices);
  if (auto cast = dyn_cast<tensor::CastOp>(op))
    return at(cast.getSource(), indices);
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
    return moved(slice, indices);
  if (auto expanded = dyn_cast<tensor::ExpandShapeOp>(op))
    return moved(expanded, indices);
  if (auto collapsed = dyn_cast<tensor::CollapseShapeOp>(op))
    return moved(collapsed, indices);
  return failure();
}

FailureOr<LaneValue>
Pull::choose(Value condition, Type element,
             function_ref<FailureOr<LaneValue>()> then,
             function_ref<FailureOr<LaneValue>()> otherwise) {
  if (!b)
    return failed(then()) || failed(otherwise())
               ? FailureOr<LaneValue>(failure())
               : inRegisters();
  Type type = element;
  if (lanes > 1)
    type = VectorType::get({lanes}, element);
  auto branch = scf::IfOp::create(*b, loc, type, condition, true);
  auto fill = [&](Block *block, auto &build) -> LogicalResult {
    OpBuilder::InsertionGuard guard(*b);
    b->setInsertionPointToStart(block);
    FailureOr<LaneValue> value = build();
    if (failed(value))
      return failure();
    scf::YieldOp::create(*b, loc, asVector(*value));
    return success();
  };
  if (failed(fill(branch.thenBlock(), then)) ||
      failed(fill(branch.elseBlock(), otherwise))) {
    branch.erase();
    return failure();
  }
  return inRegisters(branch.getResult(0));
}

FailureOr<LaneValue> Pull::scalar(Value value) {
  Operation *op = value.getDefiningOp();
  if (auto extract = dyn_cast_or_null<tensor::ExtractOp>(op)) {
    Indices indices;
    for (Value position : extract.getIndices()) {
      auto known = scalar(position);
      if (failed(known))
        return failure();
      indices.push_back({known->value, 0, 1});
    }
    return at(extract.getTensor(), indices);
  }
  if (!op || !matchPattern(op, m_Constant()))
    return failure();
  return clone(op, {});
}

Value Pull::lanesBelow(const LaneIndex &lane, int64_t extent) {
  LaneValue position = affineValue(lane), end{index(extent), true, {}};
  return compare(arith::CmpIPredicate::ult, position.value,
                 position.uniform ? end.value : asVector(end));
}

FailureOr<LaneValue> Pull::pad(tensor::PadOp op, const Indices &indices) {
  Value padding = op.getConstantPaddingValue();
  auto value = padding ? scalar(padding) : FailureOr<LaneValue>(failure());
  if (failed(value))
    return failure();
  struct {
    bool isPadded = false;
    Value inside;
  } all, each; // In dimensions that are the same in all lanes, or not.
  Indices source = indices;
  auto sourceType = op.getSourceType();
  for (auto [i, lane] : llvm::enumerate(source)) {
    int64_t low = op.getStaticLow()[i], high = op.getStaticHigh()[i];
    if (low == 0 && high == 0)
      continue;
    lane = {add(lane.base, index(-low)), lane.stride, 1};
    auto &lanesOrAll = lane.stride != 0 && lanes > 1 ? each : all;
    lanesOrAll.isPadded = true;
    // One unsigned comparison checks both bounds.
    lanesOrAll.inside =
        both(lanesOrAll.inside, lanesBelow(lane, sourceType.getDimSize(i)));
  }
  auto masked = [&]() -> FailureOr<LaneValue> {
    if (!each.isPadded)
      return at(op.getSource(), source);
    Value saved = mask;
    mask = both(saved, each.inside);
    auto element = at(op.getSource(), source);
    mask = saved;
    if (failed(element))
      return failure();
    return LaneValue{
        select(each.inside, asVector(*element), asVector(*value)), false, {}};
  };
  if (!all.isPadded)
    return masked();
  return choose(all.inside, sourceType.getElementType(), masked,
                [&] { return value; });
}

FailureOr<LaneValue> Pull::concat(tensor::ConcatOp op, const Indices &indices) {
  int64_t axis = op.getDim();
  Type element = op.getResultType().getElementType();
  const LaneIndex lane = indices[axis];
  SmallVector<int64_t> starts;
  int64_t next = 0;
  for (Value piece : op.getInputs()) {
    starts.push_back(next);
    next += cast<RankedTensorType>(piece.getType()).getDimSize(axis);
  }
  // Halves of halves: there may be thousands of pieces.
  std::function<FailureOr<LaneValue>(size_t, size_t)> among =
      [&](size_t first, size_t last) -> FailureOr<LaneValue> {
    if (first == last) {
      Indices source = indices;
      source[axis] = shift(lane, -starts[first]);
      return at(op.getInputs()[first], source);
    }
    size_t middle = first + (last - first + 1) / 2;
    // A vector must not lie across the border.
    if (!staysWithin(lane, starts[middle]))
      return failure();
    return choose(
        isBelow(lane.base, starts[middle]), element,
        [&] { return among(first, middle - 1); },
        [&] { return among(middle, last); });
  };
  return among(0, starts.size() - 1);
}

} // namespace tinh::codegen
