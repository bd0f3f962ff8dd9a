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

#include <numeric>

using namespace mlir;

namespace tinh::codegen {

Type memoryType(Type element) {
  return element.isInteger(1) ? IntegerType::get(element.getContext(), 8)
                              : element;
}

//===----------------------------------------------------------------------===//
// Index arithmetic
//===----------------------------------------------------------------------===//

Indices Pull::unravelIndex(Value number, ArrayRef<int64_t> shape,
                           int64_t vectorLanes) {
  Indices at(shape.size());
  int64_t width = vectorLanes;
  for (size_t i = shape.size(); i-- > 0; width = 1) {
    Value digit = i == 0 ? number : peel(number, shape[i] / width);
    at[i] = {mul(digit, width), width > 1 ? 1 : 0, width};
  }
  return at;
}

Value Pull::asVector(LaneValue value) {
  if (lanes == 1 || !value.uniform)
    return value.value;
  auto type = VectorType::get({lanes}, value.value.getType());
  return vector::BroadcastOp::create(b, loc, type, value.value);
}

FailureOr<Indices> Pull::apply(AffineMap map, const Indices &dims) {
  std::function<FailureOr<LaneIndex>(AffineExpr)> eval =
      [&](AffineExpr expr) -> FailureOr<LaneIndex> {
    if (auto dim = dyn_cast<AffineDimExpr>(expr))
      return dims[dim.getPosition()];
    if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
      int64_t value = constant.getValue();
      return LaneIndex{index(value), 0, value ? std::abs(value) : kOfZero};
    }
    auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
    if (!binary)
      return failure();
    auto lhs = eval(binary.getLHS());
    if (failed(lhs))
      return failure();
    if (expr.getKind() == AffineExprKind::Mul) {
      auto factor = dyn_cast<AffineConstantExpr>(binary.getRHS());
      if (!factor)
        return failure();
      int64_t by = factor.getValue();
      return LaneIndex{mul(lhs->base, by), lhs->stride * by,
                       std::max<int64_t>(1, lhs->alignment * std::abs(by))};
    }
    auto rhs = eval(binary.getRHS());
    if (failed(rhs) || expr.getKind() != AffineExprKind::Add)
      return failure();
    return LaneIndex{add(lhs->base, rhs->base), lhs->stride + rhs->stride,
                     std::gcd(lhs->alignment, rhs->alignment)};
  };
  Indices result;
  for (AffineExpr expr : map.getResults()) {
    auto lane = eval(expr);
    if (failed(lane))
      return failure();
    result.push_back(*lane);
  }
  return result;
}

FailureOr<Indices> Pull::loopIndices(linalg::GenericOp op,
                                     const Indices &output) {
  AffineMap map = outputMap(op);
  Indices dims(op.getNumLoops());
  for (auto [i, expr] : llvm::enumerate(map.getResults())) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (!dim)
      return failure();
    dims[dim.getPosition()] = output[i];
  }
  return dims;
}

