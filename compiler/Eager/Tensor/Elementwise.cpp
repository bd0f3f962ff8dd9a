//===- Elementwise.cpp - Operations element by element ----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Arithmetic, comparison and logic, on what all of them share: a common dtype,
// a common shape, a result that is new or written in place.
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Tensor/Elementwise.h"

#include "compiler/Eager/Tensor/Autocast.h"

using namespace tinh;
using namespace tinh::eager;

namespace {

/// The operands as a backend takes them.
class ElementwiseInputs {
public:
  ElementwiseInputs(ElementwiseOp op, std::span<const Operand> operands,
                    tinh_dtype_t compute, const Call &call)
      : count(static_cast<uint32_t>(operands.size())) {
    for (uint32_t i = 0; i < count; ++i) {
      bool isCondition = op == ElementwiseOp::Where && i == 0;
      add(i, operands[i], isCondition ? TINH_DTYPE_BOOL : compute, call);
    }
  }

  const Dims &sizes() const { return common; }
  std::span<const Input> list() const { return {inputs, count}; }

  /// Copies the inputs that writing `out` would change too early.
  void separateFrom(const TensorImpl &out, const Call &call) {
    for (uint32_t i = 0; i < count; ++i)
      if (inputs[i].tensor && overlapsPartly(out, *inputs[i].tensor)) {
        owned[i] = copied(*inputs[i].tensor, inputs[i].tensor->dtype, call);
        inputs[i].tensor = TensorAccess::get(owned[i]);
      }
  }

private:
  void add(uint32_t i, const Operand &operand, tinh_dtype_t dtype,
           const Call &call) {
    if (!operand.tensor()) {
      inputs[i].scalar = toScalar(operand.number(), dtype);
      return;
    }
    const TensorImpl *x = &use(*operand.tensor(), call);
    if (x->dtype != dtype) {
      owned[i] = copied(*x, dtype, call);
      x = TensorAccess::get(owned[i]);
    }
    inputs[i].tensor = x;
    if (!hasTensor)
      common = x->sizes;
    else if (!(common == x->sizes))
      common = broadcastSizes(common, x->sizes, call);
    hasTensor = true;
  }

  uint32_t count;
  bool hasTensor = false;
  Dims common;
  Input inputs[3];
  Tensor owned[3];
};

} // namespace

Tensor eager::elementwise(ElementwiseOp op, std::span<const Operand> operands,
                          tinh_dtype_t compute, tinh_dtype_t result,
                          const Call &call) {
  if (isFull(op))
    result = compute = fullDType(compute);
  ElementwiseInputs inputs(op, operands, compute, call);
  Tensor out = makeTensor(result, inputs.sizes());
  TensorImpl &impl = *TensorAccess::get(out);
  if (impl.numElements() != 0)
    perform(primitives::Elementwise{op}, inputs.list(), impl, call);
  return out;
}

void eager::elementwiseInto(const Tensor &out, ElementwiseOp op,
                            std::span<const Operand> operands,
                            tinh_dtype_t compute, const Call &call) {
  TensorImpl &impl = use(out, call);
  requireFits(compute, impl.dtype, call);
  requireWritable(impl, call);
  ElementwiseInputs inputs(op, operands, compute, call);
  if (!broadcastsTo(inputs.sizes(), impl.sizes))
    fail(call, "a result of shape ", inputs.sizes(),
         " cannot be written in place to shape ", impl.sizes,
         "; use the function that makes a new tensor");
  if (impl.numElements() == 0)
    return;
  if (impl.dtype == compute) {
    inputs.separateFrom(impl, call);
    return perform(primitives::Elementwise{op}, inputs.list(), impl, call);
  }
  Tensor result = makeTensor(compute, impl.sizes);
  perform(primitives::Elementwise{op}, inputs.list(), use(result, call), call);
  copyInto(impl, use(result, call), call);
}

