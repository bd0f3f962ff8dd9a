# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Element by element: unary, binary, comparisons, casts."""

import math

import numpy as np

from op_cases.cases import DTYPES, SPECIAL, case, draw, erf

x = draw(3, 5)
UNARY = {
    "neg": lambda x: -x,
    "abs": np.abs,
    "sign": np.sign,
    "relu": lambda x: np.where(x < 0, np.float32(0), x),
    "exp": np.exp,
    "floor": np.floor,
    "ceil": np.ceil,
    "round": np.round,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "asinh": np.arcsinh,
    "tanh": np.tanh,
    "sigmoid": lambda x: (1 / (1 + np.exp(-x.astype(np.float64)))).astype(x.dtype),
    "softplus": lambda x: np.logaddexp(0, x.astype(np.float64)).astype(x.dtype),
    "softsign": lambda x: x / (1 + abs(x)),
    "erf": lambda x: erf(x).astype(x.dtype),
    "reciprocal": lambda x: (1 / x).astype(x.dtype),
    "gelu": lambda x: (0.5 * x * (1 + erf(x / math.sqrt(2)))).astype(x.dtype),
}
for k, f in UNARY.items():
    case(k, f"%y = graph.{k} %0 : t0", f, x)
    case(
        k + "_f16",
        f"%y = graph.{k} %0 : t0",
        lambda x, f=f: f(x.astype(np.float32)).astype(np.float16),
        draw(7, dt=np.float16),
        tol=1e-3,
    )
# Angles of many turns, whose quadrant takes more bits than a number has.
TURNS = np.array([0.5, 1e5, -3e7, 2.5e9, -1e15, 1e22, -6e300])
for k in ("sin", "cos"):
    case(k + "_turns", f"%y = graph.{k} %0 : t0", UNARY[k], TURNS)
for k in [
    "neg",
    "abs",
    "sign",
    "relu",
    "floor",
    "ceil",
    "round",
    "sigmoid",
    "softplus",
    "tanh",
    "exp",
    "reciprocal",
]:
    case(k + "_sp", f"%y = graph.{k} %0 : t0", UNARY[k], SPECIAL)