LaneValue Pull::affineValue(LaneIndex lane) {
  if (lane.stride == 0 || lanes == 1)
    return {lane.base, true, lane};
  Value offsets = laneOffsets(lane.stride);
  Value base =
      vector::BroadcastOp::create(b, loc, offsets.getType(), lane.base);
  return {arith::AddIOp::create(b, loc, base, offsets), false, lane};
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

static LaneIndex linearIndex(Pull &pull, const Buffer &buffer,
                             const Indices &indices) {
  LaneIndex linear{pull.index(0), 0, kOfZero};
  for (auto [i, lane] : llvm::enumerate(indices)) {
    Value base = lane.base;
    int64_t alignment = lane.alignment;
    if (!buffer.origin.empty() && !isConstantIntValue(buffer.origin[i], 0)) {
      base = pull.builder().createOrFold<arith::SubIOp>(pull.location(), base,
                                                        buffer.origin[i]);
      alignment = 1;
    }
    linear.alignment =
        std::gcd(linear.alignment, alignment * buffer.strides[i]);
    linear.base = pull.add(linear.base, pull.mul(base, buffer.strides[i]));
    linear.stride += lane.stride * buffer.strides[i];
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
  auto type = VectorType::get({lanes}, b.getIndexType());
  Value step = vector::StepOp::create(b, loc, type);
  Value scale = vector::BroadcastOp::create(b, loc, type, index(stride));
  return arith::MulIOp::create(b, loc, step, scale);
}

Value Pull::activeLanes() {
  if (mask)
    return mask;
  auto type = VectorType::get({lanes}, b.getI1Type());
  return arith::ConstantOp::create(b, loc, DenseElementsAttr::get(type, true));
}

FailureOr<LaneValue> Pull::load(const Buffer &buffer, Type element,
                                const Indices &indices) {
  LaneIndex at = linearIndex(*this, buffer, indices);
  Type memory = memoryType(element);
  Value value;
  bool uniform = lanes == 1 || at.stride == 0;
  if (uniform) {
    value = memref::LoadOp::create(b, loc, buffer.memref, at.base);
  } else {
    auto type = VectorType::get({lanes}, memory);
    Value zero = arith::ConstantOp::create(b, loc, type, b.getZeroAttr(type));
    if (at.stride == 1 && !mask) {
      value = vector::LoadOp::create(b, loc, type, buffer.memref, at.base,
                                     /*nontemporal=*/false,
                                     alignmentAt(buffer, memory, at));
    } else if (at.stride == 1) {
      value = vector::MaskedLoadOp::create(b, loc, type, buffer.memref, at.base,
                                           mask, zero);
    } else {
      value =
          vector::GatherOp::create(b, loc, type, buffer.memref, at.base,
                                   laneOffsets(at.stride), activeLanes(), zero);
    }
  }
  if (element.isInteger(1)) {
    Value zero = arith::ConstantOp::create(b, loc, value.getType(),
                                           b.getZeroAttr(value.getType()));
    value = compare(arith::CmpIPredicate::ne, value, zero);
  }
  return LaneValue{value, uniform, {}};
}

LogicalResult Pull::store(LaneValue value, const Buffer &buffer,
                          const Indices &indices) {
  LaneIndex at = linearIndex(*this, buffer, indices);
  Value vector = asVector(value);
  if (getElementTypeOrSelf(vector).isInteger(1)) {
    Type byte = b.getI8Type();
    if (lanes > 1)
      byte = VectorType::get({lanes}, byte);
    vector = arith::ExtUIOp::create(b, loc, byte, vector);
  }
  if (lanes == 1) {
    memref::StoreOp::create(b, loc, vector, buffer.memref, at.base);
    return success();
  }
  if (at.stride != 1)
    vector::ScatterOp::create(b, loc, Type(), buffer.memref, at.base,
                              laneOffsets(at.stride), activeLanes(), vector);
  else if (mask)
    vector::MaskedStoreOp::create(b, loc, buffer.memref, at.base, mask, vector);
  else
    vector::StoreOp::create(
        b, loc, vector, buffer.memref, at.base, /*nontemporal=*/false,
        alignmentAt(buffer, getElementTypeOrSelf(vector), at));
  return success();
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

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
    return LaneValue{
        arith::ConstantOp::create(b, loc, b.getZeroAttr(type.getElementType())),
        true,
        {}};
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    auto splat = dyn_cast<SplatElementsAttr>(constant.getValue());
    if (!splat)
      return failure();
    auto value = splat.getSplatValue<TypedAttr>();
    return LaneValue{arith::ConstantOp::create(b, loc, value), true, {}};
  }
  if (isa<linalg::GenericOp>(op))
    return genericOnce(cast<OpResult>(tensor), indices);
  if (auto padding = dyn_cast<tensor::PadOp>(op))
    return pad(padding, indices);
  if (auto pieces = dyn_cast<tensor::ConcatOp>(op))
    return concat(pieces, indices);
  if (auto cast = dyn_cast<tensor::CastOp>(op))
    return at(cast.getSource(), indices);
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op)) {
    if (slice.getSourceType().getRank() != slice.getType().getRank())
      return failure();
    return at(slice.getSource(), beforeSlice(slice, indices));
  }
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op)) {
    Indices source = merge(indices, expand.getResultType().getShape(),
                           expand.getReassociationIndices());
    return at(expand.getSrc(), source);
  }
  if (auto collapsed = dyn_cast<tensor::CollapseShapeOp>(op)) {
    auto source = collapse(collapsed, indices);
    if (failed(source))
      return failure();
    return at(collapsed.getSrc(), *source);
  }
  return failure();
}

Indices Pull::beforeSlice(tensor::ExtractSliceOp op, const Indices &indices) {
  Indices source;
  for (auto [i, lane] : llvm::enumerate(indices)) {
    int64_t offset = op.getStaticOffset(i), step = op.getStaticStride(i);
    int64_t alignment = lane.alignment * step;
    source.push_back({add(mul(lane.base, step), index(offset)),
                      lane.stride * step,
                      offset ? std::gcd(alignment, offset) : alignment});
  }
  return source;
}

Indices Pull::merge(const Indices &indices, ArrayRef<int64_t> shape,
                    ArrayRef<ReassociationIndices> groups) {
  Indices merged;
  for (ArrayRef<int64_t> group : groups) {
    LaneIndex linear{index(0), 0, kOfZero};
    for (int64_t dim : group) {
      if (shape[dim] == 1) // Its index is zero, a multiple of anything.
        continue;
      const LaneIndex &lane = indices[dim];
      linear.base = add(mul(linear.base, shape[dim]), lane.base);
      linear.stride = linear.stride * shape[dim] + lane.stride;
      linear.alignment =
          std::gcd(linear.alignment * shape[dim], lane.alignment);
    }
    merged.push_back(linear);
  }
  return merged;
}

