"""ATen ops that compute element by element."""

from __future__ import annotations

import math
from typing import Any

from .._tinh import _unary_functions
from .builder import Builder, Value, promote
from .graph import Dtype
from .table import TABLE, Unsupported, aten


def _unary(op: str) -> Any:
    def write(b: Builder, x: Value) -> Value:
        integers = op in ("ceil", "floor", "round") and not x.is_float
        return x if integers else b.unary(op, b.cast(x, b.results[0].dtype))

    return write


_COMPARISONS = {
    "eq": "equal",
    "ne": "not_equal",
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
}


def _compare(predicate: str) -> Any:
    def write(b: Builder, x: Value, other: Value | float) -> Value:
        dtype = promote(x, other)
        if dtype == "bool":  # Their order is that of integers.
            dtype = "u8"
        return b.compare(predicate, b.number(x, dtype), b.number(other, dtype))

    return write


for _name, _predicate in _COMPARISONS.items():
    for _overload in ("Tensor", "Scalar"):
        TABLE[f"{_name}.{_overload}"] = _compare(_predicate)


def operands(b: Builder, *given: Value | float) -> list[Value]:
    """In the dtype of the result."""
    return [b.number(x, b.results[0].dtype) for x in given]


def _scaled(b: Builder, x: Value, alpha: float) -> Value:
    return x if alpha == 1 else b.mul(x, alpha)


@aten("add.Tensor", "add.Scalar")
def add(b: Builder, x: Value, other: Value | float, alpha: float = 1) -> Value:
    x, other = operands(b, x, other)
    if x.dtype == "bool":
        return b.binary("or", x, other)
    return b.add(x, _scaled(b, other, alpha))


@aten("sub.Tensor", "sub.Scalar")
def sub(b: Builder, x: Value, other: Value | float, alpha: float = 1) -> Value:
    x, other = operands(b, x, other)
    return b.sub(x, _scaled(b, other, alpha))


@aten("rsub.Tensor", "rsub.Scalar")
def rsub(b: Builder, x: Value, other: Value | float, alpha: float = 1) -> Value:
    x, other = operands(b, x, other)
    return b.sub(other, _scaled(b, x, alpha))


@aten("mul.Tensor", "mul.Scalar")
def mul(b: Builder, x: Value, other: Value | float) -> Value:
    x, other = operands(b, x, other)
    return b.binary("and" if x.dtype == "bool" else "mul", x, other)


@aten("div.Tensor", "div.Scalar")
def div(b: Builder, x: Value, other: Value | float) -> Value:
    return b.div(*operands(b, x, other))


@aten("div.Tensor_mode", "div.Scalar_mode")
def div_mode(
    b: Builder, x: Value, other: Value | float, rounding_mode: str | None = None
) -> Value:
    x, other = operands(b, x, other)
    if x.is_float:
        y = b.div(x, other)
        if rounding_mode is None:
            return y
        down = b.unary("floor", y)
        if rounding_mode == "floor":
            return down
        return b.where(b.compare("less", y, 0), b.unary("ceil", y), down)
    if rounding_mode == "trunc":
        return b.div(x, other)
    return b.div(b.sub(x, b.binary("mod", x, other)), other)


@aten("floor_divide.default")
def floor_divide(b: Builder, x: Value, other: Value | float) -> Value:
    return div_mode(b, x, other, "floor")


@aten("remainder.Tensor", "remainder.Scalar")
def remainder(b: Builder, x: Value, other: Value | float) -> Value:
    return b.binary("mod", *operands(b, x, other))


@aten("fmod.Tensor", "fmod.Scalar")
def fmod(b: Builder, x: Value, other: Value | float) -> Value:
    return b.binary("fmod", *operands(b, x, other))


@aten("pow.Tensor_Scalar", "pow.Tensor_Tensor", "pow.Scalar")
def pow(b: Builder, x: Value | float, exponent: Value | float) -> Value:
    dtype = b.results[0].dtype
    if isinstance(x, Value) and not isinstance(exponent, Value):
        x = b.cast(x, dtype)
        if exponent == 0:
            return b.full(dtype, 1, x.shape)
        if exponent == 1:
            return x
        if exponent in (2, 3):
            square = b.mul(x, x)
            return square if exponent == 2 else b.mul(square, x)
        if exponent == 0.5:
            return b.unary("sqrt", x)
        if exponent == -0.5:
            return b.unary("rsqrt", x)
        if exponent == -1:
            return b.unary("reciprocal", x)
    return b.binary("pow", *operands(b, x, exponent))


@aten("maximum.default", "clamp_min.Tensor", "fmax.default")
def maximum(b: Builder, x: Value, other: Value) -> Value:
    return b.binary("max", *operands(b, x, other))


@aten("minimum.default", "clamp_max.Tensor", "fmin.default")
def minimum(b: Builder, x: Value, other: Value) -> Value:
    return b.binary("min", *operands(b, x, other))


