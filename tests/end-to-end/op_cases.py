# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Graph ops with inputs and what NumPy says of them.

In a case's text, %0, %1 … are the inputs, %y is the result, and t0, t1 … and ty
stand for their types.
"""

import itertools
import math

import numpy as np

DTYPES = {
    "f32": np.float32,
    "f64": np.float64,
    "f16": np.float16,
    "i64": np.int64,
    "i32": np.int32,
    "i16": np.int16,
    "i8": np.int8,
    "i1": np.bool_,
    "ui64": np.uint64,
    "ui32": np.uint32,
    "ui16": np.uint16,
    "ui8": np.uint8,
}
NAMES = {np.dtype(dtype): name for name, dtype in DTYPES.items()}
NP = DTYPES

CASES = []  # (name, text, reference, inputs, tolerance)
random = np.random.default_rng(0)


def type_of(array):
    """The tensor type of an array, as MLIR writes it."""
    extents = "".join(f"{extent}x" for extent in array.shape)
    return f"tensor<{extents}{NAMES[array.dtype]}>"


def case(name, text, reference, *inputs, tol=1e-5):
    CASES.append((name, text, reference, inputs, tol))


def R(*shape, dt=np.float32, lo=-2, hi=2):
    """Random values of a type in a range."""
    if np.dtype(dt).kind == "f":
        return (random.random(shape) * (hi - lo) + lo).astype(dt)
    return random.integers(int(lo), int(hi), shape).astype(dt)


x = R(3, 5)
special = np.array(
    [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e30, -1e30, 3.5, -2.5, 0.5], np.float32
)
verf = np.vectorize(math.erf)
U = {
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
    "erf": lambda x: verf(x).astype(x.dtype),
    "reciprocal": lambda x: (1 / x).astype(x.dtype),
    "gelu": lambda x: (0.5 * x * (1 + verf(x / math.sqrt(2)))).astype(x.dtype),
}
for k, f in U.items():
    case(k, f"%y = graph.{k} %0 : t0", f, x)
    case(
        k + "_f16",
        f"%y = graph.{k} %0 : t0",
        lambda x, f=f: f(x.astype(np.float32)).astype(np.float16),
        R(7, dt=np.float16),
        tol=1e-3,
    )
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
    case(k + "_sp", f"%y = graph.{k} %0 : t0", U[k], special)
for k, f in {"log": np.log, "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x)}.items():
    case(k, f"%y = graph.{k} %0 : t0", f, R(3, 5, lo=0.1))
for k, f in {"asin": np.arcsin, "acos": np.arccos, "atanh": np.arctanh}.items():
    case(k, f"%y = graph.{k} %0 : t0", f, R(3, 5, lo=-0.9, hi=0.9))
case("acosh", "%y = graph.acosh %0 : t0", np.arccosh, R(3, 5, lo=1.1, hi=4))
case(
    "gelu_tanh",
    "%y = graph.gelu %0 tanh_approximation : t0",
    lambda x: 0.5
    * x
    * (1 + np.tanh(np.sqrt(np.float32(2 / np.pi)) * (x + 0.044715 * x**3))),
    x,
)
case("isnan", "%y = graph.isnan %0 : t0", np.isnan, special)
case("isinf", "%y = graph.isinf %0 : t0", np.isinf, special)
case("not_b", "%y = graph.not %0 : t0", np.logical_not, R(6) > 0)
case("not_i", "%y = graph.not %0 : t0", np.invert, R(6, dt=np.int32, lo=-9, hi=9))
case(
    "neg_i8", "%y = graph.neg %0 : t0", lambda x: -x, R(6, dt=np.int8, lo=-128, hi=127)
)
case("abs_i", "%y = graph.abs %0 : t0", np.abs, R(6, dt=np.int64, lo=-9, hi=9))
case("sign_u", "%y = graph.sign %0 : t0", np.sign, R(6, dt=np.uint8, lo=0, hi=255))
case("relu_u", "%y = graph.relu %0 : t0", lambda x: x, R(6, dt=np.uint8, lo=0, hi=255))
case(
    "relu_i",
    "%y = graph.relu %0 : t0",
    lambda x: np.maximum(x, 0),
    R(6, dt=np.int8, lo=-100, hi=100),
)
B = "%y = graph.{} %0, %1 : t0, t1 -> ty"
A = R(4, 1, 5)
C = R(3, 1)
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
    case(k, B.format(k), f, A, C)
    case(k + "_f16", B.format(k), f, R(4, dt=np.float16), R(4, dt=np.float16), tol=1e-3)

    def noz(f):
        def g(a, b):
            with np.errstate(all="ignore"):
                return f(a, b)

        return g

    if k != "div":
        case(
            k + "_i32",
            B.format(k),
            noz(f),
            R(50, dt=np.int32, lo=-9, hi=9),
            R(50, dt=np.int32, lo=-3, hi=3),
        )
        case(
            k + "_u8",
            B.format(k),
            noz(f),
            R(50, dt=np.uint8, lo=0, hi=255),
            R(50, dt=np.uint8, lo=0, hi=255),
        )
case("max_nan", B.format("max"), np.maximum, special, np.float32([1] * 10))
case("min_nan", B.format("min"), np.minimum, np.float32([1] * 10), special)


def idiv(a, b):
    with np.errstate(all="ignore"):
        q = np.where(b == 0, 0, np.trunc(a.astype(np.float64) / np.where(b == 0, 1, b)))
    return q.astype(np.int64).astype(a.dtype)


case(
    "div_i32",
    B.format("div"),
    idiv,
    R(50, dt=np.int32, lo=-9, hi=9),
    R(50, dt=np.int32, lo=-3, hi=3),
)
case(
    "div_u8",
    B.format("div"),
    idiv,
    R(50, dt=np.uint8, lo=0, hi=255),
    R(50, dt=np.uint8, lo=0, hi=255),
)
case("div_min", B.format("div"), lambda a, b: a, np.int32([-(2**31)]), np.int32([-1]))
case("pow", B.format("pow"), np.power, R(5, lo=0.1), R(5))
case(
    "pow2",
    "%c = graph.constant dense<2.0> : tensor<f16>\n %y = graph.pow %0, %c : t0, tensor<f16> -> ty",
    lambda x: (x.astype(np.float32) ** 2).astype(np.float16),
    R(5, dt=np.float16),
    tol=1e-3,
)
case(
    "pow_i",
    B.format("pow"),
    np.power,
    R(20, dt=np.int32, lo=-9, hi=9),
    R(20, dt=np.int32, lo=0, hi=6),
)
for k, f in {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}.items():
    case(k, B.format(k), f, R(9) > 0, R(9) > 0)
    case(
        k + "i",
        B.format(k),
        f,
        R(9, dt=np.int16, lo=-99, hi=99),
        R(9, dt=np.int16, lo=-99, hi=99),
    )
case(
    "shl",
    B.format("shift_left"),
    np.left_shift,
    R(9, dt=np.uint32, lo=0, hi=99),
    R(9, dt=np.uint32, lo=0, hi=40),
)
case(
    "shr",
    B.format("shift_right"),
    np.right_shift,
    R(9, dt=np.uint32, lo=0, hi=99),
    R(9, dt=np.uint32, lo=0, hi=40),
)
case(
    "shrs",
    B.format("shift_right"),
    np.right_shift,
    R(9, dt=np.int32, lo=-99, hi=99),
    R(9, dt=np.int32, lo=0, hi=40),
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
            R(30, dt=dt, lo=0, hi=200).astype(dt),
            R(30, dt=dt, lo=0, hi=200),
        )
    case(
        f"cmp_{k}_nan",
        f"%y = graph.compare {k} %0, %1 : t0, t1 -> ty",
        f,
        special,
        special,
    )
case(
    "where",
    "%y = graph.where %0, %1, %2 : t0, t1, t2 -> ty",
    np.where,
    R(3, 1) > 0,
    R(3, 4),
    R(4),
)
case(
    "where_u8",
    "%c = graph.constant dense<200> : tensor<ui8>\n%y = graph.where %0, %1, %c : t0, t1, tensor<ui8> -> ty",
    lambda c, a: np.where(c, a, np.uint8(200)),
    R(3, 1) > 0,
    R(3, 4, dt=np.uint8, lo=0, hi=255),
)
vals = R(40, lo=-100, hi=100)
for s, a in {
    "f32": vals,
    "f64": vals.astype(np.float64),
    "f16": vals.astype(np.float16),
    "i8": R(40, dt=np.int8, lo=-128, hi=127),
    "ui8": R(40, dt=np.uint8, lo=0, hi=255),
    "i64": R(40, dt=np.int64, lo=-100, hi=100),
    "i1": vals > 0,
    "ui32": R(40, dt=np.uint32, lo=0, hi=2**32 - 1),
    "ui64": R(40, dt=np.uint64, lo=0, hi=2**62),
}.items():
    for t in ["f32", "f64", "f16", "i8", "ui8", "i32", "i64", "i1", "ui16", "ui32"]:
        if s == "ui64" and t == "f16":
            continue

        def f(a, t=t):
            with np.errstate(all="ignore"):
                if t == "i1":
                    return a != 0
                if a.dtype.kind == "f" and t[0] in "ui":
                    return np.trunc(a.astype(np.float64)).astype(np.int64).astype(NP[t])
                return a.astype(NP[t])

        case(f"cast_{s}_{t}", f"%y = graph.cast %0 : t0 to ty", f, a, tol=1e-3)
# matmul
M = "%y = graph.matmul %0, %1 {} : t0, t1 -> ty"
for a, b in [
    ((3, 4), (4, 5)),
    ((2, 3, 4), (4, 5)),
    ((2, 1, 3, 4), (7, 4, 5)),
    ((4,), (4, 5)),
    ((3, 4), (4,)),
    ((4,), (4,)),
    ((2, 3, 4), (4,)),
    ((6, 2, 3, 4), (6, 1, 4, 5)),
]:
    case(f"matmul{a}{b}", M.format(""), np.matmul, R(*a), R(*b))
T = lambda x: np.swapaxes(x, -1, -2)
case("matmul_ta", M.format("transpose_a"), lambda a, b: T(a) @ b, R(2, 4, 3), R(4, 5))
case("matmul_tb", M.format("transpose_b"), lambda a, b: a @ T(b), R(3, 4), R(2, 5, 4))
case(
    "matmul_tab",
    M.format("transpose_a transpose_b"),
    lambda a, b: T(a) @ T(b),
    R(4, 3),
    R(5, 4),
)
case(
    "matmul_f16",
    M.format(""),
    lambda a, b: (a.astype(np.float32) @ b.astype(np.float32)).astype(np.float16),
    R(3, 4, dt=np.float16),
    R(4, 5, dt=np.float16),
    tol=2e-3,
)
case(
    "matmul_i8",
    M.format(""),
    lambda a, b: (a.astype(int) @ b.astype(int)).astype(np.int8),
    R(3, 4, dt=np.int8, lo=-99, hi=99),
    R(4, 5, dt=np.int8, lo=-99, hi=99),
)
case(
    "matmul_u8",
    M.format(""),
    lambda a, b: (a.astype(int) @ b.astype(int)).astype(np.uint8),
    R(3, 4, dt=np.uint8, lo=0, hi=255),
    R(4, 5, dt=np.uint8, lo=0, hi=255),
)


# conv
def conv(x, w, s, p, d, g):  # channels first
    r = len(s)
    x = np.pad(x, [(0, 0), (0, 0)] + [(p[i], p[r + i]) for i in range(r)]).astype(
        np.float64
    )
    w = w.astype(np.float64)
    N, Cc = x.shape[:2]
    O, Cg = w.shape[:2]
    K = w.shape[2:]
    o = [(x.shape[2 + i] - (K[i] - 1) * d[i] - 1) // s[i] + 1 for i in range(r)]
    y = np.zeros((N, O, *o))
    Og = O // g
    for oc in range(O):
        gi = oc // Og
        xs = x[:, gi * Cg : (gi + 1) * Cg]
        for pos in itertools.product(*map(range, o)):
            sl = tuple(
                slice(pos[i] * s[i], pos[i] * s[i] + (K[i] - 1) * d[i] + 1, d[i])
                for i in range(r)
            )
            y[(slice(None), oc) + pos] = (
                (xs[(slice(None), slice(None)) + sl] * w[oc]).reshape(N, -1).sum(1)
            )
    return y


def last(x):
    return np.moveaxis(x, 1, -1)


def first(x):
    return np.moveaxis(x, -1, 1)


def L(v):
    return "[" + ", ".join(map(str, v)) + "]"


def ccase(n, C, O, sp, k, s, p, d, g, dt=np.float32, tol=1e-4):
    x = R(2, C, *sp, dt=dt)
    w = R(O, C // g, *k, dt=dt)
    t = f"strides {L(s)} padding {L(p)} dilations {L(d)} groups {g}"
    case(
        n + "_first",
        f"%y = graph.conv %0, %1 {t} channels_first : t0, t1 -> ty",
        lambda x, w: conv(x, w, s, p, d, g).astype(dt),
        x,
        w,
        tol=tol,
    )
    case(
        n + "_last",
        f"%y = graph.conv %0, %1 {t} channels_last : t0, t1 -> ty",
        lambda x, w: last(conv(first(x), w, s, p, d, g)).astype(dt),
        np.ascontiguousarray(last(x)),
        w,
        tol=tol,
    )


ccase("conv2", 3, 4, (7, 6), (3, 3), (1, 1), (1, 1, 1, 1), (1, 1), 1)
ccase("conv2s", 3, 4, (9, 8), (3, 2), (2, 3), (1, 0, 2, 1), (2, 1), 1)
ccase("conv1x1", 3, 4, (5, 5), (1, 1), (2, 2), (0,) * 4, (1, 1), 1)
ccase("conv1d", 3, 4, (9,), (3,), (2,), (1, 1), (2,), 1)
ccase("conv3d", 2, 3, (4, 5, 4), (2, 3, 2), (1, 2, 1), (1, 0, 0, 0, 1, 1), (1, 1, 2), 1)
ccase("convg", 4, 6, (5, 5), (3, 3), (1, 1), (1, 1, 1, 1), (1, 1), 2)
ccase("convdw", 4, 4, (5, 5), (3, 3), (2, 2), (1, 1, 1, 1), (1, 1), 4)
ccase("convdwm", 4, 8, (5, 5), (3, 3), (2, 2), (1, 1, 1, 1), (1, 1), 4)
# Whole vectors of channels and a tail, borders on both sides, several tiles.
ccase("convdw40", 40, 40, (9, 21), (3, 3), (1, 1), (1, 1, 1, 1), (1, 1), 40)
ccase("convdw70s", 70, 70, (12, 19), (5, 3), (2, 2), (2, 1, 1, 2), (1, 1), 70)
ccase("convdw33d", 33, 33, (9, 20), (3, 5), (1, 1), (3, 6, 3, 6), (3, 3), 33)
ccase("convdw1d", 24, 24, (30,), (4,), (1,), (3, 0), (1,), 24)
ccase("convdw3d", 20, 20, (4, 5, 6), (3, 2, 3), (1, 1, 2), (1,) * 6, (1, 1, 1), 20)
ccase(
    "convf16",
    3,
    4,
    (5, 5),
    (3, 3),
    (1, 1),
    (1, 1, 1, 1),
    (1, 1),
    1,
    dt=np.float16,
    tol=1e-2,
)


def convt(x, w, s, p, op, d, g):
    r = len(s)
    N, Cc = x.shape[:2]
    Og = w.shape[1]
    K = w.shape[2:]
    O = Og * g
    Cg = Cc // g
    full = [(x.shape[2 + i] - 1) * s[i] + (K[i] - 1) * d[i] + 1 for i in range(r)]
    out = [full[i] - p[i] - p[r + i] + op[i] for i in range(r)]
    y = np.zeros((N, O, *[full[i] + op[i] + 0 for i in range(r)]))
    for c in range(Cc):
        gi = c // Cg
        for o in range(Og):
            for pos in itertools.product(*map(range, x.shape[2:])):
                for k in itertools.product(*map(range, K)):
                    y[
                        (slice(None), gi * Og + o)
                        + tuple(pos[i] * s[i] + k[i] * d[i] for i in range(r))
                    ] += (x[(slice(None), c) + pos] * w[(c, o) + k])
    return y[
        (slice(None), slice(None)) + tuple(slice(p[i], p[i] + out[i]) for i in range(r))
    ]


def tcase(n, C, O, sp, k, s, p, op, d, g):
    x = R(2, C, *sp)
    w = R(C, O // g, *k)
    t = f"strides {L(s)} padding {L(p)} output_padding {L(op)} dilations {L(d)} groups {g}"
    f = lambda x, w: convt(x, w, s, p, op, d, g).astype(np.float32)
    case(
        n + "_first",
        f"%y = graph.conv_transpose %0, %1 {t} channels_first : t0, t1 -> ty",
        f,
        x,
        w,
        tol=1e-4,
    )
    case(
        n + "_last",
        f"%y = graph.conv_transpose %0, %1 {t} channels_last : t0, t1 -> ty",
        lambda x, w: last(f(first(x), w)),
        np.ascontiguousarray(last(x)),
        w,
        tol=1e-4,
    )


tcase("convt", 3, 4, (4, 4), (2, 2), (2, 2), (0,) * 4, (0, 0), (1, 1), 1)
tcase("convt2", 3, 4, (4, 5), (3, 3), (2, 3), (1, 0, 2, 1), (1, 2), (1, 2), 1)
tcase("convtg", 4, 6, (4,), (3,), (2,), (1, 1), (1,), (1,), 2)
tcase("convtcut", 2, 2, (5,), (2,), (2,), (3, 0), (0,), (1,), 1)
tcase("convtdw", 4, 4, (4, 4), (3, 3), (2, 2), (1, 1, 1, 1), (1, 1), (1, 1), 4)


# pools
def pool(x, k, s, p, d, how, incl=False, ceil=None):
    r = len(k)
    ceil = ceil or [0] * r
    fill = -np.inf if how == "max" else np.nan
    xp = np.pad(
        x.astype(np.float64),
        [(0, 0), (0, 0)] + [(p[i], p[r + i]) for i in range(r)],
        constant_values=fill,
    )
    if how == "avg" and incl:
        cnt = np.pad(
            np.ones_like(x),
            [(0, 0), (0, 0)] + [(p[i], p[r + i] - ceil[i]) for i in range(r)],
            constant_values=1,
        )
        cnt = np.pad(cnt, [(0, 0), (0, 0)] + [(0, ceil[i]) for i in range(r)])
    elif how == "avg":
        cnt = (~np.isnan(xp)).astype(float)
    o = [(xp.shape[2 + i] - (k[i] - 1) * d[i] - 1) // s[i] + 1 for i in range(r)]
    y = np.zeros(x.shape[:2] + tuple(o))
    for pos in itertools.product(*map(range, o)):
        sl = (slice(None), slice(None)) + tuple(
            slice(pos[i] * s[i], pos[i] * s[i] + (k[i] - 1) * d[i] + 1, d[i])
            for i in range(r)
        )
        ax = tuple(range(2, 2 + r))
        y[(slice(None), slice(None)) + pos] = (
            xp[sl].max(ax)
            if how == "max"
            else np.nansum(xp[sl], ax) / np.maximum(cnt[sl].sum(ax), 1)
        )
    return y.astype(x.dtype)


def pcase(
    n,
    how,
    sp,
    k,
    s,
    p,
    d,
    extra="",
    attr="",
    incl=False,
    ceil=None,
    dt=np.float32,
    channels=3,
):
    x = R(2, channels, *sp, dt=dt, lo=-50, hi=50)
    t = f"kernel {L(k)} strides {L(s)} padding {L(p)} dilations {L(d)}"
    f = lambda x: pool(x, k, s, p, d, how, incl, ceil)
    case(
        n + "_first",
        f"%y = graph.{how}_pool %0 {t} channels_first {extra} {attr} : t0 -> ty",
        f,
        x,
    )
    case(
        n + "_last",
        f"%y = graph.{how}_pool %0 {t} channels_last {extra} {attr} : t0 -> ty",
        lambda x: last(f(first(x))),
        np.ascontiguousarray(last(x)),
    )


pcase("maxp", "max", (7, 8), (3, 3), (2, 2), (1, 1, 1, 1), (1, 1))
pcase("maxpd", "max", (9,), (3,), (2,), (1, 2), (2,))
pcase("maxpi", "max", (7, 8), (3, 3), (2, 2), (1, 1, 1, 1), (1, 1), dt=np.int8)
pcase("maxp35", "max", (9, 25), (3, 3), (2, 2), (1, 1, 1, 1), (1, 1), channels=35)
pcase(
    "maxpu35", "max", (9, 25), (2, 3), (1, 2), (1, 1, 0, 1), (1, 1), dt=np.uint8,
    channels=35,
)  # fmt: skip
pcase("avgpp35", "avg", (9, 25), (3, 3), (2, 1), (1, 1, 1, 1), (1, 1), channels=35)
pcase("avgp70", "avg", (7, 7), (7, 7), (1, 1), (0,) * 4, (1, 1), channels=70)
pcase("avgp", "avg", (7, 8), (3, 3), (2, 2), (0,) * 4, (1, 1))
pcase("avgpp", "avg", (7, 8), (3, 3), (2, 2), (1, 1, 1, 1), (1, 1))
pcase(
    "avgpi",
    "avg",
    (7, 8),
    (3, 3),
    (2, 2),
    (1, 1, 1, 1),
    (1, 1),
    "count_include_pad",
    incl=True,
)
pcase(
    "avgpc",
    "avg",
    (7, 8),
    (3, 3),
    (2, 2),
    (1, 1, 2, 2),
    (1, 1),
    "count_include_pad",
    "{ceil_padding = array<i64: 1, 2>}",
    incl=True,
    ceil=[1, 2],
)
pcase(
    "avgpcd",
    "avg",
    (9,),
    (3,),
    (2,),
    (1, 3),
    (2,),
    "",
    "{ceil_padding = array<i64: 1>}",
)
# reduce
for k, f in {
    "sum": np.sum,
    "mean": np.mean,
    "prod": np.prod,
    "max": np.max,
    "min": np.min,
}.items():
    for ax in [(0,), (1, 2), (2,), (0, 1, 2)]:
        for kd in (0, 1):
            case(
                f"red_{k}{ax}{kd}",
                f'%y = graph.reduce {k} %0 axes {L(ax)} {"keepdims" if kd else ""} : t0 -> ty',
                lambda x, f=f, ax=ax, kd=kd: f(x, axis=ax, keepdims=bool(kd)),
                R(3, 4, 5),
                tol=1e-4,
            )
case("red_none", "%y = graph.reduce mean %0 axes [] : t0 -> ty", lambda x: x, R(3, 4))
case(
    "red_sum_f16",
    "%y = graph.reduce mean %0 axes [0] : t0 -> ty",
    lambda x: x.astype(np.float32).mean(0).astype(np.float16),
    R(30, 4, dt=np.float16),
    tol=1e-3,
)
case("red_max_nan", "%y = graph.reduce max %0 axes [0] : t0 -> ty", np.max, special)
case(
    "red_sum_u8",
    "%y = graph.reduce sum %0 axes [0] : t0 -> ty",
    lambda x: x.astype(int).sum(0).astype(np.uint8),
    R(30, 4, dt=np.uint8, lo=0, hi=255),
)
case(
    "red_mean_u8",
    "%y = graph.reduce mean %0 axes [0] : t0 -> ty",
    lambda x: (x.astype(int).sum(0) // 30).astype(np.uint8),
    R(30, 4, dt=np.uint8, lo=0, hi=255),
)
case(
    "red_max_u8",
    "%y = graph.reduce max %0 axes [0] : t0 -> ty",
    lambda x: x.max(0),
    R(30, 4, dt=np.uint8, lo=0, hi=255),
)
case(
    "red_min_i8",
    "%y = graph.reduce min %0 axes [0] : t0 -> ty",
    lambda x: x.min(0),
    R(30, 4, dt=np.int8, lo=-99, hi=99),
)
case(
    "red_any",
    "%y = graph.reduce max %0 axes [1] : t0 -> ty",
    lambda x: x.any(1),
    R(4, 3) > 1,
)
case(
    "red_all",
    "%y = graph.reduce min %0 axes [1] : t0 -> ty",
    lambda x: x.all(1),
    R(4, 3) > -1,
)
for k, f in {"argmax": np.argmax, "argmin": np.argmin}.items():
    z = R(4, 6, 5, dt=np.int32, lo=0, hi=4).astype(np.float32)
    z[0, 2, 0] = np.nan
    z[0, 4, 0] = np.nan

    def lastarg(x, ax, f=f):
        return x.shape[ax] - 1 - f(np.flip(x, ax), axis=ax)

    for ax in (0, 1, 2):
        case(
            f"{k}{ax}",
            f"%y = graph.{k} %0 axis {ax} : t0 -> ty",
            lambda x, f=f, ax=ax: f(x, axis=ax),
            z,
        )
        case(
            f"{k}{ax}l",
            f"%y = graph.{k} %0 axis {ax} keepdims select_last_index : t0 -> ty",
            lambda x, ax=ax, g=lastarg: np.expand_dims(g(x, ax), ax),
            z,
        )
    case(
        k + "u8",
        f"%y = graph.{k} %0 axis 1 : t0 -> ty",
        lambda x, f=f: f(x, axis=1),
        R(30, 14, dt=np.uint8, lo=0, hi=255),
    )
    case(
        k + "f16",
        f"%y = graph.{k} %0 axis 1 : t0 -> ty",
        lambda x, f=f: f(x, axis=1),
        R(30, 14, dt=np.float16),
    )


def cums(x, ex, rev):
    if rev:
        x = x[:, ::-1]
    y = np.cumsum(x, 1, dtype=x.dtype)
    if ex:
        y = np.concatenate([np.zeros_like(y[:, :1]), y[:, :-1]], 1)
    return y[:, ::-1] if rev else y


for ex in (0, 1):
    for rev in (0, 1):
        case(
            f"cumsum{ex}{rev}",
            f'%y = graph.cumsum %0 axis 1 {"exclusive" if ex else ""} {"reverse" if rev else ""} : t0',
            lambda x, ex=ex, rev=rev: cums(x, ex, rev),
            R(3, 6, 2),
        )
case(
    "cumsum_i",
    "%y = graph.cumsum %0 axis 1 : t0",
    lambda x: cums(x, 0, 0),
    R(3, 6, dt=np.int64, lo=-9, hi=9),
)


# normalization
def sm(x, ax):
    x = x.astype(np.float64)
    e = np.exp(x - x.max(ax, keepdims=True))
    return e / e.sum(ax, keepdims=True)


for ax in (0, 1, 2):
    case(
        f"softmax{ax}",
        f"%y = graph.softmax %0 axis {ax} : t0",
        lambda x, ax=ax: sm(x, ax).astype(np.float32),
        R(3, 4, 5, lo=-90, hi=90),
    )
    case(
        f"lsoftmax{ax}",
        f"%y = graph.log_softmax %0 axis {ax} : t0",
        lambda x, ax=ax: np.log(sm(x, ax)).astype(np.float32),
        R(3, 4, 5),
        tol=1e-4,
    )
case(
    "softmax_f16",
    "%y = graph.softmax %0 axis 1 : t0",
    lambda x: sm(x, 1).astype(np.float16),
    R(3, 4, 5, dt=np.float16),
    tol=1e-3,
)


def ln(x, sc, bi, axis, eps, rms=False):
    xx = x.astype(np.float64)
    ax = tuple(range(axis, x.ndim))
    if not rms:
        xx = xx - xx.mean(ax, keepdims=True)
    y = xx / np.sqrt((xx * xx).mean(ax, keepdims=True) + eps) * sc
    return (y + (0 if bi is None else bi)).astype(x.dtype)


case(
    "ln",
    "%y = graph.layer_norm %0, %1, %2 axis 2 epsilon 1.0e-05 : t0, t1, t2",
    lambda x, s, b: ln(x, s, b, 2, 1e-5),
    R(2, 3, 8),
    R(8),
    R(8),
    tol=1e-4,
)
case(
    "ln1",
    "%y = graph.layer_norm %0, %1 axis 1 epsilon 1.0e-05 : t0, t1",
    lambda x, s: ln(x, s, None, 1, 1e-5),
    R(2, 3, 8),
    R(3, 1),
    tol=1e-4,
)
case(
    "lnrms",
    "%y = graph.layer_norm %0, %1, %2 axis 1 epsilon 1.0e-05 rms : t0, t1, t2",
    lambda x, s, b: ln(x, s, b, 1, 1e-5, True),
    R(2, 8),
    R(8),
    R(8),
    tol=1e-4,
)
case(
    "ln16",
    "%y = graph.layer_norm %0, %1, %2 axis 1 epsilon 1.0e-05 : t0, t1, t2",
    lambda x, s, b: ln(x, s, b, 1, 1e-5),
    R(2, 8, dt=np.float16),
    R(8, dt=np.float16),
    R(8, dt=np.float16),
    tol=4e-3,
)


def bn(x, s, b, m, v):
    return ((x - m) / np.sqrt(v + 1e-3) * s + b).astype(np.float32)


e1 = lambda v: v[:, None, None]
case(
    "bnf",
    "%y = graph.batch_norm %0, %1, %2, %3, %4 epsilon 1.0e-03 channels_first : t0, t1, t2, t3, t4",
    lambda x, s, b, m, v: bn(x, e1(s), e1(b), e1(m), e1(v)),
    R(2, 3, 4, 4),
    R(3),
    R(3),
    R(3),
    R(3, lo=0.5),
    tol=1e-4,
)
case(
    "bnl",
    "%y = graph.batch_norm %0, %1, %2, %3, %4 epsilon 1.0e-03 channels_last : t0, t1, t2, t3, t4",
    bn,
    R(2, 4, 4, 3),
    R(3),
    R(3),
    R(3),
    R(3, lo=0.5),
    tol=1e-4,
)


def lrn(x, size, a, be, bi, ax):
    x = np.moveaxis(x, ax, -1).astype(np.float64)
    C_ = x.shape[-1]
    y = np.zeros_like(x)
    for c in range(C_):
        lo = max(0, c - (size - 1) // 2)
        hi = min(C_ - 1, c + math.ceil((size - 1) / 2))
        y[..., c] = (
            x[..., c] / (bi + a / size * (x[..., lo : hi + 1] ** 2).sum(-1)) ** be
        )
    return np.moveaxis(y, -1, ax).astype(np.float32)


for be in (0.75, 0.6):
    for size in (5, 4):
        case(
            f"lrn{be}{size}f",
            f"%y = graph.lrn %0 size {size} alpha 1.0e-01 beta {be:e} bias 1.5e+00 channels_first : t0",
            lambda x, be=be, size=size: lrn(x, size, 0.1, be, 1.5, 1),
            R(2, 7, 3, 3),
        )
case(
    "lrnl",
    "%y = graph.lrn %0 size 3 alpha 1.0e-01 beta 7.5e-01 bias 1.0e+00 channels_last : t0",
    lambda x: lrn(x, 3, 0.1, 0.75, 1.0, 3),
    R(2, 3, 3, 7),
)


def att(q, k, v, m=0, scale=0.5, causal=False):
    q, k, v = [a.astype(np.float64) for a in (q, k, v)]
    g = q.shape[1] // k.shape[1]
    k = np.repeat(k, g, 1)
    v = np.repeat(v, g, 1)
    s = q @ T(k) * scale + m
    if causal:
        i = np.arange(s.shape[2])[:, None] + s.shape[3] - s.shape[2]
        s = np.where(np.arange(s.shape[3])[None] <= i, s, -np.inf)
    return sm(s, 3) @ v


for dt, tol in ((np.float32, 1e-4), (np.float16, 3e-3)):
    q, k, v = R(2, 4, 3, 8, dt=dt), R(2, 4, 5, 8, dt=dt), R(2, 4, 5, 6, dt=dt)
    case(
        "att",
        "%y = graph.attention %0, %1, %2 scale 5.0e-01 : t0, t1, t2",
        lambda q, k, v, dt=dt: att(q, k, v).astype(dt),
        q,
        k,
        v,
        tol=tol,
    )
    case(
        "attm",
        "%y = graph.attention %0, %1, %2, %3 scale 5.0e-01 : t0, t1, t2, t3",
        lambda q, k, v, m, dt=dt: att(q, k, v, m).astype(dt),
        q,
        k,
        v,
        R(2, 1, 1, 5, dt=dt),
        tol=tol,
    )
    case(
        "attc",
        "%y = graph.attention %0, %1, %2 scale 5.0e-01 causal : t0, t1, t2",
        lambda q, k, v, dt=dt: att(q, k, v, causal=True).astype(dt),
        q,
        k,
        v,
        tol=tol,
    )
    case(
        "attg",
        "%y = graph.attention %0, %1, %2, %3 scale 5.0e-01 causal : t0, t1, t2, t3",
        lambda q, k, v, m, dt=dt: att(q, k, v, m, causal=True).astype(dt),
        q,
        np.ascontiguousarray(k[:, :2]),
        np.ascontiguousarray(v[:, :2]),
        R(3, 5, dt=dt),
        tol=tol,
    )
# movement
for a, b in [
    ((2, 3, 4), (6, 4)),
    ((6, 4), (2, 3, 4)),
    ((2, 6), (3, 4)),
    ((1, 1), ()),
    ((), (1, 1)),
    ((4,), (1, 4, 1)),
    ((2, 3, 4), (4, 3, 2)),
    ((24,), (2, 3, 4)),
    ((2, 3, 4), (24,)),
    ((1, 6, 1, 1), (1, 6)),
    ((0, 3), (3, 0, 2)),
]:
    case(
        f"reshape{a}{b}",
        f"%y = graph.reshape %0 : t0 to ty",
        lambda x, b=b: x.reshape(b),
        R(*a),
    )
case(
    "bcast",
    "%y = graph.broadcast %0 : t0 to ty",
    lambda x: np.broadcast_to(x, (2, 3, 4)),
    R(3, 1),
)
case(
    "bcast0",
    "%y = graph.broadcast %0 : t0 to ty",
    lambda x: np.broadcast_to(x, (2, 3)),
    R(),
)
case(
    "transpose",
    "%y = graph.transpose %0 [2, 0, 3, 1] : t0 -> ty",
    lambda x: x.transpose(2, 0, 3, 1),
    R(2, 3, 4, 5),
)
case(
    "concat",
    "%y = graph.concat %0, %1, %2 axis 1 : (t0, t1, t2) -> ty",
    lambda *a: np.concatenate(a, 1),
    R(2, 3, 4),
    R(2, 0, 4),
    R(2, 2, 4),
)
case(
    "concat_u8",
    "%y = graph.concat %0, %1 axis 0 : (t0, t1) -> ty",
    lambda *a: np.concatenate(a, 0),
    R(2, dt=np.uint8, lo=0, hi=255),
    R(3, dt=np.uint8, lo=0, hi=255),
)
case(
    "slice",
    "%y = graph.slice %0 starts [1, 0] sizes [2, 3] steps [2, 1] : t0 -> ty",
    lambda x: x[1::2, :3],
    R(5, 6),
)
case(
    "sliceneg",
    "%y = graph.slice %0 starts [4, 1] sizes [3, 2] steps [-2, 3] : t0 -> ty",
    lambda x: x[4::-2, 1:7:3],
    R(5, 6),
)
case(
    "sliceneg1",
    "%y = graph.slice %0 starts [4, 1] sizes [1, 2] steps [-2, 3] : t0 -> ty",
    lambda x: x[4:5, 1:7:3],
    R(5, 6),
)
PD = "%y = graph.pad %0, %1 low {} high {} {} : t0, t1 -> ty"
case(
    "pad",
    PD.format("[0, 1]", "[2, 3]", "constant"),
    lambda x, v: np.pad(x, [(0, 2), (1, 3)], constant_values=v),
    R(3, 4),
    R(),
)
case(
    "padc",
    "%c = graph.constant dense<1.5> : tensor<f32>\n%y = graph.pad %0, %c low [0, 1] high [2, 3] constant : t0, tensor<f32> -> ty",
    lambda x: np.pad(x, [(0, 2), (1, 3)], constant_values=1.5),
    R(3, 4),
)
case(
    "padneg",
    PD.format("[-1, 1]", "[2, -2]", "constant"),
    lambda x, v: np.pad(x[1:, :-2], [(0, 2), (1, 0)], constant_values=v),
    R(3, 4),
    R(),
)
case(
    "padcutall",
    PD.format("[-5]", "[8]", "constant"),
    lambda x, v: np.full(6, v),
    R(3),
    R(),
)
for mname, nm in (("edge", "edge"), ("reflect", "reflect"), ("wrap", "wrap")):
    case(
        "pad" + mname,
        PD.format("[0, 2]", "[2, 3]", mname),
        lambda x, v, nm=nm: np.pad(x, [(0, 2), (2, 3)], mode=nm),
        R(3, 4),
        R(),
    )
    case(
        "padu" + mname,
        PD.format("[2]", "[3]", mname),
        lambda x, v, nm=nm: np.pad(x, [(2, 3)], mode=nm),
        R(4, dt=np.uint8, lo=0, hi=255),
        R(dt=np.uint8, lo=0, hi=9).reshape(()),
    )
case(
    "gather",
    "%y = graph.gather %0, %1 axis 1 : t0, t1 -> ty",
    lambda x, i: np.take(x, np.clip(np.where(i < 0, i + 5, i), 0, 4), 1),
    R(3, 5, 2),
    np.int64([[0, -1, 4], [-5, 9, -9]]),
)
case(
    "gather0",
    "%y = graph.gather %0, %1 axis 0 : t0, t1 -> ty",
    lambda x, i: np.take(x, i, 0),
    R(3, 5),
    np.int64(2),
)
case(
    "gatheru",
    "%y = graph.gather %0, %1 axis 0 : t0, t1 -> ty",
    lambda x, i: np.take(x, i, 0),
    R(3, 5, dt=np.uint8, lo=0, hi=255),
    np.int32([2, -1]),
)
case(
    "gatherel",
    "%y = graph.gather_elements %0, %1 axis 1 : t0, t1 -> ty",
    lambda x, i: np.take_along_axis(x, np.where(i < 0, i + 5, i), 1),
    R(2, 5),
    R(2, 3, dt=np.int64, lo=-5, hi=5),
)
case(
    "gathernd",
    "%y = graph.gather_nd %0, %1 batch_dims 0 : t0, t1 -> ty",
    lambda x, i: np.array([x[tuple(t)] for t in i]),
    R(3, 4, 5),
    np.int64([[0, 1], [2, -1], [-3, 0]]),
)
case(
    "gathernd1",
    "%y = graph.gather_nd %0, %1 batch_dims 1 : t0, t1 -> ty",
    lambda x, i: np.array([[x[b][tuple(t)] for t in i[b]] for b in range(2)]),
    R(2, 4, 5),
    R(2, 3, 1, dt=np.int64, lo=-4, hi=4),
)
case(
    "iota",
    "%y = graph.iota start 3 step -2 : ty",
    lambda: np.int64(3) - 2 * np.arange(6),
)
case(
    "iotaf",
    "%y = graph.iota start 3 step 2 : ty",
    lambda: (3 + 2 * np.arange(6)).astype(np.float32),
)
