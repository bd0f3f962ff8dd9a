# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions, arg-reductions and running sums."""

import numpy as np

from op_cases.cases import SPECIAL, case, draw, ints

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
                f"%y = graph.reduce {k} %0 axes {ints(ax)} {'keepdims' if kd else ''} : t0 -> ty",
                lambda x, f=f, ax=ax, kd=kd: f(x, axis=ax, keepdims=bool(kd)),
                draw(3, 4, 5),
                tol=1e-4,
            )
for ax in [(0,), (1, 2), (2,), (0, 1, 2), ()]:
    for kd in (0, 1):
        case(
            f"variance{ax}{kd}",
            f"%y = graph.variance %0 axes {ints(ax)} {'keepdims' if kd else ''} : t0 -> ty",
            lambda x, ax=ax, kd=kd: np.var(x, axis=ax, keepdims=bool(kd)),
            draw(3, 4, 5, lo=9, hi=11),
            tol=1e-4,
        )
case(
    "red_none", "%y = graph.reduce mean %0 axes [] : t0 -> ty", lambda x: x, draw(3, 4)
)
case(
    "red_sum_f16",
    "%y = graph.reduce mean %0 axes [0] : t0 -> ty",
    lambda x: x.astype(np.float32).mean(0).astype(np.float16),
    draw(30, 4, dt=np.float16),
    tol=1e-3,
)
# Long ones, which are divided into parts.
for shape, ax in [
    ((4000, 33), (0,)),
    ((397, 20, 17), (0, 1)),
    ((3, 80000), (1,)),
    ((70001,), (0,)),
    ((300, 300), (0, 1)),
]:
    for k, f in {"sum": np.sum, "max": np.max, "mean": np.mean}.items():
        case(
            f"red_long_{k}{shape}",
            f"%y = graph.reduce {k} %0 axes {ints(ax)} : t0 -> ty",
            lambda x, f=f, ax=ax: f(x.astype(np.float64), axis=ax).astype(np.float32),
            draw(*shape, lo=-0.1, hi=1),
            tol=1e-4,
        )
case(
    "red_long_i32",
    "%y = graph.reduce sum %0 axes [0] : t0 -> ty",
    lambda x: x.sum(0, dtype=np.int32),
    draw(4000, 33, lo=-99, hi=99).astype(np.int32),
)
case(
    "red_long_f16",
    "%y = graph.reduce mean %0 axes [0] : t0 -> ty",
    lambda x: x.astype(np.float64).mean(0).astype(np.float16),
    draw(4000, 33, dt=np.float16),
    tol=1e-3,
)
case("red_max_nan", "%y = graph.reduce max %0 axes [0] : t0 -> ty", np.max, SPECIAL)
case(
    "red_sum_u8",
    "%y = graph.reduce sum %0 axes [0] : t0 -> ty",
    lambda x: x.astype(int).sum(0).astype(np.uint8),
    draw(30, 4, dt=np.uint8, lo=0, hi=255),
)
case(
    "red_mean_u8",
    "%y = graph.reduce mean %0 axes [0] : t0 -> ty",
    lambda x: (x.astype(int).sum(0) // 30).astype(np.uint8),
    draw(30, 4, dt=np.uint8, lo=0, hi=255),
)
case(
    "red_max_u8",
    "%y = graph.reduce max %0 axes [0] : t0 -> ty",
    lambda x: x.max(0),
    draw(30, 4, dt=np.uint8, lo=0, hi=255),
)
case(
    "red_min_i8",
    "%y = graph.reduce min %0 axes [0] : t0 -> ty",
    lambda x: x.min(0),
    draw(30, 4, dt=np.int8, lo=-99, hi=99),
)
case(
    "red_any",
    "%y = graph.reduce max %0 axes [1] : t0 -> ty",
    lambda x: x.any(1),
    draw(4, 3) > 1,
)
case(
    "red_all",
    "%y = graph.reduce min %0 axes [1] : t0 -> ty",
    lambda x: x.all(1),
    draw(4, 3) > -1,
)
for k, f in {"argmax": np.argmax, "argmin": np.argmin}.items():
    z = draw(4, 6, 5, dt=np.int32, lo=0, hi=4).astype(np.float32)
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
        draw(30, 14, dt=np.uint8, lo=0, hi=255),
    )
    # Longer than a vector, with ties, with NaN and without, in odd places.
    for name, row in {
        "ties": draw(3, 77, dt=np.int32, lo=-3, hi=3).astype(np.float32),
        "nan": np.where(draw(3, 77) > 1, np.float32(np.nan), draw(3, 77)),
        "inf": np.full((2, 37), -np.inf if k == "argmax" else np.inf, np.float32),
        "i8": draw(3, 77, dt=np.int8, lo=-9, hi=9),
        "u8": draw(3, 77, dt=np.uint8, lo=0, hi=255),
        "i64": draw(3, 77, dt=np.int64, lo=-9, hi=9),
    }.items():
        case(
            f"{k}_row_{name}",
            f"%y = graph.{k} %0 axis 1 : t0 -> ty",
            lambda x, f=f: f(x, axis=1),
            row,
        )
        case(
            f"{k}_row_{name}_last",
            f"%y = graph.{k} %0 axis 1 select_last_index : t0 -> ty",
            lambda x, g=lastarg: g(x, 1),
            row,
        )
    case(
        k + "f16",
        f"%y = graph.{k} %0 axis 1 : t0 -> ty",
        lambda x, f=f: f(x, axis=1),
        draw(30, 14, dt=np.float16),
    )


