//===- Elementwise.cpp - Arithmetic, comparisons, choice, conversion ------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/onnx/OpTable.h"
#include "compiler/Import/onnx/ops/Random.h"

using namespace mlir;

namespace tinh::onnx {

namespace {

template <typename OpTy> Results unary(NodeBuilder &b) {
  return {b.create<OpTy>({b.input(0)})};
}

/// The second operand of an op of two. Before operator set 7 it broadcasts if
/// an attribute says so, and another one at which of the first one's dimensions
/// it begins.
Value secondOperand(NodeBuilder &b) {
  Value x = b.input(0), y = b.input(1);
  if (!x || !y || b.opset() >= 7 || !b.node.domain().empty())
    return y;
  if (b.shape(x) == b.shape(y))
    return y;
  if (b.intAttribute("broadcast", 0) == 0)
    return b.fail("the shapes " + formatShape(b.shape(x)) + " and " +
                  formatShape(b.shape(y)) +
                  " differ, and there is no attribute broadcast = 1");
  if (b.type(y).getNumElements() == 1)
    return b.reshape(y, {});
  if (b.rank(y) > b.rank(x))
    return b.fail(
        formatShape(b.shape(y)) + " does not fit into " +
        formatShape(b.shape(x)) +
        "; in operator sets before 7 the second operand is broadcast");
  if (!b.hasAttribute("axis"))
    return y;
  auto axis = b.axis(b.intAttribute("axis", 0), b.rank(x));
  if (!axis)
    return {};
  int64_t behind = b.rank(x) - *axis - b.rank(y);
  if (behind < 0)
    return b.fail(formatShape(b.shape(y)) + " does not fit into " +
                  formatShape(b.shape(x)) + " from dimension " + Twine(*axis) +
                  " on");
  Ints shape(b.shape(y));
  shape.append(behind, 1);
  return b.reshape(y, shape);
}

template <typename OpTy> Results binary(NodeBuilder &b) {
  return {b.create<OpTy>({b.input(0), secondOperand(b)})};
}

/// Max, Min, Sum: any number of operands.
template <typename OpTy> Results variadic(NodeBuilder &b) {
  Value result = b.input(0);
  for (int i = 1; i < b.numInputs(); ++i)
    result = b.create<OpTy>({result, b.input(i)});
  return {result};
}

Results mean(NodeBuilder &b) {
  Value sum = variadic<graph::AddOp>(b)[0];
  return {b.div(sum, b.scalarLike(sum, b.numInputs()))};
}

template <graph::ComparePredicate predicate> Results compare(NodeBuilder &b) {
  return {b.compare(predicate, b.input(0), secondOperand(b))};
}

/// The exponent may have another type; the result has the base's.
Results power(NodeBuilder &b) {
  Value base = b.input(0), exponent = secondOperand(b);
  if (!exponent)
    return {Value()};
  Type type = b.element(base), other = b.element(exponent);
  if (isa<IntegerType>(type) && isa<FloatType>(other))
    return {
        b.cast(b.create<graph::PowOp>({b.cast(base, other), exponent}), type)};
  return {b.create<graph::PowOp>({base, b.cast(exponent, type)})};
}

Results modulo(NodeBuilder &b) {
  if (b.intAttribute("fmod", 0))
    return binary<graph::FmodOp>(b);
  return binary<graph::ModOp>(b);
}

Results bitShift(NodeBuilder &b) {
  std::string direction = b.stringAttribute("direction", "");
  if (direction == "LEFT")
    return binary<graph::ShiftLeftOp>(b);
  if (direction == "RIGHT")
    return binary<graph::ShiftRightOp>(b);
  return {b.fail("attribute direction: expected LEFT or RIGHT, found \"" +
                 direction + "\"")};
}

/// Attributes until opset 10, then inputs, either of which may be absent.
Results clip(NodeBuilder &b) {
  Value x = b.input(0), low, high;
  if (b.opset() < 11) {
    if (b.hasAttribute("min"))
      low = b.scalarLike(x, b.floatAttribute("min", 0));
    if (b.hasAttribute("max"))
      high = b.scalarLike(x, b.floatAttribute("max", 0));
  } else {
    if (b.has(1))
      low = b.input(1);
    if (b.has(2))
      high = b.input(2);
  }
  return {b.clamp(x, low, high)};
}

Results isInf(NodeBuilder &b) {
  Value x = b.input(0);
  bool negative = b.intAttribute("detect_negative", 1);
  bool positive = b.intAttribute("detect_positive", 1);
  Value result = b.create<graph::IsInfOp>({x});
  if (negative && positive)
    return {result};
  Value zero = b.scalarLike(x, 0);
  auto predicate = positive ? Predicate::Greater : Predicate::Less;
  if (!negative && !positive) // nothing counts: x > 0 and x < 0
    return {b.create<graph::AndOp>({b.compare(Predicate::Greater, x, zero),
                                    b.compare(Predicate::Less, x, zero)})};
  return {b.create<graph::AndOp>({result, b.compare(predicate, x, zero)})};
}

Results choose(NodeBuilder &b) {
  Value condition = b.input(0), yes = b.input(1);
  return {b.where(condition, yes, b.input(2))};
}

/// What is beyond the range of a float of 8 bits is limited, unless a node says
/// otherwise; powers of two are rounded up, if it does not; integers of few
/// bits keep their lowest ones.
Value castElements(NodeBuilder &b, Type to) {
  bool saturate = b.intAttribute("saturate", 1) != 0;
  if (!isa_and_present<Float8E8M0FNUType>(to))
    return b.cast(b.input(0), to, saturate);
  std::string mode = b.stringAttribute("round_mode", "up");
  std::optional<graph::Rounding> rounding = graph::symbolizeRounding(mode);
  if (!rounding)
    return b.fail(
        "attribute round_mode: expected up, down or nearest, found \"" + mode +
        "\"");
  return b.castToPower(b.input(0), *rounding, saturate);
}

Value castToDataType(NodeBuilder &b, int64_t dataType) {
  auto type = static_cast<int>(dataType);
  if (integerBits(type))
    return truncateToBits(b, b.input(0), type);
  return castElements(b, b.elementType(dataType));
}

/// Before operator set 6 an element type was a name.
std::optional<int64_t> castType(NodeBuilder &b) {
  if (b.opset() >= 6)
    return b.intAttribute("to", 0);
  std::string name = b.stringAttribute("to", "");
  TensorProto::DataType type;
  if (TensorProto::DataType_Parse(name, &type))
    return type;
  b.fail("attribute to: \"" + name + "\" is no element type");
  return std::nullopt;
}

Results castTo(NodeBuilder &b) {
  if (!b.hasAttribute("to"))
    return {b.fail("attribute to is missing")};
  auto to = castType(b);
  return {to ? castToDataType(b, *to) : Value()};
}

Results castLike(NodeBuilder &b) {
  if (integerBits(b.inputType(1)))
    return {castToDataType(b, b.inputType(1))};
  return {castElements(b, b.element(b.input(1)))};
}

/// The same bits as another type; a boolean has a byte.
Results bitCast(NodeBuilder &b) {
  Value x = b.input(0);
  Type to = b.elementType(b.intAttribute("to", 0));
  if (!to)
    return {Value()};
  Type from = b.element(x);
  auto bits = [](Type type) {
    unsigned width = type.getIntOrFloatBitWidth();
    return width == 1 ? 8 : width;
  };
  if (bits(from) != bits(to))
    return {b.fail("expected a type of " + Twine(bits(from)) +
                   " bits, found one of " + Twine(bits(to)))};
  if (from != to && to.isInteger(1))
    return {b.fail("a boolean is 0 or 1, and other bits are none; compare with "
                   "0 in place of it")};
  if (from.isInteger(1)) {
    Type byte = IntegerType::get(b.graph.context(), 8, IntegerType::Unsigned);
    x = b.cast(x, to.isInteger(1) ? to : byte);
    from = b.element(x);
  }
  if (from == to)
    return {x};
  return {b.create<graph::BitcastOp>({x}, {}, b.type(x).clone(to))};
}

/// The share that a Dropout drops, and whether it does in runs of the model,
/// too.
struct DropoutMode {
  double ratio;
  bool isDroppingInRuns;
};

/// Nothing, with an error, if that is not known.
std::optional<DropoutMode> dropoutMode(NodeBuilder &b) {
  if (b.opset() < 12)
    return DropoutMode{b.floatAttribute("ratio", 0.5),
                       b.opset() < 7 && !b.intAttribute("is_test", 0) &&
                           !b.file.isTrained};
  std::optional<double> ratio = 0.5;
  if (b.has(1) && !b.has(2) && !b.file.isTrained &&
      !b.graph.constantOf(b.input(1)))
    ratio = 0; // A run computes it, and has no use for it.
  else if (b.has(1))
    ratio = b.number(1, "ratio");
  std::optional<double> training = b.has(2) ? b.number(2, "training_mode") : 0;
  if (!ratio || !training)
    return std::nullopt;
  return DropoutMode{*ratio,
                     *training != 0 && *ratio != 0 && !b.file.isTrained};
}

/// A model that drops while it is only run: what is kept follows from the
/// node's seed, or its name, as other random numbers do.
Results dropInRuns(NodeBuilder &b, double ratio) {
  Value x = b.input(0);
  if (!isa<FloatType>(b.element(x)))
    return {
        b.fail("expected floats, found " + graph::shapeToString(x.getType()))};
  Value u = drawUniform(b, b.graph.raw().getF32Type(), b.shape(x));
  Value kept = b.compare(Predicate::GreaterEqual, u, b.scalarLike(u, ratio));
  Value scaled = b.mul(x, b.scalarLike(x, ratio < 1 ? 1 / (1 - ratio) : 0));
  return {b.where(kept, scaled, b.scalarLike(x, 0)),
          b.opset() < 10 ? b.cast(kept, b.element(x)) : kept};
}

/// The mask says what is kept: all in inference. Who wants it gets what ones
/// become, which is compared with 0 and multiplied with the input.
Results dropout(NodeBuilder &b) {
  std::optional<DropoutMode> mode = dropoutMode(b);
  if (!mode)
    return {Value()};
  if (mode->ratio < 0 || mode->ratio > 1)
    return {b.fail("ratio is " + std::to_string(mode->ratio) +
                   "; it must be from 0 to 1")};
  if (mode->isDroppingInRuns)
    return dropInRuns(b, mode->ratio);
  Value x = b.input(0);
  auto drop = [&](Value value) -> Value {
    return b.create<graph::DropoutOp>({value}, {b.attr("ratio", mode->ratio)});
  };
  if (!b.wants(1))
    return {drop(x)};
  Value factors = drop(b.broadcast(b.scalarLike(x, 1), b.shape(x)));
  Value mask = b.compare(Predicate::Greater, factors, b.scalarLike(factors, 0));
  return {b.mul(x, factors),
          b.opset() < 10 ? b.cast(mask, b.element(x)) : mask};
}

} // namespace

OpFamily elementwiseOps() {
  return {
#define UNARY_ONNX(NAME, STRING) {STRING, unary<graph::NAME##Op>, {1, 1, 1}},
#define BINARY_ONNX(NAME, STRING) {STRING, binary<graph::NAME##Op>, {1, 2, 2}},
#include "dialects/graph/ElementwiseOps.inc"
      {"BitCast", bitCast},
      {"BitShift", bitShift, {1, 2, 2}},
      {"BitwiseAnd", binary<graph::AndOp>, {1, 2, 2}},
      {"BitwiseNot", unary<graph::NotOp>, {1, 1, 1}},
      {"BitwiseOr", binary<graph::OrOp>, {1, 2, 2}},
      {"BitwiseXor", binary<graph::XorOp>, {1, 2, 2}},
      {"Cast", castTo},
      {"CastLike", castLike, {1, 2, 2}},
      {"Clip", clip},
      {"Dropout", dropout},
      {"Equal", compare<Predicate::Equal>},
      {"Greater", compare<Predicate::Greater>},
      {"GreaterOrEqual", compare<Predicate::GreaterEqual>, {1, 2, 2}},
      {"IsInf", isInf, {1, 1, 1}},
      {"Less", compare<Predicate::Less>},
      {"LessOrEqual", compare<Predicate::LessEqual>, {1, 2, 2}},
      {"Max", variadic<graph::MaxOp>},
      {"Mean", mean},
      {"Min", variadic<graph::MinOp>},
      {"Mod", modulo, {1, 2, 2}},
      {"Pow", power},
      {"Sum", variadic<graph::AddOp>},
      {"Where", choose, {1, 3, 3}},
  };
}

} // namespace tinh::onnx
