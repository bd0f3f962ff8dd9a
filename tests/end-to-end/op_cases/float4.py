# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Floats of 4 bits, and the powers of two that are scales of their blocks (MXFP4).

All codes are decoded; what is encoded are all numbers, what lies between two
neighbours and next to that, and what is beyond the least and the largest."""

import ml_dtypes
import numpy as np

from op_cases.cases import NAMES, case, draw

F4, E8M0 = ml_dtypes.float4_e2m1fn, ml_dtypes.float8_e8m0fnu
CODES = np.arange(16, dtype=np.uint8).view(F4)
NUMBERS = CODES[:8].astype(np.float64)  # 0, 0.5, 1, 1.5, 2, 3, 4, 6
POWERS = np.arange(255, dtype=np.float64) - 127


def encode(x):
    """The nearest numbers, of two the one with an even code; NaN becomes 0."""
    x = np.asarray(x, np.float64)
    halves = (NUMBERS[:-1] + NUMBERS[1:]) / 2
    code = np.searchsorted(halves, np.abs(x))
    is_half = np.abs(x) == halves[np.minimum(code, 6)]
    code += is_half & (code % 2 == 1) & (code < 7)
    code = np.where(np.isnan(x), 0, code)
    return (code | (np.signbit(x) << 3)).astype(np.uint8).view(F4)


def power(x, rounding, saturate):
    """The powers of two that numbers are rounded to, by their codes."""
    with np.errstate(all="ignore"):
        x = np.asarray(x).astype(np.float32).astype(np.float64)
    codes = []
    for value in x.ravel():
        if np.isnan(value) or value < 0:
            codes.append(255)
        elif value < 2.0**-127:
            codes.append(0 if saturate else 255)
        elif np.isinf(value):
            codes.append(254 if saturate else 255)
        else:
            fraction, exponent = np.frexp(value)  # From 1/2.
            step = {"down": 0, "up": fraction > 0.5, "nearest": fraction >= 0.75}
            code = int(exponent) - 1 + 127 + int(step[rounding])
            codes.append(min(code, 254) if saturate or code < 255 else 255)
    return np.array(codes, np.uint8).view(E8M0).reshape(x.shape)


def around(numbers, wide):
    """Numbers and their neighbours in a wider type, with both signs."""
    numbers = np.asarray(numbers).astype(wide)
    sizes = [numbers, np.nextafter(numbers, wide(0)), np.nextafter(numbers, wide(np.inf))]
    special = np.array([np.nan, np.inf, np.finfo(wide).max, np.finfo(wide).tiny], wide)
    sizes = np.concatenate([*sizes, special])
    return np.concatenate([sizes, -sizes])


CAST = "%y = graph.cast %0 : t0 to ty"
HALVES = (NUMBERS[:-1] + NUMBERS[1:]) / 2
for wide in (np.float32, np.float64, np.float16):
    to = NAMES[np.dtype(wide)]
    case(f"decode_f4E2M1FN_{to}", CAST, lambda x, to=wide: x.astype(to), CODES)
    numbers = around(np.concatenate([NUMBERS, HALVES, [7, 1e4]]), wide)
    case(f"encode_f4E2M1FN_{to}", CAST, encode, numbers)
    saturate = "%y = graph.cast %0 saturate : t0 to ty"
    case(f"encode_f4E2M1FN_{to}_saturate", saturate, encode, numbers)
case(
    "encode_f4E2M1FN_i32",
    CAST,
    encode,
    np.arange(-12, 12, dtype=np.int32),
)
case(
    "encode_f4E2M1FN_zeros",
    "%a = graph.cast %0 : t0 to tensor<4xf4E2M1FN>\n"
    "  %b = graph.cast %a : tensor<4xf4E2M1FN> to ty\n"
    "  %y = graph.reciprocal %b : ty",
    lambda x: 1 / encode(x).astype(np.float32),
    np.array([0.0, -0.0, 0.25, -0.25], np.float32),
)

POWER_CODES = np.arange(256, dtype=np.uint8).view(E8M0)
for wide in (np.float32, np.float64):
    to = NAMES[np.dtype(wide)]
    case(f"decode_f8E8M0FNU_{to}", CAST, lambda x, to=wide: x.astype(to), POWER_CODES)
    with np.errstate(all="ignore"):
        exact = np.ldexp(np.array([[1], [1.25], [1.5]]), POWERS.astype(int)).ravel()
        numbers = around(np.append(exact, [2.0**-128, 1.4e-45, 0]), wide)
    for rounding in ("nearest", "up", "down"):
        for saturate in (False, True):
            how = " saturate" * saturate + f" rounding {rounding}" * (rounding != "nearest")
            case(
                f"encode_f8E8M0FNU_{to}_{rounding}{'_saturate' * saturate}",
                f"%y = graph.cast %0{how} : t0 to ty",
                lambda x, r=rounding, s=saturate: power(x, r, s),
                numbers,
            )

for name, values in [("f4E2M1FN", CODES), ("f8E8M0FNU", POWER_CODES[120:136])]:
    text = f'graph.constant dense<"0x{values.tobytes().hex()}">'
    case(
        f"move_{name}",
        f"%a = graph.transpose %0 [1, 0] : t0 -> tensor<4x4x{name}>\n"
        f"  %b = {text} : tensor<4x4x{name}>\n"
        f"  %c = graph.concat %a, %b axis 1 : (tensor<4x4x{name}>, "
        f"tensor<4x4x{name}>) -> tensor<4x8x{name}>\n"
        f"  %y = graph.slice %c starts [1, 1] sizes [3, 6] steps [1, 1] : "
        f"tensor<4x8x{name}> -> ty",
        lambda x, v=values: np.concatenate(
            [x.view(np.uint8).T, v.view(np.uint8).reshape(4, 4)], 1
        )[1:, 1:7].copy().view(x.dtype),
        values[::-1].reshape(4, 4),
    )
    case(
        f"choose_{name}",
        "%y = graph.where %0, %1, %2 : t0, t1, t2 -> ty",
        lambda c, a, b: np.where(c, a.view(np.uint8), b.view(np.uint8)).view(a.dtype),
        draw(16, dt=np.int32, lo=0, hi=2).astype(np.bool_),
        values,
        values[::-1],
    )

# Scales are powers of two, so that quotients are exact.
for scales, shape, of_scale in [
    ("tensor", (3, 4, 10), ()),
    ("axis", (3, 4, 10), (4, 1)),
    ("blocks", (3, 2, 5, 4), (3, 2, 1, 4)),
]:
    scale = (2.0 ** draw(*of_scale, dt=np.int32, lo=-2, hi=3)).astype(np.float32)
    case(
        f"quantize_f4E2M1FN_{scales}",
        "%y = graph.quantize %0 scale %1 : t0, t1 -> ty",
        lambda x, s: encode(x.astype(np.float64) / s),
        draw(*shape, lo=-8, hi=8),
        np.asarray(scale),
    )
    case(
        f"dequantize_f4E2M1FN_{scales}",
        "%y = graph.dequantize %0 scale %1 : t0, t1 -> ty",
        lambda q, s: q.astype(np.float32) * s,
        draw(*shape, dt=np.uint8, lo=0, hi=16).view(F4),
        np.asarray(scale),
    )


def unpack(bytes):
    """The numbers of 4 bits in bytes, along their first dimension."""
    halves = np.stack([bytes & 15, bytes >> 4], 1)
    return halves.reshape(2 * len(bytes), *bytes.shape[1:]).view(F4)


case(
    "unpack_int4_f4E2M1FN",
    "%y = graph.unpack_int4 %0 axis 0 : t0 -> ty",
    unpack,
    draw(6, 4, dt=np.uint8, lo=0, hi=256),
)

# A product of floats with weights of MXFP4: 32 numbers along the depth have a
# scale, a power of two.
WEIGHTS = draw(32, 24, dt=np.uint8, lo=0, hi=256)
EXPONENTS = draw(2, 1, 24, dt=np.uint8, lo=124, hi=130).view(E8M0)
for name, bytes, scales in [
    ("constants", f'graph.constant dense<"0x{WEIGHTS.tobytes().hex()}">', None),
    ("inputs", None, None),
]:
    given = (
        f'  %b = {bytes} : tensor<32x24xui8>\n  %s = graph.constant dense<"0x'
        f'{EXPONENTS.tobytes().hex()}"> : tensor<2x1x24xf8E8M0FNU>\n'
        if bytes
        else ""
    )
    b, s = ("%b", "%s") if bytes else ("%1", "%2")
    case(
        f"matmul_mxfp4_{name}",
        given.lstrip()
        + f"  %q = graph.unpack_int4 {b} axis 0 : tensor<32x24xui8> -> "
        "tensor<64x24xf4E2M1FN>\n"
        "  %r = graph.reshape %q : tensor<64x24xf4E2M1FN> to tensor<2x32x24xf4E2M1FN>\n"
        f"  %t = graph.cast {s} : tensor<2x1x24xf8E8M0FNU> to tensor<2x1x24xf32>\n"
        "  %d = graph.dequantize %r scale %t : tensor<2x32x24xf4E2M1FN>, "
        "tensor<2x1x24xf32> -> tensor<2x32x24xf32>\n"
        "  %w = graph.reshape %d : tensor<2x32x24xf32> to tensor<64x24xf32>\n"
        "  %y = graph.matmul %0, %w : t0, tensor<64x24xf32> -> ty",
        lambda x, bytes=WEIGHTS, e=EXPONENTS: x
        @ (
            unpack(bytes).astype(np.float32).reshape(2, 32, 24) * e.astype(np.float32)
        ).reshape(64, 24),
        draw(3, 64),
        *([] if bytes else [WEIGHTS, EXPONENTS]),
        tol=1e-4,
    )
