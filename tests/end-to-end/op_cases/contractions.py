# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Matmuls, convolutions and their transposes."""

import itertools

import numpy as np

from op_cases.cases import (
    case,
    channels_first,
    channels_last,
    draw,
    ints,
    swap_last,
)

MATMUL = "%y = graph.matmul %0, %1 {} : t0, t1 -> ty"
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
    case(f"matmul{a}{b}", MATMUL.format(""), np.matmul, draw(*a), draw(*b))
case(
    "matmul_ta",
    MATMUL.format("transpose_a"),
    lambda a, b: swap_last(a) @ b,
    draw(2, 4, 3),
    draw(4, 5),
)
case(
    "matmul_tb",
    MATMUL.format("transpose_b"),
    lambda a, b: a @ swap_last(b),
    draw(3, 4),
    draw(2, 5, 4),
)
case(
    "matmul_tab",
    MATMUL.format("transpose_a transpose_b"),
    lambda a, b: swap_last(a) @ swap_last(b),
    draw(4, 3),
    draw(5, 4),
)
# Tiles and panels that are partly empty, sums in parts, and so few rows that
# the right-hand side is read where it lies.
for m, n, k in [
    (1, 100, 33),
    (7, 33, 13),
    (13, 17, 100),
    (1, 300, 1031),
    (13, 300, 1031),
    (33, 100, 1031),
]:
    for ta, tb in itertools.product([False, True], repeat=2):
        case(
            f"matmul_{'t' if ta else 'n'}{'t' if tb else 'n'}_{m}x{n}x{k}",
            MATMUL.format(
                "transpose_a " * ta + "transpose_b" * tb,
            ),
            lambda a, b, ta=ta, tb=tb: (
                (a.T if ta else a).astype(np.float64)
                @ (b.T if tb else b).astype(np.float64)
            ).astype(np.float32),
            draw(*((k, m) if ta else (m, k))),
            draw(*((n, k) if tb else (k, n))),
            tol=1e-4,
        )
for name, dtype, tolerance in [
    ("f16", np.float16, 2e-3),
    ("f64", np.float64, 1e-12),
]:
    case(
        f"matmul_parts_{name}",
        MATMUL.format("transpose_a"),
        lambda a, b, dtype=dtype: (
            a.T.astype(np.float64) @ b.astype(np.float64)
        ).astype(dtype),
        draw(6007, 13, dt=dtype),
        draw(6007, 17, dt=dtype),
        tol=tolerance,
    )
case(
    "matmul_batch_few_rows",
    MATMUL.format(""),
    np.matmul,
    draw(3, 5, 40),
    draw(3, 40, 37),
)
for a, b in [
    ((0, 3, 4), (0, 4, 5)),
    ((0, 4), (4, 5)),
    ((3, 0), (0, 5)),
    ((3, 4), (4, 0)),
    ((3, 0, 4), (4, 5)),
]:
    case(f"matmul_empty{a}{b}", MATMUL.format(""), np.matmul, draw(*a), draw(*b))
case(
    "matmul_f64",
    MATMUL.format(""),
    np.matmul,
    draw(2, 30, 37, dt=np.float64),
    draw(37, 21, dt=np.float64),
    tol=1e-12,
)
case(
    "matmul_f16_tiles",
    MATMUL.format(""),
    lambda a, b: (a.astype(np.float32) @ b.astype(np.float32)).astype(np.float16),
    draw(30, 37, dt=np.float16),
    draw(37, 21, dt=np.float16),
    tol=2e-3,
)
case(
    "matmul_f16",
    MATMUL.format(""),
    lambda a, b: (a.astype(np.float32) @ b.astype(np.float32)).astype(np.float16),
    draw(3, 4, dt=np.float16),
    draw(4, 5, dt=np.float16),
    tol=2e-3,
)