def cumulative(function, first, x, ex, rev):
    if rev:
        x = x[:, ::-1]
    y = function(x, 1, dtype=x.dtype)
    if ex:
        y = np.concatenate([np.full_like(y[:, :1], first), y[:, :-1]], 1)
    return y[:, ::-1] if rev else y


def cumsum(x, ex, rev):
    return cumulative(np.cumsum, 0, x, ex, rev)


def cumprod(x, ex, rev):
    return cumulative(np.cumprod, 1, x, ex, rev)


for ex in (0, 1):
    for rev in (0, 1):
        # Longer than a vector, in each dimension; factors near 1, and a zero.
        factors = draw(19, 37, 18, lo=0.8, hi=1.2)
        factors[3, 20, 5] = 0
        for ax in (0, 1, 2):
            case(
                f"cumprod{ax}{ex}{rev}",
                f"%y = graph.cumprod %0 axis {ax} {'exclusive' if ex else ''} {'reverse' if rev else ''} : t0",
                lambda x, ax=ax, ex=ex, rev=rev: np.swapaxes(
                    cumprod(np.swapaxes(x, 1, ax), ex, rev), 1, ax
                ),
                factors,
                tol=1e-4,
            )
for dt in (np.int8, np.uint8, np.int32, np.int64, np.uint64, np.float64):
    case(
        f"cumprod_{np.dtype(dt).name}",
        "%y = graph.cumprod %0 axis 1 : t0",
        lambda x: cumprod(x, 0, 0),
        draw(2, 70, dt=dt, lo=1, hi=9),
    )
case(
    "cumprod_f16",
    "%y = graph.cumprod %0 axis 1 : t0",
    lambda x: cumprod(x.astype(np.float32), 0, 0).astype(np.float16),
    draw(3, 50, dt=np.float16, lo=0.9, hi=1.1),
    tol=2e-3,
)


for ex in (0, 1):
    for rev in (0, 1):
        case(
            f"cumsum{ex}{rev}",
            f"%y = graph.cumsum %0 axis 1 {'exclusive' if ex else ''} {'reverse' if rev else ''} : t0",
            lambda x, ex=ex, rev=rev: cumsum(x, ex, rev),
            draw(3, 6, 2),
        )
        # Longer than a vector, in each dimension; with a last dimension of its own.
        for ax in (0, 1, 2):
            case(
                f"cumsum_long{ax}{ex}{rev}",
                f"%y = graph.cumsum %0 axis {ax} {'exclusive' if ex else ''} {'reverse' if rev else ''} : t0",
                lambda x, ax=ax, ex=ex, rev=rev: np.swapaxes(
                    cumsum(np.swapaxes(x, 1, ax), ex, rev), 1, ax
                ),
                draw(35, 37, 39),
                tol=1e-4,
            )
        case(
            f"cumsum_inf{ex}{rev}",
            f"%y = graph.cumsum %0 axis 1 {'exclusive' if ex else ''} {'reverse' if rev else ''} : t0",
            lambda x, ex=ex, rev=rev: cumsum(x, ex, rev),
            np.where(draw(4, 99) > 2, np.float32(np.inf), draw(4, 99) - 0.5),
            tol=1e-4,
        )
case(
    "cumsum_i",
    "%y = graph.cumsum %0 axis 1 : t0",
    lambda x: cumsum(x, 0, 0),
    draw(3, 6, dt=np.int64, lo=-9, hi=9),
)
# Several registers of neighbours at a time, and what is left of them.
for shape, axis in [
    ((40, 200), 0),
    ((3, 50, 70), 1),
    ((300, 65), 0),
    ((2, 9, 1000), 1),
]:
    case(
        f"red_columns{shape}{axis}",
        f"%y = graph.reduce sum %0 axes [{axis}] : t0 -> ty",
        lambda x, axis=axis: np.sum(x, axis=axis, dtype=np.float64).astype(np.float32),
        draw(*shape),
        tol=1e-4,
    )
for dt in (np.int8, np.uint8, np.int32, np.int64, np.uint64, np.float64):
    case(
        f"cumsum_{np.dtype(dt).name}",
        "%y = graph.cumsum %0 axis 1 reverse : t0",
        lambda x: cumsum(x, 0, 1),
        draw(2, 70, dt=dt, lo=0, hi=99),
    )
case(
    "cumsum_f16",
    "%y = graph.cumsum %0 axis 1 : t0",
    lambda x: cumsum(x.astype(np.float32), 0, 0).astype(np.float16),
    draw(3, 50, dt=np.float16),
    tol=2e-3,
)
case(
    "cumsum_fused",
    "%s = graph.exp %0 : t0\n  %c = graph.cumsum %s axis 1 : t0\n  %y = graph.div %c, %s : t0, t0 -> ty",
    lambda x: cumsum(np.exp(x), 0, 0) / np.exp(x),
    draw(3, 50),
    tol=1e-4,
)
