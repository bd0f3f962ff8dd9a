//===- Emitter.cpp - Building linalg on tensors -----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/Linalg/Emitter.h"

#include "dialects/origin/Origin.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace tinh::codegen {

ArrayRef<int64_t> shapeOf(Value tensor) {
  return cast<RankedTensorType>(tensor.getType()).getShape();
}

Type elementOf(Value tensor) {
  return cast<RankedTensorType>(tensor.getType()).getElementType();
}

SmallVector<int64_t> splitExtent(ArrayRef<int64_t> shape, int64_t axis,
                                 int64_t groups) {
  SmallVector<int64_t> split(shape);
  split[axis] /= groups;
  split.insert(split.begin() + axis, groups);
  return split;
}

AffineMap Emitter::broadcast(Shape from, Shape to) {
  SmallVector<AffineExpr> results;
  int64_t lead = to.size() - from.size();
  for (auto [i, extent] : llvm::enumerate(from))
    results.push_back(extent == to[lead + i] ? dim(lead + i) : zero());
  return map(to.size(), results);
}

//===----------------------------------------------------------------------===//
// Generics
//===----------------------------------------------------------------------===//

Value Emitter::empty(Shape shape, Type element) {
  return tensor::EmptyOp::create(b, shape, storageType(element));
}

Value Emitter::fill(Shape shape, Value scalar) {
  Value init = empty(shape, scalar.getType());
  return linalg::FillOp::create(b, ValueRange(scalar), ValueRange(init))
      .getResult(0);
}

SmallVector<Value> Emitter::reduceAll(ValueRange inits, ValueRange inputs,
                                      Maps maps, Bodies body) {
  AffineMap result = maps.back();
  SmallVector<utils::IteratorType> iterators(result.getNumDims(),
                                             utils::IteratorType::reduction);
  for (AffineExpr expr : result.getResults())
    iterators[cast<AffineDimExpr>(expr).getPosition()] =
        utils::IteratorType::parallel;
  auto generic = linalg::GenericOp::create(
      b, TypeRange(inits), inputs, inits, maps, iterators,
      [&](OpBuilder &nested, Location location, ValueRange arguments) {
        ImplicitLocOpBuilder inner(location, nested);
        Scalars s(inner, isUnsigned);
        linalg::YieldOp::create(inner, body(s, arguments));
      });
  return generic.getResults();
}

Value Emitter::reduce(Value init, ValueRange inputs, Maps maps, Body body) {
  return reduceAll(init, inputs, maps, [&](Scalars &s, ValueRange arguments) {
    return SmallVector<Value>{body(s, arguments)};
  })[0];
}

static Value computeConstant(Scalars &s, TypedAttr value) {
  if (auto real = dyn_cast<FloatAttr>(value))
    return s.constant(computeType(value.getType()), real.getValueAsDouble());
  return arith::ConstantOp::create(s.b, value);
}

Value Emitter::formula(Type result, ValueRange operands, Body body) {
  auto type = cast<RankedTensorType>(result);
  Type element = storageType(type.getElementType());
  SmallVector<Value> inputs;
  for (Value operand : operands)
    if (!constantOf(operand))
      inputs.push_back(operand);
  // What decides or counts, such as a comparison, sees numbers as they are.
  bool mayBeWider = isa<FloatType>(element);
  return elementwise(
      type.getShape(), element, inputs, [&](Scalars &s, ValueRange arguments) {
        auto convert = [&](Value x, Type to) {
          return mayBeWider ? s.convertWithin(x, to) : s.convert(x, to);
        };
        SmallVector<Value> values;
        auto next = arguments.begin();
        for (Value operand : operands) {
          TypedAttr constant = constantOf(operand);
          if (constant) {
            values.push_back(computeConstant(s, constant));
            continue;
          }
          Value argument = *next++;
          values.push_back(convert(argument, computeType(argument.getType())));
        }
        return convert(body(s, values), element);
      });
}

Value Emitter::parallel(Shape shape, Type element, ValueRange inputs, Maps maps,
                        Body body) {
  SmallVector<AffineMap> all(maps);
  all.push_back(identity(shape.size()));
  return reduce(empty(shape, element), inputs, all, body);
}

Value Emitter::elementwise(Shape shape, Type element, ValueRange inputs,
                           Body body) {
  SmallVector<AffineMap> maps;
  for (Value input : inputs)
    maps.push_back(broadcast(shapeOf(input), shape));
  return parallel(shape, element, inputs, maps, body);
}

Reduced Emitter::reduceAxes(Shape full, ValueRange inputs, Maps maps,
                            Shape axes, Value initial, Body body) {
  SmallVector<int64_t> kept;
  SmallVector<AffineExpr> exprs;
  for (auto [i, extent] : llvm::enumerate(full)) {
    if (llvm::is_contained(axes, static_cast<int64_t>(i)))
      continue;
    kept.push_back(extent);
    exprs.push_back(dim(i));
  }
  SmallVector<AffineMap> all(maps);
  all.push_back(map(full.size(), exprs));
  return {reduce(fill(kept, initial), inputs, all, body), all.back()};
}

Value Emitter::divideBy(Value sum, int64_t count) {
  Type type = elementOf(sum);
  return elementwise(shapeOf(sum), type, sum, [&](Scalars &s, ValueRange v) {
    if (isa<FloatType>(type))
      return s.mul(v[0], s.constant(type, 1.0 / count));
    return s.div(v[0], s.constant(type, count));
  });
}