@aten("clamp.default", "clamp.Tensor")
def clamp(
    b: Builder,
    x: Value,
    min: Value | float | None = None,
    max: Value | float | None = None,
) -> Value:
    x = b.cast(x, b.results[0].dtype)
    if min is not None:
        x = b.binary("max", x, b.number(min, x.dtype))
    if max is not None:
        x = b.binary("min", x, b.number(max, x.dtype))
    return x


@aten("hardtanh.default")
def hardtanh(b: Builder, x: Value, min_val: float = -1, max_val: float = 1) -> Value:
    return clamp(b, x, min_val, max_val)


@aten("clamp_min.default")
def clamp_min(b: Builder, x: Value, min: float) -> Value:
    return clamp(b, x, min)


@aten("clamp_max.default")
def clamp_max(b: Builder, x: Value, max: float) -> Value:
    return clamp(b, x, max=max)


@aten("atan2.default")
def atan2(b: Builder, y: Value, x: Value) -> Value:
    y, x = operands(b, y, x)
    pi = b.full(y.dtype, math.pi, ())
    zero = b.full(y.dtype, 0, ())
    is_left = b.compare("less", x, 0)
    turn = b.where(b.compare("less", y, 0), b.unary("neg", pi), pi)
    angle = b.unary("atan", b.div(y, x))
    angle = b.where(is_left, b.add(angle, turn), angle)
    on_axis = b.compare("equal", y, 0)
    return b.where(on_axis, b.where(is_left, pi, zero), angle)


# Functions of floats that are made of others


@aten("exp2.default")
def exp2(b: Builder, x: Value) -> Value:
    return b.binary("pow", b.full(b.results[0].dtype, 2, ()), operands(b, x)[0])


@aten("log2.default")
def log2(b: Builder, x: Value) -> Value:
    return b.mul(b.unary("log", operands(b, x)[0]), 1 / math.log(2))


@aten("log10.default")
def log10(b: Builder, x: Value) -> Value:
    return b.mul(b.unary("log", operands(b, x)[0]), 1 / math.log(10))


@aten("log1p.default")
def log1p(b: Builder, x: Value) -> Value:
    (x,) = operands(b, x)
    # Near zero by the series that 2 atanh(x / (2 + x)) has; log loses its bits.
    near = b.mul(b.unary("atanh", b.div(x, b.add(x, 2))), 2)
    far = b.unary("log", b.add(x, 1))
    return b.where(b.compare("less", b.unary("abs", x), 0.5), near, far)


@aten("expm1.default")
def expm1(b: Builder, x: Value) -> Value:
    (x,) = operands(b, x)
    half = b.unary("tanh", b.mul(x, 0.5))
    near = b.div(b.mul(half, 2), b.sub(b.full(x.dtype, 1, ()), half))
    far = b.sub(b.unary("exp", x), 1)
    return b.where(b.compare("less", b.unary("abs", x), 0.5), near, far)


@aten("erfc.default")
def erfc(b: Builder, x: Value) -> Value:
    (x,) = operands(b, x)
    return b.sub(b.full(x.dtype, 1, ()), b.unary("erf", x))


@aten("trunc.default")
def trunc(b: Builder, x: Value) -> Value:
    if not x.is_float:
        return x
    below = b.compare("less", x, 0)
    return b.where(below, b.unary("ceil", x), b.unary("floor", x))


# Activations


@aten("gelu.default")
def gelu(b: Builder, x: Value, approximate: str = "none") -> Value:
    return b.unary("gelu", x, tanh_approximation=approximate == "tanh" or None)


@aten("silu.default")
def silu(b: Builder, x: Value) -> Value:
    return b.mul(x, b.unary("sigmoid", x))


@aten("mish.default")
def mish(b: Builder, x: Value) -> Value:
    return b.mul(x, b.unary("tanh", b.unary("softplus", x)))


@aten("softplus.default")
def softplus(b: Builder, x: Value, beta: float = 1, threshold: float = 20) -> Value:
    scaled = _scaled(b, x, beta)
    y = b.unary("softplus", scaled)
    y = y if beta == 1 else b.mul(y, 1 / beta)
    return b.where(b.compare("greater", scaled, threshold), x, y)


@aten("elu.default")
def elu(
    b: Builder, x: Value, alpha: float = 1, scale: float = 1, input_scale: float = 1
) -> Value:
    below = b.mul(expm1(b, _scaled(b, x, input_scale)), alpha * scale)
    return b.where(b.compare("greater", x, 0), _scaled(b, x, scale), below)


@aten("leaky_relu.default")
def leaky_relu(b: Builder, x: Value, negative_slope: float = 0.01) -> Value:
    return b.where(b.compare("greater", x, 0), x, b.mul(x, negative_slope))