for k, f in {"log": np.log, "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x)}.items():
    case(k, f"%y = graph.{k} %0 : t0", f, draw(3, 5, lo=0.1))
for k, f in {"asin": np.arcsin, "acos": np.arccos, "atanh": np.arctanh}.items():
    case(k, f"%y = graph.{k} %0 : t0", f, draw(3, 5, lo=-0.9, hi=0.9))
case("acosh", "%y = graph.acosh %0 : t0", np.arccosh, draw(3, 5, lo=1.1, hi=4))
case(
    "gelu_tanh",
    "%y = graph.gelu %0 tanh_approximation : t0",
    lambda x: (
        0.5 * x * (1 + np.tanh(np.sqrt(np.float32(2 / np.pi)) * (x + 0.044715 * x**3)))
    ),
    x,
)
case("isnan", "%y = graph.isnan %0 : t0", np.isnan, SPECIAL)
case("isinf", "%y = graph.isinf %0 : t0", np.isinf, SPECIAL)
case("not_b", "%y = graph.not %0 : t0", np.logical_not, draw(6) > 0)
case("not_i", "%y = graph.not %0 : t0", np.invert, draw(6, dt=np.int32, lo=-9, hi=9))
case(
    "neg_i8",
    "%y = graph.neg %0 : t0",
    lambda x: -x,
    draw(6, dt=np.int8, lo=-128, hi=127),
)
case("abs_i", "%y = graph.abs %0 : t0", np.abs, draw(6, dt=np.int64, lo=-9, hi=9))
case("sign_u", "%y = graph.sign %0 : t0", np.sign, draw(6, dt=np.uint8, lo=0, hi=255))
case(
    "relu_u", "%y = graph.relu %0 : t0", lambda x: x, draw(6, dt=np.uint8, lo=0, hi=255)
)
case(
    "relu_i",
    "%y = graph.relu %0 : t0",
    lambda x: np.maximum(x, 0),
    draw(6, dt=np.int8, lo=-100, hi=100),
)
BINARY = "%y = graph.{} %0, %1 : t0, t1 -> ty"
WIDE = draw(4, 1, 5)
TALL = draw(3, 1)
for k, f in {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "max": np.maximum,
    "min": np.minimum,
    "mod": np.mod,
    "fmod": np.fmod,
}.items():
    case(k, BINARY.format(k), f, WIDE, TALL)
    case(
        k + "_f16",
        BINARY.format(k),
        f,
        draw(4, dt=np.float16),
        draw(4, dt=np.float16),
        tol=1e-3,
    )

    def quiet(f):
        def g(a, b):
            with np.errstate(all="ignore"):
                return f(a, b)

        return g

    if k != "div":
        case(
            k + "_i32",
            BINARY.format(k),
            quiet(f),
            draw(50, dt=np.int32, lo=-9, hi=9),
            draw(50, dt=np.int32, lo=-3, hi=3),
        )
        case(
            k + "_u8",
            BINARY.format(k),
            quiet(f),
            draw(50, dt=np.uint8, lo=0, hi=255),
            draw(50, dt=np.uint8, lo=0, hi=255),
        )
case("max_nan", BINARY.format("max"), np.maximum, SPECIAL, np.float32([1] * 10))
case("min_nan", BINARY.format("min"), np.minimum, np.float32([1] * 10), SPECIAL)


def truncated_quotient(a, b):
    with np.errstate(all="ignore"):
        q = np.where(b == 0, 0, np.trunc(a.astype(np.float64) / np.where(b == 0, 1, b)))
    return q.astype(np.int64).astype(a.dtype)


case(
    "div_i32",
    BINARY.format("div"),
    truncated_quotient,
    draw(50, dt=np.int32, lo=-9, hi=9),
    draw(50, dt=np.int32, lo=-3, hi=3),
)
case(
    "div_u8",
    BINARY.format("div"),
    truncated_quotient,
    draw(50, dt=np.uint8, lo=0, hi=255),
    draw(50, dt=np.uint8, lo=0, hi=255),
)
case(
    "div_min",
    BINARY.format("div"),
    lambda a, b: a,
    np.int32([-(2**31)]),
    np.int32([-1]),
)
case("pow", BINARY.format("pow"), np.power, draw(5, lo=0.1), draw(5))
case(
    "pow2",
    "%c = graph.constant dense<2.0> : tensor<f16>\n %y = graph.pow %0, %c : t0, tensor<f16> -> ty",
    lambda x: (x.astype(np.float32) ** 2).astype(np.float16),
    draw(5, dt=np.float16),
    tol=1e-3,
)
case(
    "pow_i",
    BINARY.format("pow"),
    np.power,
    draw(20, dt=np.int32, lo=-9, hi=9),
    draw(20, dt=np.int32, lo=0, hi=6),
)
for k, f in {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}.items():
    case(k, BINARY.format(k), f, draw(9) > 0, draw(9) > 0)
    case(
        k + "i",
        BINARY.format(k),
        f,
        draw(9, dt=np.int16, lo=-99, hi=99),
        draw(9, dt=np.int16, lo=-99, hi=99),
    )
case(
    "shl",
    BINARY.format("shift_left"),
    np.left_shift,
    draw(9, dt=np.uint32, lo=0, hi=99),
    draw(9, dt=np.uint32, lo=0, hi=40),
)
case(
    "shr",
    BINARY.format("shift_right"),
    np.right_shift,
    draw(9, dt=np.uint32, lo=0, hi=99),
    draw(9, dt=np.uint32, lo=0, hi=40),
)
case(
    "shrs",
    BINARY.format("shift_right"),
    np.right_shift,
    draw(9, dt=np.int32, lo=-99, hi=99),
    draw(9, dt=np.int32, lo=0, hi=40),
)
for k, f in {
    "equal": np.equal,
    "not_equal": np.not_equal,
    "less": np.less,
    "less_equal": np.less_equal,
    "greater": np.greater,
    "greater_equal": np.greater_equal,
}.items():
    for dt in (np.float32, np.int8, np.uint8, np.float16):
        case(
            f"cmp_{k}_{dt}",
            f"%y = graph.compare {k} %0, %1 : t0, t1 -> ty",
            f,
            draw(30, dt=dt, lo=0, hi=200).astype(dt),
            draw(30, dt=dt, lo=0, hi=200),
        )
    case(
        f"cmp_{k}_nan",
        f"%y = graph.compare {k} %0, %1 : t0, t1 -> ty",
        f,
        SPECIAL,
        SPECIAL,
    )
case(
    "where",
    "%y = graph.where %0, %1, %2 : t0, t1, t2 -> ty",
    np.where,
    draw(3, 1) > 0,
    draw(3, 4),
    draw(4),
)
case(
    "where_u8",
    "%c = graph.constant dense<200> : tensor<ui8>\n%y = graph.where %0, %1, %c : t0, t1, tensor<ui8> -> ty",
    lambda c, a: np.where(c, a, np.uint8(200)),
    draw(3, 1) > 0,
    draw(3, 4, dt=np.uint8, lo=0, hi=255),
)
vals = draw(40, lo=-100, hi=100)
for s, a in {
    "f32": vals,
    "f64": vals.astype(np.float64),
    "f16": vals.astype(np.float16),
    "i8": draw(40, dt=np.int8, lo=-128, hi=127),
    "ui8": draw(40, dt=np.uint8, lo=0, hi=255),
    "i64": draw(40, dt=np.int64, lo=-100, hi=100),
    "i1": vals > 0,
    "ui32": draw(40, dt=np.uint32, lo=0, hi=2**32 - 1),
    "ui64": draw(40, dt=np.uint64, lo=0, hi=2**62),
}.items():
    for t in ["f32", "f64", "f16", "i8", "ui8", "i32", "i64", "i1", "ui16", "ui32"]:
        if s == "ui64" and t == "f16":
            continue

        def f(a, t=t):
            with np.errstate(all="ignore"):
                if t == "i1":
                    return a != 0
                if a.dtype.kind == "f" and t[0] in "ui":
                    return (
                        np.trunc(a.astype(np.float64))
                        .astype(np.int64)
                        .astype(DTYPES[t])
                    )
                return a.astype(DTYPES[t])

        case(f"cast_{s}_{t}", "%y = graph.cast %0 : t0 to ty", f, a, tol=1e-3)

# Short last dimensions, which lanes go through as if they were one.
for name, a, b in [
    ("all", (37, 11, 3, 3), (37, 11, 3, 3)),
    ("rows", (4001, 3), (4001, 3)),
    ("channels", (9, 70, 3, 5), (70, 1, 1)),
    ("not", (9, 70, 3, 5), (5,)),
    ("middle", (9, 70, 3, 5), (3, 1)),
    ("scalar", (2, 600, 7), ()),
]:
    case(
        "merged_" + name,
        "%z = graph.sub %0, %1 : t0, t1 -> t0\n%y = graph.relu %z : t0",
        lambda x, y: np.maximum(x - y, 0),
        draw(*a),
        draw(*b),
    )
case(
    "merged_reduce",
    "%y = graph.reduce sum %0 axes [0] : t0 -> ty",
    lambda x: x.sum(0),
    draw(40, 30, 7, 3),
)
