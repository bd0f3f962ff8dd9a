# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""To and from integers with a scale, and products of bytes.

Scales are powers of two, so that all numbers are exact, halves among them."""

import numpy as np

from op_cases.cases import NAMES, case, draw, ints, swap_last
from op_cases.contractions import conv

BYTES = (np.uint8, np.int8)


def quantize(x, scale, zero_point, dtype):
    limits = np.iinfo(dtype)
    q = np.round(x.astype(np.float64) / scale) + np.asarray(zero_point, np.float64)
    return np.clip(q, limits.min, limits.max).astype(dtype)


def dequantize(q, scale, zero_point=0):
    return ((q.astype(np.int64) - zero_point) * scale).astype(scale.dtype)


def bytes_of(dtype, *shape):
    limits = np.iinfo(dtype)
    return draw(*shape, dt=dtype, lo=limits.min, hi=limits.max + 1)


def unpack_int4(x, axis, dtype):
    halves = np.stack([x & 15, x >> 4], axis + 1).astype(np.int8)
    if dtype == np.int8:
        halves = (halves ^ 8) - 8
    shape = list(x.shape)
    shape[axis] *= 2
    return halves.reshape(shape).astype(dtype)


for axis in range(3):
    for dtype in BYTES:
        case(
            f"unpack_int4_{axis}_{dtype.__name__}",
            f"%y = graph.unpack_int4 %0 axis {axis} : t0 -> ty",
            lambda x, axis=axis, dtype=dtype: unpack_int4(x, axis, dtype),
            bytes_of(np.uint8, 3, 5, 20),
        )

# Halves, and numbers beyond what the integers have.
FLOATS = np.concatenate([np.arange(-600, 600) / 8, [1e9, -1e9]]).astype(np.float32)
FOUR = np.array(0.25, np.float32)
CHANNELS = np.array([[0.25], [0.5], [2], [1]], np.float32)
QUANTIZE = "%y = graph.quantize %0 scale %1 zero_point %2 : t0, t1, t2 -> ty"
DEQUANTIZE = "%y = graph.dequantize %0 scale %1 zero_point %2 : t0, t1, t2 -> ty"
for dtype in (np.uint8, np.int8, np.uint16, np.int16):
    name = NAMES[np.dtype(dtype)]
    for zero in (0, 3):
        case(
            f"quantize_{name}_{zero}",
            QUANTIZE,
            lambda x, s, z: quantize(x, s, z, z.dtype),
            FLOATS,
            FOUR,
            np.array(zero, dtype),
        )
    case(
        f"quantize_channels_{name}",
        QUANTIZE,
        lambda x, s, z: quantize(x, s, z, z.dtype),
        draw(4, 50, lo=-100, hi=100),
        CHANNELS,
        np.array([[0], [1], [2], [3]], dtype),
    )
    case(
        f"dequantize_{name}",
        DEQUANTIZE,
        lambda q, s, z: dequantize(q, s, z.astype(np.int64)),
        bytes_of(dtype, 4, 21),
        CHANNELS,
        np.array([[0], [1], [2], [3]], dtype),
    )
case(
    "quantize_f64",
    "%y = graph.quantize %0 scale %1 : t0, t1 -> ty",
    lambda x, s: quantize(x, s, 0, np.int8),
    FLOATS.astype(np.float64),
    FOUR.astype(np.float64),
)


# No quotient is next to a half: that may be rounded either way.
def spread(*shape):
    return (np.rint(draw(*shape, lo=-300, hi=300)) / 8 + 0.01).astype(np.float32)


SCALED = [
    ("tensor", (3, 4, 10), ()),
    ("axis", (3, 4, 10), (4, 1)),
    ("last_axis", (3, 4, 10), (10,)),
    ("blocks", (3, 2, 5, 4), (3, 2, 1, 4)),
    ("elements", (3, 4), (3, 4)),
    ("two_axes", (3, 4, 10), (4, 10)),
]
for name, shape, of_scale in SCALED:
    scale = (2.0 ** draw(*of_scale, dt=np.int32, lo=-2, hi=3)).astype(np.float32)
    for dtype in (np.uint8, np.int8, np.uint16, np.int16):
        zero = np.asarray(bytes_of(dtype, *of_scale), dtype)
        case(
            f"quantize_{name}_{dtype.__name__}",
            "%y = graph.quantize %0 scale %1 zero_point %2 : t0, t1, t2 -> ty",
            lambda x, s, z, dtype=dtype: quantize(x, s, z, dtype),
            spread(*shape),
            scale,
            zero,
        )
        case(
            f"dequantize_{name}_{dtype.__name__}",
            "%y = graph.dequantize %0 scale %1 zero_point %2 : t0, t1, t2 -> ty",
            lambda q, s, z: dequantize(q, s, z.astype(np.int64)),
            bytes_of(dtype, *shape),
            scale,
            zero,
        )
case(
    "quantize_without_zero_point",
    "%y = graph.quantize %0 scale %1 : t0, t1 -> ty",
    lambda x, s: quantize(x, s, 0, np.int8),
    spread(5, 7),
    np.asarray(0.5, np.float32),
)
case(
    "quantize_one_scale_for_zero_points",
    "%y = graph.quantize %0 scale %1 zero_point %2 : t0, t1, t2 -> ty",
    lambda x, s, z: quantize(x, s, z, np.uint8),
    spread(5, 7),
    np.asarray(0.5, np.float32),
    bytes_of(np.uint8, 7),
)
case(
    "dequantize_i32",
    "%y = graph.dequantize %0 scale %1 : t0, t1 -> ty",
    lambda q, s: dequantize(q, s, 0),
    draw(5, 7, dt=np.int32, lo=-1000, hi=1000),
    draw(7, lo=0.5, hi=1.5),
)
case(
    "dequantize_i32_zero_point",
    "%y = graph.dequantize %0 scale %1 zero_point %2 : t0, t1, t2 -> ty",
    lambda q, s, z: dequantize(q, s, z.astype(np.int64)),
    draw(5, 7, dt=np.int32, lo=-1000, hi=1000),
    draw(7, lo=0.5, hi=1.5),
    np.asarray(3, np.int32),
)
case(
    "dequantize_f16",
    "%y = graph.dequantize %0 scale %1 : t0, t1 -> ty",
    lambda q, s: dequantize(q, s, 0),
    bytes_of(np.int8, 5, 7),
    np.asarray(0.25, np.float16),
)
# What scales and zero points may vary along: nothing, axes, blocks.
for name, shape, of_scale, of_zero in [
    ("tensor", (3, 4, 10), (), ()),
    ("last_axis", (3, 4, 10), (10,), (10,)),
    ("axis", (3, 4, 10), (4, 1), ()),
    ("two_axes", (3, 4, 10), (4, 10), (4, 10)),
    ("blocks", (3, 2, 5, 4), (3, 2, 1, 4), (3, 2, 1, 4)),
    ("elements", (3, 4), (3, 4), (1, 4)),
    ("zero_points", (5, 7), (), (7,)),
]:
    scale = (2.0 ** draw(*of_scale, dt=np.int32, lo=-2, hi=3)).astype(np.float32)
    zero = np.asarray(bytes_of(np.uint8, *of_zero), np.uint8)
    case(
        f"quantize_by_{name}",
        QUANTIZE,
        lambda x, s, z: quantize(x, s, z, z.dtype),
        draw(*shape, lo=-300, hi=300),
        np.asarray(scale),
        zero,
    )
    case(
        f"dequantize_by_{name}",
        DEQUANTIZE,
        lambda q, s, z: dequantize(q, s, z.astype(np.int64)),
        bytes_of(np.uint8, *shape),
        np.asarray(scale),
        zero,
    )
case(
    "dequantize_i32_zero_point",
    DEQUANTIZE,
    lambda q, s, z: dequantize(q, s, z.astype(np.int64)),
    draw(3, 5, dt=np.int32, lo=-100000, hi=100000),
    FOUR,
    np.array(3, np.int32),
)
case(
    "dequantize_f16",
    "%y = graph.dequantize %0 scale %1 : t0, t1 -> ty",
    dequantize,
    bytes_of(np.int8, 5, 7),
    FOUR.astype(np.float16),
)
# Equal scales undo each other, others do not.
for name, scale in (("same", "%1"), ("other", "%3")):
    case(
        f"requantize_{name}",
        "%f = graph.dequantize %0 scale %1 zero_point %2 : t0, t1, t2 -> "
        "tensor<4x33xf32>\n"
        f"  %y = graph.quantize %f scale {scale} zero_point %2 : "
        "tensor<4x33xf32>, t1, t2 -> ty",
        lambda q, s, z, t, name=name: quantize(
            dequantize(q, s, int(z)), s if name == "same" else t, z, np.uint8
        ),
        bytes_of(np.uint8, 4, 33),
        FOUR,
        np.array(7, np.uint8),
        np.array(0.5, np.float32),
    )


def exact_matmul(a, b):
    return (a.astype(np.int64) @ b.astype(np.int64)).astype(np.int32)


MATMUL = "%y = graph.matmul %0, %1 {} : t0, t1 -> ty"
SHAPES = [
    ((8, 16), (16, 32)),
    ((13, 37), (37, 29)),
    ((64, 257), (257, 70)),
    ((3, 20, 64), (3, 64, 40)),
    ((1, 50), (50, 65)),
    ((40, 3), (3, 40)),
]
for left, right in ((l, r) for l in BYTES for r in BYTES):
    name = NAMES[np.dtype(left)] + "_" + NAMES[np.dtype(right)]
    for a, b in SHAPES:
        case(
            f"matmul_{name}{a}{b}",
            MATMUL.format(""),
            exact_matmul,
            bytes_of(left, *a),
            bytes_of(right, *b),
        )
    case(
        f"matmul_{name}_tb",
        MATMUL.format("transpose_b"),
        lambda a, b: exact_matmul(a, swap_last(b)),
        bytes_of(left, 2, 19, 24),
        bytes_of(right, 2, 33, 24),
    )


def mixed_weights(shape, axis):
    """Weights of which groups of four along an axis differ in how their pairs add up:
    most fit into 16 bits beside any bytes, some in another order, some never do."""
    weights = np.moveaxis(draw(*shape, dt=np.int8, lo=-60, hi=61), axis, -1)
    groups = weights[..., : weights.shape[-1] // 4 * 4].reshape(*weights.shape[:-1], -1, 4)
    for start, bytes_ in enumerate(
        [(127, 127, -1, 2), (-128, -3, -100, 5), (127, 0, 1, 2), (-128, -128, 127, 127)]
    ):
        groups[..., start::9, :] = bytes_
    weights[..., : groups.shape[-2] * 4] = groups.reshape(*weights.shape[:-1], -1)
    return np.ascontiguousarray(np.moveaxis(weights, -1, axis))


def constant_weights(w):
    text = "x".join(map(str, w.shape))
    return f'%w = graph.constant dense<"0x{w.tobytes().hex()}"> : tensor<{text}xi8>\n', text


def extreme_bytes(*shape):
    """Zeros and the largest ones, and some between."""
    x = bytes_of(np.uint8, *shape)
    x[..., ::2] = np.where(x[..., ::2] > 60, 255, 0)
    return x


# Constant weights of many groups: these are put in an order where the CPU multiplies
# bytes in 16 bits.
for a, b in [
    ((40, 202), (202, 40)),
    ((131, 768), (768, 17)),
    ((3, 33, 200), (3, 200, 24)),
    ((2, 3, 36, 196), (196, 33)),
]:
    weights = mixed_weights(b, -2)
    constant, text = constant_weights(weights)
    case(
        f"matmul_ui8_i8_constant{a}{b}",
        f"{constant}  %y = graph.matmul %0, %w : t0, tensor<{text}xi8> -> ty",
        lambda a, b=weights: exact_matmul(a, b),
        extreme_bytes(*a),
    )

for x, w, stride, pad, dilation, groups in [
    ((1, 16, 9, 9), (32, 16, 3, 3), 1, 1, 1, 1),
    ((2, 3, 15, 15), (20, 3, 5, 5), 2, 2, 1, 1),
    ((1, 30, 7, 8), (50, 30, 1, 1), 1, 0, 1, 1),
    ((1, 8, 12, 12), (8, 8, 3, 3), 1, 2, 2, 1),
    ((1, 24, 10, 10), (24, 1, 3, 3), 2, 1, 1, 24),
    ((1, 16, 10, 10), (32, 4, 3, 3), 1, 1, 1, 4),
    ((1, 64, 30), (70, 64, 4), 1, 1, 1, 1),
]:
    for value in (0, 5):
        spatial = len(x) - 2
        case(
            f"conv_bytes{x}{w}_{value}",
            f"%y = graph.conv %0, %1 strides {ints([stride] * spatial)} padding "
            f"{ints([pad] * 2 * spatial)} padding_value {value} dilations "
            f"{ints([dilation] * spatial)} groups {groups} channels_first "
            ": t0, t1 -> ty",
            lambda x, w, s=stride, p=pad, d=dilation, g=groups, v=value: conv(
                np.pad(
                    x,
                    [(0, 0)] * 2 + [(p, p)] * (x.ndim - 2),
                    constant_values=v,
                ),
                w,
                [s] * (x.ndim - 2),
                [0] * 2 * (x.ndim - 2),
                [d] * (x.ndim - 2),
                g,
            ).astype(np.int32),
            bytes_of(np.uint8, *x),
            bytes_of(np.int8, *w),
        )

for x, w, stride, pad in [
    ((1, 24, 11, 9), (40, 24, 3, 3), 1, 1),
    ((2, 30, 8, 8), (16, 30, 3, 3), 2, 1),
    ((1, 256, 7, 7), (24, 256, 1, 1), 1, 0),
]:
    weights = mixed_weights(w, 1)
    constant, text = constant_weights(weights)
    case(
        f"conv_bytes_constant{x}{w}",
        f"{constant}  %y = graph.conv %0, %w strides {ints([stride] * 2)} padding "
        f"{ints([pad] * 4)} padding_value 0 dilations [1, 1] groups 1 channels_first "
        f": t0, tensor<{text}xi8> -> ty",
        lambda x, w=weights, s=stride, p=pad: conv(
            x, w, [s] * 2, [p] * 4, [1, 1], 1
        ).astype(np.int32),
        extreme_bytes(*x),
    )