@aten("hardsigmoid.default")
def hardsigmoid(b: Builder, x: Value) -> Value:
    return b.mul(clamp(b, b.add(x, 3), 0, 6), 1 / 6)


@aten("hardswish.default")
def hardswish(b: Builder, x: Value) -> Value:
    return b.mul(x, hardsigmoid(b, x))


@aten("_prelu_kernel.default")
def prelu(b: Builder, x: Value, weight: Value) -> Value:
    if weight.rank == 1 and x.rank > 1:
        weight = b.reshape(weight, [-1] + [1] * (x.rank - 2))
    return b.where(b.compare("greater", x, 0), x, b.mul(x, weight))


# Conditions and bits


@aten("where.self")
def where(b: Builder, condition: Value, x: Value | float, y: Value | float) -> Value:
    return b.where(b.cast(condition, "bool"), *operands(b, x, y))


@aten("masked_fill.Scalar", "masked_fill.Tensor")
def masked_fill(b: Builder, x: Value, mask: Value, value: Value | float) -> Value:
    return b.where(mask, b.number(value, x.dtype), x)


@aten("isnan.default")
def isnan(b: Builder, x: Value) -> Value:
    if not x.is_float:
        return b.full("bool", False, x.shape)
    return b.emit("isnan", [x], "bool", x.shape)


@aten("isinf.default")
def isinf(b: Builder, x: Value) -> Value:
    if not x.is_float:
        return b.full("bool", False, x.shape)
    return b.emit("isinf", [x], "bool", x.shape)


@aten("logical_not.default")
def logical_not(b: Builder, x: Value) -> Value:
    return b.unary("not", b.cast(x, "bool"))


def _logical(op: str) -> Any:
    def write(b: Builder, x: Value, other: Value) -> Value:
        return b.binary(op, b.cast(x, "bool"), b.cast(other, "bool"))

    return write


def _bitwise(op: str) -> Any:
    def write(b: Builder, x: Value | float, other: Value | float) -> Value:
        return b.binary(op, *operands(b, x, other))

    return write


for _name, _op in (("and", "and"), ("or", "or"), ("xor", "xor")):
    TABLE[f"logical_{_name}.default"] = _logical(_op)
    for _overload in ("Tensor", "Scalar"):
        TABLE[f"bitwise_{_name}.{_overload}"] = _bitwise(_op)
for _name, _op in (("left", "shift_left"), ("right", "shift_right")):
    for _overload in ("Tensor", "Tensor_Scalar"):
        TABLE[f"bitwise_{_name}_shift.{_overload}"] = _bitwise(_op)


@aten("bitwise_not.default")
def bitwise_not(b: Builder, x: Value) -> Value:
    return b.unary("not", x)


# Conversions


@aten("_to_copy.default")
def to_copy(b: Builder, x: Value, **options: Any) -> Value:
    return b.cast(x, b.results[0].dtype)


@aten("prims.convert_element_type.default")
def convert_element_type(b: Builder, x: Value, dtype: Dtype) -> Value:
    return b.cast(x, b.results[0].dtype)


@aten("copy.default")
def copy(b: Builder, x: Value, source: Value, non_blocking: bool = False) -> Value:
    return b.broadcast(b.cast(source, x.dtype), x.shape)


@aten("nan_to_num.default")
def nan_to_num(
    b: Builder,
    x: Value,
    nan: float | None = None,
    posinf: float | None = None,
    neginf: float | None = None,
) -> Value:
    if not x.is_float:
        return x
    if x.dtype != "f32" and (posinf is None or neginf is None):
        raise Unsupported([f"nan_to_num of {x.dtype}"])
    most = 3.4028234663852886e38
    y = b.where(isnan(b, x), b.full(x.dtype, nan or 0, ()), x)
    y = b.where(
        b.compare("equal", x, math.inf),
        b.full(x.dtype, most if posinf is None else posinf, ()),
        y,
    )
    return b.where(
        b.compare("equal", x, -math.inf),
        b.full(x.dtype, -most if neginf is None else neginf, ()),
        y,
    )


@aten("lerp.Scalar", "lerp.Tensor")
def lerp(b: Builder, x: Value, end: Value, weight: Value | float) -> Value:
    return b.add(x, b.mul(b.sub(end, x), weight))


@aten("addcmul.default")
def addcmul(b: Builder, x: Value, a: Value, c: Value, value: float = 1) -> Value:
    return b.add(x, _scaled(b, b.mul(a, c), value))


@aten("addcdiv.default")
def addcdiv(b: Builder, x: Value, a: Value, c: Value, value: float = 1) -> Value:
    return b.add(x, _scaled(b, b.div(a, c), value))


# All that are an op of the graph dialect on floats, but for those above.
for _name in _unary_functions:
    TABLE.setdefault(f"{_name}.default", _unary(_name))