BinaryOp eager::arithmetic(ElementwiseOp op, tinh_dtype_t dtype,
                           const Call &call) {
  if (dtype != TINH_DTYPE_BOOL)
    return {op, dtype};
  switch (op) {
  case ElementwiseOp::Add:
  case ElementwiseOp::Max:
    return {ElementwiseOp::Or, dtype};
  case ElementwiseOp::Mul:
  case ElementwiseOp::Min:
    return {ElementwiseOp::And, dtype};
  default:
    fail(call, "is not defined for boolean operands; use ^, |, & or ~, or "
               "convert them with to()");
  }
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

// Most are one primitive, whose function is made of what the op says of its
// dtypes (Graph_BinaryFunction in ElementwiseOps.td).

static Tensor binaryArithmetic(ElementwiseOp op, const Operand &a,
                               const Operand &b, const Call &call) {
  BinaryOp how = arithmetic(op, commonDType(call, a, b), call);
  const Operand operands[] = {a, b};
  return elementwise(how.op, operands, how.dtype, how.dtype, call);
}

static Tensor binaryFloating(ElementwiseOp op, const Operand &a,
                             const Operand &b, const Call &call) {
  return elementwise(op, {a, b}, floatingDType(commonDType(call, a, b)), call);
}

static Tensor bitwise(ElementwiseOp op, std::initializer_list<Operand> operands,
                      tinh_dtype_t dtype, const Call &call) {
  if (categoryOf(dtype) == 2)
    fail(call, "is not defined for ", DType(dtype),
         "; its operands must be boolean or integers");
  return elementwise(op, operands, dtype, call);
}

static Tensor binaryBitwise(ElementwiseOp op, const Operand &a,
                            const Operand &b, const Call &call) {
  return bitwise(op, {a, b}, commonDType(call, a, b), call);
}

static Tensor binaryShift(ElementwiseOp op, const Operand &a,
                          const Operand &bits, const Call &call) {
  tinh_dtype_t dtype = commonDType(call, a, bits);
  if (categoryOf(dtype) != 1)
    fail(call, "is not defined for ", DType(dtype),
         "; its operands must be integers");
  return elementwise(op, {a, bits}, dtype, call);
}

#define BINARY_FUNCTION(NAME, FUNCTION, DTYPE)                                 \
  Tensor tinh::FUNCTION(Operand a, Operand b) {                                \
    return binary##DTYPE(ElementwiseOp::NAME, a, b, {#FUNCTION, a.at});        \
  }
#include "dialects/graph/ElementwiseOps.inc"

Tensor tinh::floor_divide(Operand a, Operand b) {
  Call call{"floor_divide", a.at};
  BinaryOp how = arithmetic(ElementwiseOp::Div, commonDType(call, a, b), call);
  if (categoryOf(how.dtype) == 2) {
    Tensor quotient = elementwise(how.op, {a, b}, how.dtype, call);
    return floor(sameCall(quotient, call));
  }
  // Without the remainder, which has b's sign, the division is exact; without
  // b = 0, for which the remainder is 0, it is 0.
  Tensor rest = elementwise(ElementwiseOp::Mod, {a, b}, how.dtype, call);
  Tensor multiple = elementwise(ElementwiseOp::Sub, {a, sameCall(rest, call)},
                                how.dtype, call);
  return elementwise(ElementwiseOp::Div, {sameCall(multiple, call), b},
                     how.dtype, call);
}

/// Powers that are something simpler.
static std::optional<Tensor> simplePower(const Operand &base,
                                         const Number &exponent,
                                         tinh_dtype_t dtype, const Call &call) {
  bool isReal = exponent.dtype.is_floating_point();
  double value = isReal ? exponent.real : double(exponent.integer);
  if (value == 1)
    return elementwise(ElementwiseOp::Mul, {base, 1}, dtype, call);
  if (value == 2)
    return elementwise(ElementwiseOp::Mul, {base, base}, dtype, call);
  if (categoryOf(dtype) != 2) {
    if (value < 0)
      fail(call, "an integer to a negative power is no integer; convert the "
                 "base with to(float32)");
    return std::nullopt;
  }
  if (value == 0.5)
    return elementwise(ElementwiseOp::Sqrt, {base}, dtype, call);
  if (value == -0.5)
    return elementwise(ElementwiseOp::Rsqrt, {base}, dtype, call);
  if (value == -1)
    return elementwise(ElementwiseOp::Reciprocal, {base}, dtype, call);
  return std::nullopt;
}

Tensor tinh::pow(Operand base, Operand exponent) {
  Call call{"pow", base.at};
  BinaryOp how =
      arithmetic(ElementwiseOp::Pow, commonDType(call, base, exponent), call);
  if (base.tensor() && !exponent.tensor())
    if (std::optional<Tensor> simple =
            simplePower(base, exponent.number(), how.dtype, call))
      return *std::move(simple);
  return elementwise(how.op, {base, exponent}, how.dtype, call);
}

Tensor tinh::lerp(Operand a, Operand b, Operand weight) {
  Call call{"lerp", a.at};
  tinh_dtype_t dtype = floatingDType(commonDType(call, a, b, weight));
  Tensor distance = elementwise(ElementwiseOp::Sub, {b, a}, dtype, call);
  return elementwise(ElementwiseOp::MulAdd,
                     {weight, sameCall(distance, call), a}, dtype, call);
}

Tensor tinh::muladd(Operand a, Operand b, Operand c) {
  Call call{"muladd", a.at};
  tinh_dtype_t dtype = commonDType(call, a, b, c);
  arithmetic(ElementwiseOp::MulAdd, dtype, call);
  return elementwise(ElementwiseOp::MulAdd, {a, b, c}, dtype, call);
}

//===----------------------------------------------------------------------===//
// Comparison and logic
//===----------------------------------------------------------------------===//

static Tensor compare(ElementwiseOp op, const Operand &a, const Operand &b,
                      const Call &call) {
  tinh_dtype_t dtype = commonDType(call, a, b);
  // The order of boolean values is that of numbers.
  bool isOrder = op != ElementwiseOp::Equal && op != ElementwiseOp::NotEqual;
  if (dtype == TINH_DTYPE_BOOL && isOrder)
    dtype = TINH_DTYPE_U8;
  const Operand operands[] = {a, b};
  return elementwise(op, operands, dtype, TINH_DTYPE_BOOL, call);
}

Tensor tinh::eq(Operand a, Operand b) {
  return compare(ElementwiseOp::Equal, a, b, {"eq", a.at});
}
Tensor tinh::ne(Operand a, Operand b) {
  return compare(ElementwiseOp::NotEqual, a, b, {"ne", a.at});
}
Tensor tinh::lt(Operand a, Operand b) {
  return compare(ElementwiseOp::Less, a, b, {"lt", a.at});
}
Tensor tinh::le(Operand a, Operand b) {
  return compare(ElementwiseOp::LessEqual, a, b, {"le", a.at});
}
Tensor tinh::gt(Operand a, Operand b) {
  return compare(ElementwiseOp::Greater, a, b, {"gt", a.at});
}
Tensor tinh::ge(Operand a, Operand b) {
  return compare(ElementwiseOp::GreaterEqual, a, b, {"ge", a.at});
}

Tensor tinh::bitwise_not(Operand x) {
  Call call{"bitwise_not", x.at};
  return bitwise(ElementwiseOp::Not, {x}, commonDType(call, x), call);
}

// Conversion to boolean is `!= 0`.
Tensor tinh::logical_and(Operand a, Operand b) {
  return elementwise(ElementwiseOp::And, {a, b}, TINH_DTYPE_BOOL,
                     {"logical_and", a.at});
}
Tensor tinh::logical_or(Operand a, Operand b) {
  return elementwise(ElementwiseOp::Or, {a, b}, TINH_DTYPE_BOOL,
                     {"logical_or", a.at});
}
Tensor tinh::logical_xor(Operand a, Operand b) {
  return elementwise(ElementwiseOp::Xor, {a, b}, TINH_DTYPE_BOOL,
                     {"logical_xor", a.at});
}
Tensor tinh::logical_not(Operand x) {
  return elementwise(ElementwiseOp::Not, {x}, TINH_DTYPE_BOOL,
                     {"logical_not", x.at});
}

void eager::requireBoolean(const Operand &x, const char *name,
                           const Call &call) {
  tinh_dtype_t dtype = commonDType(call, x);
  if (dtype != TINH_DTYPE_BOOL)
    fail(call, "the ", name, " has dtype ", DType(dtype),
         "; it must be boolean, as x != 0 is");
}

Tensor tinh::where(Operand condition, Operand a, Operand b) {
  Call call{"where", condition.at};
  requireBoolean(condition, "condition", call);
  return elementwise(ElementwiseOp::Where, {condition, a, b},
                     commonDType(call, a, b), call);
}

Tensor tinh::isclose(Operand a, Operand b, double rtol, double atol,
                     bool equal_nan) {
  Call call{"isclose", a.at};
  tinh_dtype_t dtype = floatingDType(commonDType(call, a, b));
  auto op = [&](const Tensor &x) { return sameCall(x, call); };
  Tensor distance =
      abs(op(elementwise(ElementwiseOp::Sub, {a, b}, dtype, call)));
  Tensor allowed = muladd(op(abs(op(toTensor(b, dtype, call)))), rtol, atol);
  Tensor near = logical_and(op(le(op(distance), op(allowed))),
                            op(isfinite(op(toTensor(b, dtype, call)))));
  Tensor close = logical_or(op(near), op(eq(a, b)));
  if (!equal_nan)
    return close;
  return logical_or(op(close), op(logical_and(op(isnan(a)), op(isnan(b)))));
}

bool tinh::allclose(Operand a, Operand b, double rtol, double atol,
                    bool equal_nan) {
  Tensor close = isclose(a, b, rtol, atol, equal_nan);
  return all(Operand(close, a.at)).item<bool>(a.at);
}

bool tinh::equal(Operand a, Operand b) {
  Call call{"equal", a.at};
  Tensor x = toTensor(a, call), y = toTensor(b, call);
  if (!(use(x, call).sizes == use(y, call).sizes))
    return false;
  Tensor same = eq(sameCall(x, call), sameCall(y, call));
  return all(sameCall(same, call)).item<bool>(a.at);
}