FailureOr<Indices> Pull::collapse(tensor::CollapseShapeOp op,
                                  const Indices &indices) {
  ArrayRef<int64_t> shape = op.getSrcType().getShape();
  Indices source(shape.size());
  for (auto [g, group] : llvm::enumerate(op.getReassociationIndices())) {
    LaneIndex rest = indices[g];
    for (size_t k = group.size(); k-- > 0;) {
      int64_t dim = group[k], extent = shape[dim];
      bool first = llvm::all_of(ArrayRef(group).take_front(k),
                                [&](int64_t d) { return shape[d] == 1; });
      if (first) {
        source[dim] = rest;
        rest = {index(0), 0, kOfZero};
        continue;
      }
      if (extent == 1) {
        source[dim] = {index(0), 0, kOfZero};
        continue;
      }
      // The lanes must stay within one run of this dimension.
      if (lanes > 1 && rest.stride != 0 &&
          !(rest.stride == 1 && extent % lanes == 0 &&
            rest.alignment % lanes == 0))
        return failure();
      Value quotient = rest.base;
      source[dim] = {peel(quotient, extent), rest.stride,
                     std::gcd(rest.alignment, extent)};
      rest = {quotient, 0,
              rest.alignment % extent == 0 ? rest.alignment / extent : 1};
    }
  }
  return source;
}

FailureOr<LaneValue>
Pull::choose(Value condition, Type element,
             function_ref<FailureOr<LaneValue>()> then,
             function_ref<FailureOr<LaneValue>()> otherwise) {
  Type type = element;
  if (lanes > 1)
    type = VectorType::get({lanes}, element);
  auto branch = scf::IfOp::create(b, loc, type, condition, true);
  auto fill = [&](Block *block, auto &build) -> LogicalResult {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(block);
    FailureOr<LaneValue> value = build();
    if (failed(value))
      return failure();
    scf::YieldOp::create(b, loc, asVector(*value));
    return success();
  };
  if (failed(fill(branch.thenBlock(), then)) ||
      failed(fill(branch.elseBlock(), otherwise))) {
    branch.erase();
    return failure();
  }
  return LaneValue{branch.getResult(0), lanes == 1, {}};
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
  return LaneValue{b.clone(*op)->getResult(0), true, {}};
}

FailureOr<LaneValue> Pull::pad(tensor::PadOp op, const Indices &indices) {
  Value constant = op.getConstantPaddingValue();
  auto value = constant ? scalar(constant) : FailureOr<LaneValue>(failure());
  if (failed(value))
    return failure();
  Value inside; // In all dimensions that are the same for all lanes.
  Value lanesInside;
  Indices source;
  auto sourceType = op.getSourceType();
  for (auto [i, lane] : llvm::enumerate(indices)) {
    int64_t low = op.getStaticLow()[i], high = op.getStaticHigh()[i];
    if (low == 0 && high == 0) {
      source.push_back(lane);
      continue;
    }
    LaneIndex moved{add(lane.base, index(-low)), lane.stride, 1};
    source.push_back(moved);
    // One unsigned comparison checks both bounds.
    Value position = affineValue(moved).value;
    Value size = index(sourceType.getDimSize(i));
    bool alongLanes = lane.stride != 0 && lanes > 1;
    if (alongLanes)
      size = vector::BroadcastOp::create(b, loc, position.getType(), size);
    Value &all = alongLanes ? lanesInside : inside;
    all = both(all, compare(arith::CmpIPredicate::ult, position, size));
  }
  auto masked = [&]() -> FailureOr<LaneValue> {
    if (!lanesInside)
      return at(op.getSource(), source);
    Value saved = mask;
    mask = both(saved, lanesInside);
    auto element = at(op.getSource(), source);
    mask = saved;
    if (failed(element))
      return failure();
    return LaneValue{
        select(lanesInside, asVector(*element), asVector(*value)), false, {}};
  };
  if (!inside)
    return masked();
  return choose(inside, sourceType.getElementType(), masked,
                [&] { return value; });
}

FailureOr<LaneValue> Pull::concat(tensor::ConcatOp op, const Indices &indices) {
  int64_t axis = op.getDim();
  Type element = op.getResultType().getElementType();
  const LaneIndex lane = indices[axis];
  std::function<FailureOr<LaneValue>(unsigned, int64_t)> from =
      [&](unsigned i, int64_t start) -> FailureOr<LaneValue> {
    Value piece = op.getInputs()[i];
    int64_t size = cast<RankedTensorType>(piece.getType()).getDimSize(axis);
    auto inPiece = [&] {
      Indices source = indices;
      source[axis] = {add(lane.base, index(-start)), lane.stride,
                      start ? std::gcd(lane.alignment, start) : lane.alignment};
      return at(piece, source);
    };
    if (i + 1 == op.getInputs().size())
      return inPiece();
    // A vector must not lie across the border.
    if (lanes > 1 && lane.stride != 0 &&
        !(lane.stride == 1 && lane.alignment % lanes == 0 &&
          (start + size) % lanes == 0))
      return failure();
    Value before = b.createOrFold<arith::CmpIOp>(
        loc, arith::CmpIPredicate::ult, lane.base, index(start + size));
    return choose(before, element, inPiece,
                  [&] { return from(i + 1, start + size); });
  };
  return from(0, 0);
}

} // namespace tinh::codegen