def conv(x, w, strides, padding, dilations, groups):
    """Channels first; window by window."""
    r = len(strides)
    pads = [(0, 0), (0, 0)] + [(padding[i], padding[r + i]) for i in range(r)]
    x = np.pad(x, pads).astype(np.float64)
    w = w.astype(np.float64)
    per_group = w.shape[1]
    spans = [(w.shape[2 + i] - 1) * dilations[i] + 1 for i in range(r)]
    extents = [(x.shape[2 + i] - spans[i]) // strides[i] + 1 for i in range(r)]
    y = np.zeros((x.shape[0], w.shape[0], *extents))
    for out in range(w.shape[0]):
        group = out // (w.shape[0] // groups)
        inputs = x[:, group * per_group : (group + 1) * per_group]
        for at in itertools.product(*map(range, extents)):
            window = tuple(
                slice(at[i] * strides[i], at[i] * strides[i] + spans[i], dilations[i])
                for i in range(r)
            )
            products = inputs[(slice(None), slice(None)) + window] * w[out]
            y[(slice(None), out) + at] = products.reshape(len(x), -1).sum(1)
    return y


def conv_cases(
    name,
    channels,
    outputs,
    extents,
    kernel,
    strides,
    padding,
    dilations,
    groups,
    dt=np.float32,
    tol=1e-4,
):
    """The same convolution in both layouts."""
    x = draw(2, channels, *extents, dt=dt)
    w = draw(outputs, channels // groups, *kernel, dt=dt)
    text = (
        f"%y = graph.conv %0, %1 strides {ints(strides)} padding {ints(padding)} "
        f"dilations {ints(dilations)} groups {groups} "
    )

    def reference(x, w):
        return conv(x, w, strides, padding, dilations, groups).astype(dt)

    def reference_last(x, w):
        return channels_last(reference(channels_first(x), w))

    types = " : t0, t1 -> ty"
    case(name + "_first", text + "channels_first" + types, reference, x, w, tol=tol)
    x = np.ascontiguousarray(channels_last(x))
    case(name + "_last", text + "channels_last" + types, reference_last, x, w, tol=tol)


conv_cases("conv2", 3, 4, (7, 6), (3, 3), (1, 1), (1, 1, 1, 1), (1, 1), 1)
conv_cases("conv2s", 3, 4, (9, 8), (3, 2), (2, 3), (1, 0, 2, 1), (2, 1), 1)
conv_cases("conv1x1", 3, 4, (5, 5), (1, 1), (2, 2), (0,) * 4, (1, 1), 1)
conv_cases("conv1d", 3, 4, (9,), (3,), (2,), (1, 1), (2,), 1)
# A line that takes several slabs.
conv_cases("conv1d_long", 70, 20, (2500,), (5,), (1,), (2, 2), (1,), 1)
# Taps so far apart that a line's windows are summed line of taps by line of taps.
conv_cases("convd8", 300, 16, (14, 14), (3, 3), (1, 1), (8,) * 4, (8, 8), 1)
conv_cases(
    "conv3d", 2, 3, (4, 5, 4), (2, 3, 2), (1, 2, 1), (1, 0, 0, 0, 1, 1), (1, 1, 2), 1
)
conv_cases("convg", 4, 6, (5, 5), (3, 3), (1, 1), (1, 1, 1, 1), (1, 1), 2)
conv_cases("convdw", 4, 4, (5, 5), (3, 3), (2, 2), (1, 1, 1, 1), (1, 1), 4)
conv_cases("convdwm", 4, 8, (5, 5), (3, 3), (2, 2), (1, 1, 1, 1), (1, 1), 4)
# Whole vectors of channels and a tail, borders on both sides, several tiles.
conv_cases("convdw40", 40, 40, (9, 21), (3, 3), (1, 1), (1, 1, 1, 1), (1, 1), 40)
conv_cases("convdw70s", 70, 70, (12, 19), (5, 3), (2, 2), (2, 1, 1, 2), (1, 1), 70)
conv_cases("convdw33d", 33, 33, (9, 20), (3, 5), (1, 1), (3, 6, 3, 6), (3, 3), 33)
# Few lines and many channels, which are divided among chunks.
conv_cases("convdw1007", 1007, 1007, (200,), (9,), (1,), (4, 4), (1,), 1007)
conv_cases("convdw1d", 24, 24, (30,), (4,), (1,), (3, 0), (1,), 24)
conv_cases("convdw3d", 20, 20, (4, 5, 6), (3, 2, 3), (1, 1, 2), (1,) * 6, (1, 1, 1), 20)
conv_cases(
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


def conv_transpose(x, w, strides, padding, more, dilations, groups):
    """Channels first; each element adds its weighted kernel. `more` is the
    output padding."""
    r = len(strides)
    outputs = w.shape[1]
    full = [
        (x.shape[2 + i] - 1) * strides[i] + (w.shape[2 + i] - 1) * dilations[i] + 1
        for i in range(r)
    ]
    y = np.zeros((x.shape[0], outputs * groups, *[full[i] + more[i] for i in range(r)]))
    for c, o in itertools.product(range(x.shape[1]), range(outputs)):
        group = c // (x.shape[1] // groups)
        for at in itertools.product(*map(range, x.shape[2:])):
            for k in itertools.product(*map(range, w.shape[2:])):
                target = tuple(
                    at[i] * strides[i] + k[i] * dilations[i] for i in range(r)
                )
                y[(slice(None), group * outputs + o) + target] += (
                    x[(slice(None), c) + at] * w[(c, o) + k]
                )
    kept = tuple(
        slice(padding[i], full[i] - padding[r + i] + more[i]) for i in range(r)
    )
    return y[(slice(None), slice(None)) + kept]


def conv_transpose_cases(
    name, channels, outputs, extents, kernel, strides, padding, more, dilations, groups
):
    """The same transposed convolution in both layouts."""
    x = draw(2, channels, *extents)
    w = draw(channels, outputs // groups, *kernel)
    text = (
        f"%y = graph.conv_transpose %0, %1 strides {ints(strides)} "
        f"padding {ints(padding)} output_padding {ints(more)} "
        f"dilations {ints(dilations)} groups {groups} "
    )

    def reference(x, w):
        y = conv_transpose(x, w, strides, padding, more, dilations, groups)
        return y.astype(np.float32)

    def reference_last(x, w):
        return channels_last(reference(channels_first(x), w))

    types = " : t0, t1 -> ty"
    case(name + "_first", text + "channels_first" + types, reference, x, w, tol=1e-4)
    x = np.ascontiguousarray(channels_last(x))
    case(name + "_last", text + "channels_last" + types, reference_last, x, w, tol=1e-4)


conv_transpose_cases("convt", 3, 4, (4, 4), (2, 2), (2, 2), (0,) * 4, (0, 0), (1, 1), 1)
conv_transpose_cases(
    "convt2", 3, 4, (4, 5), (3, 3), (2, 3), (1, 0, 2, 1), (1, 2), (1, 2), 1
)
conv_transpose_cases("convtg", 4, 6, (4,), (3,), (2,), (1, 1), (1,), (1,), 2)
conv_transpose_cases(
    "convt4", 5, 20, (5, 6), (4, 4), (2, 2), (1,) * 4, (0, 0), (1, 1), 1
)
conv_transpose_cases(
    "convt3d",
    3,
    17,
    (3, 2, 4),
    (2, 3, 3),
    (2, 2, 1),
    (0, 1, 1) * 2,
    (0, 1, 0),
    (1,) * 3,
    1,
)
# A convolution for each phase.
conv_transpose_cases(
    "convtphases", 7, 16, (5, 6), (3, 3), (2, 2), (1,) * 4, (1, 1), (1, 1), 1
)
conv_transpose_cases(
    "convtphases0", 5, 16, (4, 5), (3, 3), (2, 2), (0, 1, 1, 0), (0, 1), (1, 1), 1
)
conv_transpose_cases(
    "convtphases5", 5, 32, (4, 5), (5, 3), (2, 1), (2, 1) * 2, (0, 0), (1, 2), 1
)
conv_transpose_cases(
    "convtphases1", 7, 16, (5, 6), (1, 1), (2, 2), (0,) * 4, (1, 1), (1, 1), 1
)
conv_transpose_cases(
    "convtphases2", 7, 16, (5, 6), (2, 1), (3, 2), (1, 0) * 2, (1, 0), (1, 1), 1
)
conv_transpose_cases("convtphases3", 3, 16, (9,), (7,), (3,), (4, 2), (2,), (1,), 1)
conv_transpose_cases(
    "convtphases3d",
    3,
    16,
    (3, 2, 4),
    (3, 3, 3),
    (2, 2, 2),
    (1,) * 6,
    (1, 0, 1),
    (1,) * 3,
    1,
)
# Windows that lie in what is cut off, and results beyond all windows.
conv_transpose_cases("convtfar", 2, 3, (3,), (2,), (2,), (5, 0), (4,), (1,), 1)
conv_transpose_cases("convtcut", 2, 2, (5,), (2,), (2,), (3, 0), (0,), (1,), 1)
conv_transpose_cases(
    "convtdw", 4, 4, (4, 4), (3, 3), (2, 2), (1, 1, 1, 1), (1, 1), (1, 1), 4
)
