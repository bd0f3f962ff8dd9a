//===- EvaluateConstants.cpp - Computes small constants during import -----===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/EvaluateConstants.h"

#include "compiler/Import/GraphBuilder.h"

#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;

namespace tinh {

namespace {

using Doubles = SmallVector<double>;
using Ints = SmallVector<int64_t>;

/// A tensor of integers or of floats, wide enough for each element type.
struct Tensor {
  Ints shape;
  bool isFloat = false;
  Ints ints;
  Doubles floats;

  int64_t size() const { return isFloat ? floats.size() : ints.size(); }
};

Tensor read(DenseElementsAttr value) {
  Tensor t;
  t.shape = Ints(cast<RankedTensorType>(value.getType()).getShape());
  t.isFloat = isa<FloatType>(value.getElementType());
  if (t.isFloat)
    t.floats = denseToDoubles(value);
  else
    t.ints = denseToInts(value);
  return t;
}

DenseElementsAttr write(RankedTensorType type, const Tensor &t) {
  Type element = type.getElementType();
  SmallVector<Attribute> elements;
  for (int64_t i = 0; i < type.getNumElements(); ++i) {
    if (auto floats = dyn_cast<FloatType>(element)) {
      elements.push_back(FloatAttr::get(floats, t.floats[i]));
      continue;
    }
    APInt bits(element.getIntOrFloatBitWidth(),
               static_cast<uint64_t>(t.ints[i]), true, true);
    elements.push_back(IntegerAttr::get(element, bits));
  }
  return DenseElementsAttr::get(type, elements);
}

Ints strides(ArrayRef<int64_t> shape) {
  Ints result(shape.size(), 1);
  for (int64_t i = static_cast<int64_t>(shape.size()) - 2; i >= 0; --i)
    result[i] = result[i + 1] * shape[i + 1];
  return result;
}

/// Calls `visit` with each index of a shape, row by row.
void forEach(ArrayRef<int64_t> shape, llvm::function_ref<void(Ints &)> visit) {
  if (llvm::is_contained(shape, 0))
    return;
  Ints index(shape.size(), 0);
  for (;;) {
    visit(index);
    int64_t d = static_cast<int64_t>(shape.size()) - 1;
    while (d >= 0 && ++index[d] == shape[d])
      index[d--] = 0;
    if (d < 0)
      return;
  }
}

/// The element of a tensor that a broadcast puts at `index`.
int64_t broadcastOffset(ArrayRef<int64_t> index, ArrayRef<int64_t> shape) {
  Ints step = strides(shape);
  size_t lead = index.size() - shape.size();
  int64_t offset = 0;
  for (size_t i = 0; i < shape.size(); ++i)
    offset += shape[i] == 1 ? 0 : index[lead + i] * step[i];
  return offset;
}

void append(Tensor &to, const Tensor &from, int64_t at) {
  if (from.isFloat)
    to.floats.push_back(from.floats[at]);
  else
    to.ints.push_back(from.ints[at]);
}

//===----------------------------------------------------------------------===//
// Element-wise
//===----------------------------------------------------------------------===//

/// Integer arithmetic wraps; a division by zero has no value.
std::optional<int64_t> onInts(Operation *op, int64_t a, int64_t b) {
  auto wrap = [](uint64_t v) { return static_cast<int64_t>(v); };
  uint64_t ua = a, ub = b;
  bool divides = isa<graph::DivOp, graph::ModOp, graph::FmodOp>(op);
  if (divides && (b == 0 || (a == INT64_MIN && b == -1)))
    return std::nullopt;
  return llvm::TypeSwitch<Operation *, std::optional<int64_t>>(op)
      .Case([&](graph::AddOp) { return wrap(ua + ub); })
      .Case([&](graph::SubOp) { return wrap(ua - ub); })
      .Case([&](graph::MulOp) { return wrap(ua * ub); })
      .Case([&](graph::DivOp) { return a / b; })
      .Case([&](graph::FmodOp) { return a % b; })
      .Case([&](graph::ModOp) {
        int64_t r = a % b;
        return r != 0 && (r < 0) != (b < 0) ? r + b : r;
      })
      .Case([&](graph::MaxOp) { return std::max(a, b); })
      .Case([&](graph::MinOp) { return std::min(a, b); })
      .Case([&](graph::AndOp) { return a & b; })
      .Case([&](graph::OrOp) { return a | b; })
      .Case([&](graph::XorOp) { return a ^ b; })
      .Default([](Operation *) { return std::nullopt; });
}

std::optional<double> onFloats(Operation *op, double a, double b) {
  return llvm::TypeSwitch<Operation *, std::optional<double>>(op)
      .Case([&](graph::AddOp) { return a + b; })
      .Case([&](graph::SubOp) { return a - b; })
      .Case([&](graph::MulOp) { return a * b; })
      .Case([&](graph::DivOp) { return a / b; })
      .Case([&](graph::PowOp) { return std::pow(a, b); })
      .Case([&](graph::MaxOp) { return std::fmax(a, b); })
      .Case([&](graph::MinOp) { return std::fmin(a, b); })
      .Default([](Operation *) { return std::nullopt; });
}

template <typename T> bool holds(graph::ComparePredicate p, T a, T b) {
  switch (p) {
  case graph::ComparePredicate::Equal:
    return a == b;
  case graph::ComparePredicate::NotEqual:
    return a != b;
  case graph::ComparePredicate::Less:
    return a < b;
  case graph::ComparePredicate::LessEqual:
    return a <= b;
  case graph::ComparePredicate::Greater:
    return a > b;
  case graph::ComparePredicate::GreaterEqual:
    return a >= b;
  }
  return false;
}

bool evaluateBinary(Operation *op, ArrayRef<Tensor> in, Tensor &out) {
  bool ok = true;
  forEach(out.shape, [&](Ints &index) {
    int64_t i = broadcastOffset(index, in[0].shape);
    int64_t j = broadcastOffset(index, in[1].shape);
    if (auto compare = dyn_cast<graph::CompareOp>(op)) {
      auto p = compare.getPredicate();
      out.ints.push_back(in[0].isFloat
                             ? holds(p, in[0].floats[i], in[1].floats[j])
                             : holds(p, in[0].ints[i], in[1].ints[j]));
    } else if (out.isFloat) {
      auto value = onFloats(op, in[0].floats[i], in[1].floats[j]);
      ok &= value.has_value();
      out.floats.push_back(value.value_or(0));
    } else {
      auto value = onInts(op, in[0].ints[i], in[1].ints[j]);
      ok &= value.has_value();
      out.ints.push_back(value.value_or(0));
    }
  });
  return ok;
}

bool evaluateUnary(Operation *op, const Tensor &in, Tensor &out) {
  bool isBool = cast<RankedTensorType>(op->getResult(0).getType())
                    .getElementType()
                    .isInteger(1);
  for (int64_t i = 0; i < in.size(); ++i) {
    if (isa<graph::NotOp>(op) && !in.isFloat) {
      out.ints.push_back(isBool ? !in.ints[i] : ~in.ints[i]);
    } else if (isa<graph::NegOp, graph::AbsOp>(op) && !in.isFloat) {
      bool negate = isa<graph::NegOp>(op) || in.ints[i] < 0;
      out.ints.push_back(
          negate ? static_cast<int64_t>(0 - static_cast<uint64_t>(in.ints[i]))
                 : in.ints[i]);
    } else if (in.isFloat && out.isFloat) {
      double x = in.floats[i];
      auto value = llvm::TypeSwitch<Operation *, std::optional<double>>(op)
                       .Case([&](graph::NegOp) { return -x; })
                       .Case([&](graph::AbsOp) { return std::fabs(x); })
                       .Case([&](graph::FloorOp) { return std::floor(x); })
                       .Case([&](graph::CeilOp) { return std::ceil(x); })
                       .Case([&](graph::SqrtOp) { return std::sqrt(x); })
                       .Case([&](graph::RoundOp) { return std::nearbyint(x); })
                       .Case([&](graph::ReciprocalOp) { return 1 / x; })
                       .Default([](Operation *) { return std::nullopt; });
      if (!value)
        return false;
      out.floats.push_back(*value);
    } else {
      return false;
    }
  }
  return true;
}

bool evaluateCast(const Tensor &in, RankedTensorType type, Tensor &out) {
  bool toBool = type.getElementType().isInteger(1);
  for (int64_t i = 0; i < in.size(); ++i) {
    if (out.isFloat) {
      out.floats.push_back(in.isFloat ? in.floats[i]
                                      : static_cast<double>(in.ints[i]));
    } else if (toBool) {
      out.ints.push_back(in.isFloat ? in.floats[i] != 0 : in.ints[i] != 0);
    } else if (in.isFloat) {
      if (!(std::fabs(in.floats[i]) < 9e18))
        return false;
      out.ints.push_back(static_cast<int64_t>(in.floats[i]));
    } else {
      out.ints.push_back(in.ints[i]);
    }
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Movement
//===----------------------------------------------------------------------===//

void evaluateConcat(int64_t axis, ArrayRef<Tensor> in, Tensor &out) {
  forEach(out.shape, [&](Ints &index) {
    Ints local = index;
    size_t part = 0;
    while (local[axis] >= in[part].shape[axis])
      local[axis] -= in[part++].shape[axis];
    append(out, in[part], broadcastOffset(local, in[part].shape));
  });
}

void evaluateGather(int64_t axis, ArrayRef<Tensor> in, Tensor &out) {
  const Tensor &x = in[0], &indices = in[1];
  size_t picked = indices.shape.size();
  Ints step = strides(x.shape), indexStep = strides(indices.shape);
  forEach(out.shape, [&](Ints &index) {
    int64_t which = 0;
    for (size_t i = 0; i < picked; ++i)
      which += index[axis + i] * indexStep[i];
    int64_t extent = x.shape[axis];
    int64_t at = indices.ints[which];
    at = std::clamp<int64_t>(at < 0 ? at + extent : at, 0, extent - 1);
    int64_t offset = at * step[axis];
    for (int64_t i = 0; i < axis; ++i)
      offset += index[i] * step[i];
    for (size_t i = axis + 1; i < x.shape.size(); ++i)
      offset += index[i + picked - 1] * step[i];
    append(out, x, offset);
  });
}

void evaluateSlice(graph::SliceOp op, const Tensor &in, Tensor &out) {
  Ints step = strides(in.shape);
  forEach(out.shape, [&](Ints &index) {
    int64_t offset = 0;
    for (size_t i = 0; i < index.size(); ++i)
      offset += (op.getStarts()[i] + index[i] * op.getSteps()[i]) * step[i];
    append(out, in, offset);
  });
}

void evaluateTranspose(graph::TransposeOp op, const Tensor &in, Tensor &out) {
  Ints step = strides(in.shape);
  forEach(out.shape, [&](Ints &index) {
    int64_t offset = 0;
    for (size_t i = 0; i < index.size(); ++i)
      offset += index[i] * step[op.getPermutation()[i]];
    append(out, in, offset);
  });
}

bool evaluateReduce(graph::ReduceOp op, const Tensor &in, Tensor &out) {
  auto kind = op.getKind();
  if (in.isFloat || in.ints.empty() || kind == graph::ReduceKind::Mean)
    return false;
  bool isBool = getElementTypeOrSelf(op.getX()).isInteger(1);
  Ints kept(in.shape);
  for (int64_t axis : op.getAxes())
    kept[axis] = 1;
  Ints step = strides(kept);
  SmallVector<std::optional<int64_t>> sums(*countElements(kept));
  int64_t at = 0;
  forEach(in.shape, [&](Ints &index) {
    std::optional<int64_t> &sum = sums[broadcastOffset(index, kept)];
    int64_t x = in.ints[at++];
    uint64_t ux = x, us = sum.value_or(0);
    if (!sum)
      sum = x;
    else if (kind == graph::ReduceKind::Sum)
      sum = static_cast<int64_t>(us + ux);
    else if (kind == graph::ReduceKind::Prod)
      sum = static_cast<int64_t>(us * ux);
    else
      sum = kind == graph::ReduceKind::Max ? std::max(*sum, x)
                                           : std::min(*sum, x);
  });
  for (auto sum : sums)
    out.ints.push_back(*sum);
  return !isBool || kind == graph::ReduceKind::Max ||
         kind == graph::ReduceKind::Min;
}

bool evaluateMovement(Operation *op, ArrayRef<Tensor> in, Tensor &out) {
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case([&](graph::ReshapeOp) {
        out.ints = in[0].ints;
        out.floats = in[0].floats;
        return true;
      })
      .Case([&](graph::BroadcastOp) {
        forEach(out.shape, [&](Ints &index) {
          append(out, in[0], broadcastOffset(index, in[0].shape));
        });
        return true;
      })
      .Case([&](graph::ConcatOp concat) {
        evaluateConcat(concat.getAxis(), in, out);
        return true;
      })
      .Case([&](graph::GatherOp gather) {
        if (in[0].shape[gather.getAxis()] == 0)
          return false;
        evaluateGather(gather.getAxis(), in, out);
        return true;
      })
      .Case([&](graph::SliceOp slice) {
        evaluateSlice(slice, in[0], out);
        return true;
      })
      .Case([&](graph::TransposeOp transpose) {
        evaluateTranspose(transpose, in[0], out);
        return true;
      })
      .Case([&](graph::ReduceOp reduce) {
        return evaluateReduce(reduce, in[0], out);
      })
      .Case([&](graph::WhereOp) {
        forEach(out.shape, [&](Ints &index) {
          bool yes = in[0].ints[broadcastOffset(index, in[0].shape)];
          const Tensor &from = yes ? in[1] : in[2];
          append(out, from, broadcastOffset(index, from.shape));
        });
        return true;
      })
      .Case([&](graph::IotaOp iota) {
        for (int64_t i = 0; i < out.shape[0] && !out.isFloat; ++i)
          out.ints.push_back(
              static_cast<int64_t>(static_cast<uint64_t>(iota.getStart()) +
                                   static_cast<uint64_t>(iota.getStep()) * i));
        return !out.isFloat;
      })
      .Default([](Operation *) { return false; });
}

} // namespace

std::optional<DenseElementsAttr>
evaluateConstant(Operation *op, ArrayRef<DenseElementsAttr> operands) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  SmallVector<Tensor> in;
  for (DenseElementsAttr operand : operands)
    in.push_back(read(operand));
  Tensor out;
  out.shape = Ints(type.getShape());
  out.isFloat = isa<FloatType>(type.getElementType());
  bool ok;
  if (isa<graph::CastOp>(op))
    ok = evaluateCast(in[0], type, out);
  else if (evaluateMovement(op, in, out))
    ok = true;
  else if (in.size() == 2 && op->hasTrait<graph::ElementwiseOpTrait>())
    ok = evaluateBinary(op, in, out);
  else
    ok = in.size() == 1 && op->hasTrait<graph::ElementwiseOpTrait>() &&
         evaluateUnary(op, in[0], out);
  if (!ok || out.size() != type.getNumElements())
    return std::nullopt;
  return write(type, out);
}

} // namespace tinh