Value Emitter::multiplyAdd(Shape shape, Type accumulator, Value x, Value y,
                           Maps maps, Signs unsignedElements) {
  Value init = fill(shape, scalars().constant(accumulator, 0));
  return reduce(init, {x, y}, maps, [&](Scalars &s, ValueRange arguments) {
    auto extended = [&](int i) {
      return Scalars(s.b, unsignedElements[i])
          .convert(arguments[i], accumulator);
    };
    return s.add(arguments[2], s.mul(extended(0), extended(1)));
  });
}

Value Emitter::withOrigin(Value x, Attribute origin) {
  x.getDefiningOp()->setAttr(origin::kOp, origin);
  return x;
}

Value Emitter::convert(Value x, Type element) {
  if (elementOf(x) == element)
    return x;
  return elementwise(shapeOf(x), element, x,
                     [&](Scalars &s, ValueRange arguments) {
                       return s.convertWithin(arguments[0], element);
                     });
}

Value Emitter::index(Scalars &s, int64_t dimension) {
  return linalg::IndexOp::create(s.b, dimension);
}

Value Emitter::extract(Scalars &s, Value tensor, ValueRange indices) {
  return tensor::ExtractOp::create(s.b, tensor, indices);
}

Value Emitter::validIndex(Scalars &s, Value element, int64_t extent) {
  Scalars indices(s.b); // signed, whatever the elements of other operands are
  Value index = arith::IndexCastOp::create(s.b, s.b.getIndexType(), element);
  Value wrapped = indices.add(index, indices.index(extent));
  index = indices.select(indices.less(index, indices.index(0)), wrapped, index);
  return indices.clampIndex(index, extent);
}

//===----------------------------------------------------------------------===//
// Views and movement
//===----------------------------------------------------------------------===//

Value Emitter::reshape(Value x, Shape shape) {
  auto from = cast<RankedTensorType>(x.getType());
  auto to = RankedTensorType::get(shape, from.getElementType());
  if (from == to)
    return x;
  bool hasElements = to.getNumElements() != 0;
  std::optional<SmallVector<ReassociationIndices>> groups;
  if (hasElements && from.getRank() != to.getRank())
    groups = getReassociationIndicesForReshape(from, to);
  if (!groups && from.getRank() > 1 && to.getRank() != 1)
    // No grouping of dimensions leads there: by way of one dimension.
    return reshape(reshape(x, to.getNumElements()), shape);
  if (!groups) { // From or to rank 0 or 1.
    groups.emplace();
    int64_t low = std::min(from.getRank(), to.getRank());
    if (low == 1)
      groups->push_back(llvm::to_vector(
          llvm::seq<int64_t>(0, std::max(from.getRank(), to.getRank()))));
  }
  if (from.getRank() < to.getRank())
    return tensor::ExpandShapeOp::create(b, to, x, *groups);
  return tensor::CollapseShapeOp::create(b, to, x, *groups);
}

Value Emitter::permute(Value x, ArrayRef<int64_t> permutation) {
  SmallVector<int64_t> shape;
  SmallVector<AffineExpr> from(permutation.size());
  for (auto [i, source] : llvm::enumerate(permutation)) {
    shape.push_back(shapeOf(x)[source]);
    from[source] = dim(i);
  }
  return move(shape, x, map(shape.size(), from));
}

Value Emitter::move(Shape shape, Value x, AffineMap from) {
  return parallel(shape, elementOf(x), x, from,
                  [](Scalars &, ValueRange arguments) { return arguments[0]; });
}

static SmallVector<OpFoldResult> foldable(OpBuilder &b,
                                          ArrayRef<int64_t> values) {
  return llvm::map_to_vector(values, [&](int64_t value) -> OpFoldResult {
    return b.getIndexAttr(value);
  });
}

Value Emitter::pad(Value x, Shape low, Shape high, Value scalar) {
  auto isZero = [](int64_t amount) { return amount == 0; };
  if (llvm::all_of(low, isZero) && llvm::all_of(high, isZero))
    return x;
  SmallVector<int64_t> shape(shapeOf(x));
  for (size_t i = 0; i < shape.size(); ++i)
    shape[i] += low[i] + high[i];
  return tensor::PadOp::create(b, RankedTensorType::get(shape, elementOf(x)), x,
                               foldable(b, low), foldable(b, high), scalar);
}

Value Emitter::slice(Value x, Shape offsets, Shape sizes, Shape steps) {
  if (llvm::is_contained(sizes, 0)) // may start at the very end
    return empty(sizes, elementOf(x));
  return tensor::ExtractSliceOp::create(b, x, foldable(b, offsets),
                                        foldable(b, sizes), foldable(b, steps));
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

TypedAttr Emitter::constantOf(Value tensor) {
  while (Operation *op = tensor.getDefiningOp()) {
    if (auto fill = dyn_cast<linalg::FillOp>(op)) {
      TypedAttr value;
      if (matchPattern(fill.getInputs()[0], m_Constant(&value)))
        return value;
      return {};
    }
    if (!isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op))
      break;
    tensor = op->getOperand(0);
  }
  return {};
}

Value Emitter::scalarOf(Value tensor) {
  if (TypedAttr value = constantOf(tensor))
    return arith::ConstantOp::create(b, value);
  SmallVector<Value> indices;
  for (size_t i = 0; i < shapeOf(tensor).size(); ++i)
    indices.push_back(arith::ConstantIndexOp::create(b, 0));
  return tensor::ExtractOp::create(b, tensor, indices);
}

} // namespace tinh::codegen
