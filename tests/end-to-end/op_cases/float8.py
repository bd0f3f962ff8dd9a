# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Floats of 8 bits, which are stored, moved and converted.

All codes are decoded. What is encoded are all numbers of a format, what lies between
two neighbours and next to that, and what is beyond the largest number."""

import ml_dtypes
import numpy as np

from op_cases.cases import NAMES, case, draw

FORMATS = (
    ml_dtypes.float8_e4m3fn,
    ml_dtypes.float8_e4m3fnuz,
    ml_dtypes.float8_e5m2,
    ml_dtypes.float8_e5m2fnuz,
)


def codes(dtype):
    return np.arange(256, dtype=np.uint8).view(dtype)


def finite(dtype):
    """All numbers that are not negative, by their codes."""
    values = codes(dtype)[:128].astype(np.float64)
    return values[np.isfinite(values)]


def beyond(dtype):
    """Where the numbers begin that are rounded up from the largest."""
    values = finite(dtype)
    return values[-1] + (values[-1] - values[-2]) / 2


def encode(x, dtype, saturate=False):
    """The nearest numbers, of two the one with an even code."""
    values = finite(dtype)
    x = np.asarray(x, np.float64)
    size = np.abs(x)
    halves = np.append((values[:-1] + values[1:]) / 2, beyond(dtype))
    code = np.searchsorted(halves, size)
    is_half = size == halves[np.minimum(code, len(halves) - 1)]
    code += is_half & (code % 2 == 1)
    is_beyond = code >= len(values)
    if saturate:
        code = np.minimum(code, len(values) - 1)
    has_negative_zero = np.signbit(np.array(-0.0).astype(dtype).astype(np.float64))
    is_negative = np.signbit(x) & ((code > 0) | has_negative_zero)
    y = (code | is_negative << 7).astype(np.uint8).view(dtype).copy()
    if not saturate:
        y[is_beyond] = np.copysign(np.inf, x[is_beyond]).astype(dtype)
    y[np.isnan(x)] = np.nan
    return y


def between(dtype, wide):
    """What is encoded, as f32 or f64."""
    values = finite(dtype)
    halves = np.append((values[:-1] + values[1:]) / 2, beyond(dtype)).astype(wide)
    special = [np.inf, np.nan, 1e30, np.finfo(wide).max, np.finfo(wide).tiny, 1e-40]
    sizes = np.concatenate(
        [
            values.astype(wide),
            halves,
            np.nextafter(halves, wide(0)),
            np.nextafter(halves, wide(np.inf)),
            (halves * 1.01).astype(wide),
            np.array(special, wide),
        ]
    )
    return np.concatenate([sizes, -sizes])


SIZES = {dtype: len(between(dtype, np.float32)) for dtype in FORMATS}
CAST = "%y = graph.cast %0 : t0 to ty"
SATURATE = "%y = graph.cast %0 saturate : t0 to ty"
for dtype in FORMATS:
    name = NAMES[np.dtype(dtype)]
    for wide in (np.float32, np.float64, np.float16):
        to = NAMES[np.dtype(wide)]
        case(f"decode_{name}_{to}", CAST, lambda x, to=wide: x.astype(to), codes(dtype))
        numbers = between(dtype, wide) if wide != np.float16 else None
        if numbers is None:
            numbers = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
        case(f"encode_{name}_{to}", CAST, lambda x, t=dtype: encode(x, t), numbers)
        case(
            f"encode_{name}_{to}_saturate",
            SATURATE,
            lambda x, t=dtype: encode(x, t, saturate=True),
            numbers,
        )
    for how in ("", "saturate "):
        case(
            f"convert_{name}{'_saturate' * bool(how)}",
            f"%a = graph.cast %0 {how}: t0 to tensor<{SIZES[dtype]}x{name}>\n"
            f"  %y = graph.cast %a : tensor<{SIZES[dtype]}x{name}> to ty",
            lambda x, t=dtype, s=bool(how): encode(x, t, s).astype(np.float32),
            between(dtype, np.float32),
        )
    case(
        f"encode_{name}_zeros",
        f"%a = graph.cast %0 : t0 to tensor<4x{name}>\n"
        f"  %b = graph.cast %a : tensor<4x{name}> to ty\n"
        "  %y = graph.reciprocal %b : ty",
        lambda x, t=dtype: 1 / encode(x, t).astype(np.float32),
        np.array([0.0, -0.0, 1e-30, -1e-30], np.float32),
    )
    for integer in (np.int32, np.uint8, np.int64, np.bool_):
        of = NAMES[np.dtype(integer)]
        limits = (-70000, 70000) if np.dtype(integer).itemsize > 1 else (0, 200)
        if integer == np.bool_:
            limits = (0, 2)
        case(
            f"encode_{name}_{of}",
            SATURATE,
            lambda x, t=dtype: encode(x, t, saturate=True),
            draw(300, dt=np.int64, lo=limits[0], hi=limits[1]).astype(integer),
        )
    case(
        f"decode_{name}_i32",
        CAST,
        lambda x: x.astype(np.float32).astype(np.int32),
        codes(dtype)[np.isfinite(codes(dtype).astype(np.float32))],
    )

    # Movement, by way of a constant and of what is computed.
    constant = f'graph.constant dense<"0x{codes(dtype)[:60].tobytes().hex()}">'
    case(
        f"move_{name}",
        "%a = graph.transpose %0 [1, 0] : t0 -> "
        f"tensor<15x4x{name}>\n"
        f"  %b = {constant} : tensor<15x4x{name}>\n"
        f"  %c = graph.concat %a, %b axis 1 : (tensor<15x4x{name}>, "
        f"tensor<15x4x{name}>) -> tensor<15x8x{name}>\n"
        f"  %d = graph.slice %c starts [1, 1] sizes [7, 6] steps [2, 1] : "
        f"tensor<15x8x{name}> -> tensor<7x6x{name}>\n"
        f"  %e = graph.constant dense<1.5> : tensor<{name}>\n"
        f"  %y = graph.pad %d, %e low [0, 1] high [1, 0] constant : "
        f"tensor<7x6x{name}>, tensor<{name}> -> ty",
        lambda x, t=dtype: np.pad(
            np.concatenate([x.view(np.uint8).T, np.arange(60).reshape(15, 4)], 1)[
                1::2, 1:7
            ],
            ((0, 1), (1, 0)),
            constant_values=np.array(1.5, t).view(np.uint8),
        )
        .astype(np.uint8)
        .view(t),
        codes(dtype)[64:124].reshape(4, 15),
    )
    case(
        f"choose_{name}",
        "%y = graph.where %0, %1, %2 : t0, t1, t2 -> ty",
        lambda c, a, b, t=dtype: np.where(c, a.view(np.uint8), b.view(np.uint8)).view(t),
        draw(12, dt=np.int32, lo=0, hi=2).astype(np.bool_),
        codes(dtype)[5:17],
        codes(dtype)[70:82],
    )
    case(
        f"rows_{name}",
        "%y = graph.gather %0, %1 axis 0 : t0, t1 -> ty",
        lambda x, i: x[i],
        codes(dtype)[:96].reshape(8, 12),
        np.array([3, 0, 7, 7], np.int64),
    )
    case(
        f"assign_{name}",
        "%y = graph.scatter assign %0, %1, %2 axis 0 : t0, t1, t2",
        lambda x, i, u, t=dtype: np.concatenate([u[1:], x[1:3], u[:1]]),
        codes(dtype)[:16].reshape(4, 4),
        np.array([3, 0], np.int64),
        codes(dtype)[40:48].reshape(2, 4),
    )

    # Scales are powers of two, so that quotients are exact.
    for scales, shape, of_scale in [
        ("tensor", (3, 4, 10), ()),
        ("axis", (3, 4, 10), (4, 1)),
        ("blocks", (3, 2, 5, 4), (3, 2, 1, 4)),
    ]:
        scale = (2.0 ** draw(*of_scale, dt=np.int32, lo=-2, hi=3)).astype(np.float32)
        scale = np.asarray(scale)
        size = float(finite(dtype)[-1])
        case(
            f"quantize_{name}_{scales}",
            "%y = graph.quantize %0 scale %1 : t0, t1 -> ty",
            lambda x, s, t=dtype: encode(x.astype(np.float64) / s, t, saturate=True),
            draw(*shape, lo=-size, hi=size),
            scale,
        )
        count = int(np.prod(shape))
        case(
            f"dequantize_{name}_{scales}",
            "%y = graph.dequantize %0 scale %1 : t0, t1 -> ty",
            lambda q, s: q.astype(np.float32) * s,
            codes(dtype)[:count].reshape(shape),
            scale,
        )
    case(
        f"quantize_{name}_zero_point",
        "%y = graph.quantize %0 scale %1 zero_point %2 : t0, t1, t2 -> ty",
        lambda x, s, z, t=dtype: encode(x / s + z.astype(np.float32), t, saturate=True),
        draw(40, dt=np.int32, lo=-64, hi=64).astype(np.float32),
        np.asarray(0.5, np.float32),
        np.asarray(1.5, dtype),
    )
    case(
        f"dequantize_{name}_zero_point",
        "%y = graph.dequantize %0 scale %1 zero_point %2 : t0, t1, t2 -> ty",
        lambda q, s, z: (q.astype(np.float32) - z.astype(np.float32)) * s,
        codes(dtype)[:100],
        np.asarray(0.5, np.float32),
        np.asarray(1.5, dtype),
    )
    case(
        f"dequantize_{name}_f16",
        "%y = graph.dequantize %0 scale %1 : t0, t1 -> ty",
        lambda q, s: q.astype(np.float16) * s,
        codes(dtype)[:100],
        np.asarray(0.25, np.float16),
    )
