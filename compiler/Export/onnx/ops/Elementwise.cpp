//===- Elementwise.cpp - Arithmetic, comparisons, choice, conversion ------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Export/onnx/NodeWriter.h"

#include "compiler/Import/onnx/Tensors.h"

using namespace mlir;

namespace tinh::onnx {

Tensor same(NodeWriter &w) { return w.node(w.onnx, w.operands(), w.type()); }

namespace {

/// The same for numbers only.
Tensor arithmetic(NodeWriter &w) {
  if (w.operand(0).isBool())
    return w.refuse("ONNX's " + w.onnx + " takes numbers, not booleans");
  return same(w);
}

//===----------------------------------------------------------------------===//
// Unary
//===----------------------------------------------------------------------===//

Tensor neg(NodeWriter &w) {
  Tensor x = w.operand(0);
  if (x.isUnsigned())
    return w.elementwise("Sub", w.scalarLike(x, 0), x);
  return arithmetic(w);
}

/// Of booleans and, for relu, of what has no sign, these are the operand.
Tensor abs(NodeWriter &w) {
  return w.operand(0).isBool() ? w.operand(0) : same(w);
}
Tensor relu(NodeWriter &w) {
  return w.operand(0).isUnsigned() ? w.operand(0) : abs(w);
}

Tensor rsqrt(NodeWriter &w) {
  return w.node("Reciprocal", w.node("Sqrt", w.operand(0)));
}

Tensor gelu(NodeWriter &w, graph::GeluOp op) {
  StringRef approximate = op.getTanhApproximation() ? "tanh" : "none";
  return w.node("Gelu", w.operand(0), w.type(),
                {attribute("approximate", approximate)});
}

Tensor castTo(NodeWriter &w, graph::CastOp op) {
  Type element = w.type().getElementType();
  if (!graph::isStorageFloat(element))
    return w.cast(w.operand(0), element);
  Attributes attributes = {attribute("to", int64_t(findElementType(element)))};
  if (!op.getSaturate())
    attributes.push_back(attribute("saturate", int64_t(0)));
  if (isa<Float8E8M0FNUType>(element))
    attributes.push_back(
        attribute("round_mode", stringifyRounding(op.getRounding())));
  return w.node("Cast", w.operand(0), w.type(), attributes);
}

Tensor bitcast(NodeWriter &w, graph::BitcastOp op) {
  Type element = getElementTypeOrSelf(op.getY());
  return w.node("BitCast", w.operand(0), w.type(),
                {attribute("to", int64_t(findElementType(element)))});
}

//===----------------------------------------------------------------------===//
// Logic and bits
//===----------------------------------------------------------------------===//

/// The table has what it is for booleans, "Bitwise" before it for integers.
Tensor logic(NodeWriter &w) {
  Tensor x = w.operand(0);
  if (x.isFloat())
    return w.refuse("ONNX's " + w.onnx + " takes booleans and integers");
  std::string name = (x.isBool() ? "" : "Bitwise") + w.onnx.str();
  return w.node(name, w.operands(), w.type());
}

/// The larger of two booleans is their disjunction. With a bound, which Clip
/// takes if it is one number, x has the gradient at it.
template <typename Op> Tensor extremum(NodeWriter &w, Op op) {
  constexpr bool larger = std::is_same_v<Op, graph::MaxOp>;
  if (w.operand(0).isBool())
    return w.node(larger ? "Or" : "And", w.operands(), w.type());
  Tensor x = w.operand(0), limit = w.operand(1), none;
  if (!op.getBound() || limit.rank() != 0)
    return w.node(larger ? "Max" : "Min", w.operands(), w.type());
  if (larger)
    return w.node("Clip", {x, limit}, w.type());
  return w.node("Clip", {x, none, limit}, w.type());
}

Type unsignedLike(Type element) {
  return IntegerType::get(element.getContext(), element.getIntOrFloatBitWidth(),
                          IntegerType::Unsigned);
}

Tensor shift(NodeWriter &w, const Tensor &x, const Tensor &amount,
             StringRef direction) {
  Type bits = unsignedLike(x.element());
  Tensor y = w.node("BitShift", {w.cast(x, bits), w.cast(amount, bits)},
                    w.typeOf(bits), {attribute("direction", direction)});
  return w.cast(y, x.element());
}

bool checkShift(NodeWriter &w) {
  Tensor x = w.operand(0);
  if (!x.isFloat() && !x.isBool())
    return true;
  w.refuse("ONNX's BitShift takes integers");
  return false;
}

Tensor shiftLeft(NodeWriter &w) {
  if (!checkShift(w))
    return {};
  return shift(w, w.operand(0), w.operand(1), "LEFT");
}

/// ONNX shifts unsigned integers only. A negative one is shifted as its
/// complement, so that ones come in from the left.
Tensor shiftRight(NodeWriter &w) {
  if (!checkShift(w))
    return {};
  Tensor x = w.operand(0), amount = w.operand(1);
  if (x.isUnsigned())
    return shift(w, x, amount, "RIGHT");
  Tensor isNegative = w.compare("Less", x, w.scalarLike(x, 0));
  Tensor positive = w.where(isNegative, w.node("BitwiseNot", x), x);
  Tensor y = shift(w, positive, amount, "RIGHT");
  return w.where(isNegative, w.node("BitwiseNot", y), y);
}

//===----------------------------------------------------------------------===//
// Powers and remainders
//===----------------------------------------------------------------------===//

/// ONNX's base is a float, an i32 or an i64.
Tensor power(NodeWriter &w) {
  Tensor a = w.operand(0), b = w.operand(1);
  if (a.isBool())
    return w.refuse("ONNX's Pow takes numbers, not booleans");
  Type element = a.element(), wide = arithmeticType(element);
  if (wide == element)
    return same(w);
  return w.cast(w.elementwise("Pow", w.cast(a, wide), w.cast(b, wide)),
                element);
}

Tensor remainder(NodeWriter &w, const Tensor &a, const Tensor &b, bool fmod) {
  return w.node("Mod", {a, b}, w.type(), {attribute("fmod", int64_t(fmod))});
}

Tensor fmod(NodeWriter &w) {
  if (w.operand(0).isBool())
    return w.refuse("ONNX's Mod takes numbers, not booleans");
  return remainder(w, w.operand(0), w.operand(1), /*fmod=*/true);
}

/// ONNX gives floats the sign of the dividend only: where the remainder's is
/// not the divisor's, that is added.
Tensor mod(NodeWriter &w) {
  Tensor a = w.operand(0), b = w.operand(1);
  if (!a.isFloat())
    return a.isBool() ? fmod(w) : remainder(w, a, b, /*fmod=*/false);
  Tensor r = remainder(w, a, b, /*fmod=*/true), zero = w.scalarLike(a, 0);
  Tensor isRest = w.node("Not", w.compare("Equal", r, zero));
  Tensor differ = w.elementwise("Xor", w.compare("Less", r, zero),
                                w.compare("Less", b, zero));
  return w.where(w.elementwise("And", isRest, differ),
                 w.elementwise("Add", r, b), r);
}

//===----------------------------------------------------------------------===//
// Comparisons
//===----------------------------------------------------------------------===//

StringRef nodeOf(graph::ComparePredicate predicate) {
  using Predicate = graph::ComparePredicate;
  switch (predicate) {
  case Predicate::Equal:
  case Predicate::NotEqual:
    return "Equal";
  case Predicate::Less:
    return "Less";
  case Predicate::LessEqual:
    return "LessOrEqual";
  case Predicate::Greater:
    return "Greater";
  case Predicate::GreaterEqual:
    return "GreaterOrEqual";
  }
  llvm_unreachable("all predicates are listed");
}

Tensor compare(NodeWriter &w, graph::CompareOp op) {
  Tensor a = w.operand(0), b = w.operand(1);
  StringRef name = nodeOf(op.getPredicate());
  if (a.isBool() && name != "Equal") { // ONNX has no order of booleans
    Type byte = IntegerType::get(op.getContext(), 8, IntegerType::Unsigned);
    a = w.cast(a, byte);
    b = w.cast(b, byte);
  }
  Tensor y = w.compare(name, a, b);
  bool isNegated = op.getPredicate() == graph::ComparePredicate::NotEqual;
  return isNegated ? w.node("Not", y) : y;
}

} // namespace

OpWriters elementwiseWriters() {
  return {{"graph.abs", abs},
          {"graph.add", arithmetic},
          {"graph.and", logic},
          {"graph.div", arithmetic},
          {"graph.fmod", fmod},
          {"graph.isinf", same, "IsInf"},
          {"graph.mod", mod},
          {"graph.mul", arithmetic},
          {"graph.neg", neg},
          {"graph.not", logic},
          {"graph.or", logic},
          {"graph.pow", power, "Pow"},
          {"graph.relu", relu},
          {"graph.rsqrt", rsqrt},
          {"graph.shift_left", shiftLeft},
          {"graph.shift_right", shiftRight},
          {"graph.sign", abs},
          {"graph.sub", arithmetic},
          {"graph.where", same, "Where"},
          {"graph.xor", logic},
          entry<bitcast>(),
          entry<castTo>(),
          entry<compare>(),
          entry<gelu>(),
          entry<extremum<graph::MaxOp>>(),
          entry<extremum<graph::MinOp>>()};
}

} // namespace tinh::onnx
