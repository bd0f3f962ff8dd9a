# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What only gradients need: sums over windows, and places of maxima."""

import itertools

import numpy as np

from op_cases.cases import case, channels_first, channels_last, draw, ints


def windows(extents, kernel, strides, padding, dilations):
    """How many fit, and for each and each tap the place in x if it exists."""
    r = len(kernel)
    counts = [
        (extents[i] + padding[i] + padding[r + i] - (kernel[i] - 1) * dilations[i] - 1)
        // strides[i]
        + 1
        for i in range(r)
    ]

    def places():
        for at in itertools.product(*map(range, counts)):
            for tap in itertools.product(*map(range, kernel)):
                place = tuple(
                    at[i] * strides[i] + tap[i] * dilations[i] - padding[i]
                    for i in range(r)
                )
                if all(0 <= place[i] < extents[i] for i in range(r)):
                    yield at, tap, place

    return tuple(counts), places


def conv_weight_gradient(x, dy, kernel, strides, padding, dilations, groups=1):
    """The gradient in f64 of tensors with channels first."""
    extents, outputs = x.shape[2:], dy.shape[1]
    counts, places = windows(extents, kernel, strides, padding, dilations)
    images = x.reshape(len(x), groups, -1, *extents).astype(np.float64)
    gradients = dy.reshape(len(x), groups, -1, *counts).astype(np.float64)
    dw = np.zeros((groups, outputs // groups, x.shape[1] // groups, *kernel))
    every = (slice(None),) * 3
    for at, tap, place in places():
        dw[every + tap] += np.einsum(
            "ngo,ngc->goc", gradients[every + at], images[every + place]
        )
    return dw.reshape(outputs, -1, *kernel)


def conv_weight_gradient_cases(
    name,
    channels,
    outputs,
    extents,
    kernel,
    strides,
    padding,
    dilations,
    groups=1,
    dt=np.float32,
    batch=2,
    tol=1e-4,
):
    """The same gradient in both layouts."""
    counts, _ = windows(extents, kernel, strides, padding, dilations)
    x = draw(batch, channels, *extents, dt=dt)
    dy = draw(batch, outputs, *counts, dt=dt)
    text = (
        f"%y = graph.conv_weight_gradient %0, %1 kernel {ints(kernel)} "
        f"strides {ints(strides)} padding {ints(padding)} "
        f"dilations {ints(dilations)} groups {groups} "
    )

    def reference(x, dy):
        dw = conv_weight_gradient(x, dy, kernel, strides, padding, dilations, groups)
        return dw.astype(dt)

    def reference_last(x, dy):
        return reference(channels_first(x), channels_first(dy))

    types = " : t0, t1 -> ty"
    case(name + "_first", text + "channels_first" + types, reference, x, dy, tol=tol)
    x = np.ascontiguousarray(channels_last(x))
    dy = np.ascontiguousarray(channels_last(dy))
    case(name + "_last", text + "channels_last" + types, reference_last, x, dy, tol=tol)


conv_weight_gradient_cases("dw2", 3, 4, (7, 6), (3, 3), (1, 1), (1, 1, 1, 1), (1, 1))
# Taps of a line that are rows of one tile, and others that are not.
conv_weight_gradient_cases("dw7", 3, 40, (15, 17), (7, 7), (2, 2), (3,) * 4, (1, 1))
conv_weight_gradient_cases("dw7d", 3, 40, (15, 17), (3, 3), (2, 1), (3,) * 4, (2, 2))
# Tiles that are not full in either direction, several blocks of both.
conv_weight_gradient_cases("dw70", 70, 35, (9, 8), (3, 3), (1, 1), (1,) * 4, (1, 1))
conv_weight_gradient_cases(
    "dw150", 150, 190, (5, 4), (3, 2), (2, 1), (1, 0, 0, 1), (1, 1)
)
# Several blocks of what is summed, the last one smaller.
conv_weight_gradient_cases(
    "dwlong", 20, 36, (1500,), (5,), (1,), (2, 2), (1,), tol=1e-3
)
conv_weight_gradient_cases(
    "dwmany", 17, 33, (11, 7), (3, 3), (1, 1), (1,) * 4, (1, 1), batch=9
)
# Sums that are divided into parts, as many as images or fewer.
conv_weight_gradient_cases(
    "dwparts4", 20, 36, (40, 41), (3, 3), (1, 1), (1,) * 4, (1, 1), batch=4, tol=1e-3
)
conv_weight_gradient_cases(
    "dwparts3", 3, 40, (53, 52), (5, 5), (2, 2), (2,) * 4, (1, 1), batch=6, tol=1e-3
)
conv_weight_gradient_cases(
    "dwpartsf64",
    17,
    9,
    (40, 40),
    (3, 3),
    (1, 1),
    (1,) * 4,
    (1, 1),
    batch=2,
    dt=np.float64,
    tol=1e-11,
)
conv_weight_gradient_cases("dw1x1", 70, 40, (9, 8), (1, 1), (2, 2), (0,) * 4, (1, 1))
conv_weight_gradient_cases(
    "dw3d", 9, 18, (4, 5, 4), (2, 3, 2), (1, 2, 1), (1, 0, 0, 0, 1, 1), (1, 1, 2)
)
# Depthwise: vectors along the channels, the last one not full; parts of the sums.
conv_weight_gradient_cases(
    "dwdepth", 37, 37, (11, 9), (3, 3), (2, 1), (1,) * 4, (1, 2), groups=37
)
conv_weight_gradient_cases(
    "dwdepth5", 20, 20, (60, 50), (5, 5), (1, 1), (2,) * 4, (1, 1), groups=20, tol=1e-3
)
# More taps than registers, and more of the image than a cache.
conv_weight_gradient_cases(
    "dwdepth7",
    33,
    33,
    (150, 140),
    (7, 7),
    (1, 1),
    (3,) * 4,
    (1, 1),
    groups=33,
    batch=1,
    tol=1e-3,
)
conv_weight_gradient_cases(
    "dwdepthf64",
    9,
    9,
    (8, 7),
    (3, 3),
    (1, 1),
    (1,) * 4,
    (1, 1),
    groups=9,
    dt=np.float64,
    tol=1e-11,
)
conv_weight_gradient_cases(
    "dwg", 40, 60, (6, 5), (3, 3), (1, 1), (1,) * 4, (1, 1), groups=2
)
conv_weight_gradient_cases(
    "dwdw", 37, 37, (9, 8), (3, 3), (2, 2), (1,) * 4, (1, 1), groups=37
)
conv_weight_gradient_cases(
    "dwf64", 20, 18, (6, 5), (3, 3), (1, 1), (1,) * 4, (1, 1), dt=np.float64, tol=1e-12
)
conv_weight_gradient_cases(
    "dwf16", 20, 18, (6, 5), (3, 3), (1, 1), (1,) * 4, (1, 1), dt=np.float16, tol=1e-2
)


def max_pool_gradient_cases(
    name, extents, kernel, strides, padding, dilations, dt=np.float32, channels=3
):
    """The same gradient in both layouts; with ties, NaN and infinities."""
    counts, places = windows(extents, kernel, strides, padding, dilations)
    x = draw(2, channels, *extents, lo=-3, hi=3).round().astype(dt)
    x.flat[::7] = np.nan
    x.flat[1::11] = -np.inf
    dy = draw(2, channels, *counts, dt=dt)
    text = (
        f"%y = graph.max_pool_gradient %0, %1 kernel {ints(kernel)} "
        f"strides {ints(strides)} padding {ints(padding)} dilations {ints(dilations)} "
    )

    def reference(x, dy):
        dx = np.zeros(x.shape)
        every = (slice(None),) * 2
        taken = {}
        for at, _, place in places():
            taken.setdefault(at, []).append(place)
        for at, candidates in taken.items():
            elements = np.stack([x[every + place] for place in candidates])
            first = elements.argmax(0)  # A NaN counts as the largest.
            for i, place in enumerate(candidates):
                dx[every + place] += np.where(first == i, dy[every + at], 0)
        return dx.astype(dt)

    def reference_last(x, dy):
        return channels_last(reference(channels_first(x), channels_first(dy)))

    tol = 1e-2 if dt == np.float16 else 1e-5
    types = " : t0, t1"
    case(name + "_first", text + "channels_first" + types, reference, x, dy, tol=tol)
    x = np.ascontiguousarray(channels_last(x))
    dy = np.ascontiguousarray(channels_last(dy))
    case(name + "_last", text + "channels_last" + types, reference_last, x, dy, tol=tol)


max_pool_gradient_cases("dmaxp", (7, 8), (3, 3), (2, 2), (1,) * 4, (1, 1))
max_pool_gradient_cases("dmaxp2", (8, 6), (2, 2), (2, 2), (0,) * 4, (1, 1))
max_pool_gradient_cases("dmaxpgap", (9, 9), (2, 3), (3, 4), (0, 1, 1, 0), (1, 1))
max_pool_gradient_cases("dmaxpd", (9,), (3,), (2,), (1, 2), (2,))
max_pool_gradient_cases(
    "dmaxp3d", (4, 5, 4), (2, 3, 2), (1, 2, 1), (0, 1, 1) * 2, (2, 1, 1)
)
max_pool_gradient_cases(
    "dmaxp35", (9, 25), (3, 3), (2, 2), (1,) * 4, (1, 1), channels=35
)
# Large enough for kernels of its two stages.
max_pool_gradient_cases(
    "dmaxplarge", (31, 33), (3, 3), (2, 2), (1,) * 4, (1, 1), channels=35
)
max_pool_gradient_cases(
    "dmaxpf16", (7, 8), (3, 3), (2, 2), (1,) * 4, (1, 1), dt=np.float16
)
