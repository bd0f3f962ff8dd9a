# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Maxima and means over sliding windows."""

import itertools

import numpy as np

from op_cases.cases import case, channels_first, channels_last, draw, ints


def counted(x, padding, ceil_padding):
    """1 where a divisor counts padding, 0 in what the ceil mode added."""
    r = len(ceil_padding)
    ones = np.pad(
        np.ones_like(x),
        [(0, 0), (0, 0)]
        + [(padding[i], padding[r + i] - ceil_padding[i]) for i in range(r)],
        constant_values=1,
    )
    return np.pad(ones, [(0, 0), (0, 0)] + [(0, extra) for extra in ceil_padding])


def pool(x, kind, kernel, strides, padding, dilations, count_padding, ceil_padding):
    """Channels first; window by window."""
    r = len(kernel)
    padded = np.pad(
        x.astype(np.float64),
        [(0, 0), (0, 0)] + [(padding[i], padding[r + i]) for i in range(r)],
        constant_values=-np.inf if kind == "max" else np.nan,
    )
    counts = (
        counted(x, padding, ceil_padding or [0] * r)
        if count_padding
        else ~np.isnan(padded)
    )
    spans = [(kernel[i] - 1) * dilations[i] + 1 for i in range(r)]
    extents = [(padded.shape[2 + i] - spans[i]) // strides[i] + 1 for i in range(r)]
    y = np.zeros(x.shape[:2] + tuple(extents))
    axes = tuple(range(2, 2 + r))
    for at in itertools.product(*map(range, extents)):
        window = (slice(None), slice(None)) + tuple(
            slice(at[i] * strides[i], at[i] * strides[i] + spans[i], dilations[i])
            for i in range(r)
        )
        if kind == "max":
            result = padded[window].max(axes)
        else:
            divisor = np.maximum(counts[window].sum(axes), 1)
            result = np.nansum(padded[window], axes) / divisor
        y[(slice(None), slice(None)) + at] = result
    return y.astype(x.dtype)


def pool_cases(
    name,
    kind,
    extents,
    kernel,
    strides,
    padding,
    dilations,
    count_padding=False,
    ceil_padding=None,
    dt=np.float32,
    channels=3,
):
    """The same pool in both layouts."""
    x = draw(2, channels, *extents, dt=dt, lo=-50, hi=50)
    text = (
        f"%y = graph.{kind}_pool %0 kernel {ints(kernel)} strides {ints(strides)} "
        f"padding {ints(padding)} dilations {ints(dilations)} "
    )
    rest = " count_include_pad" if count_padding else ""
    if ceil_padding:
        rest += f" {{ceil_padding = array<i64: {ints(ceil_padding)[1:-1]}>}}"
    rest += " : t0 -> ty"

    def reference(x):
        window = (kernel, strides, padding, dilations)
        return pool(x, kind, *window, count_padding, ceil_padding)

    def reference_last(x):
        return channels_last(reference(channels_first(x)))

    case(name + "_first", text + "channels_first" + rest, reference, x)
    x = np.ascontiguousarray(channels_last(x))
    case(name + "_last", text + "channels_last" + rest, reference_last, x)


pool_cases("maxp", "max", (7, 8), (3, 3), (2, 2), (1, 1, 1, 1), (1, 1))
pool_cases("maxpd", "max", (9,), (3,), (2,), (1, 2), (2,))
pool_cases("maxpi", "max", (7, 8), (3, 3), (2, 2), (1, 1, 1, 1), (1, 1), dt=np.int8)
pool_cases("maxp35", "max", (9, 25), (3, 3), (2, 2), (1, 1, 1, 1), (1, 1), channels=35)
pool_cases(
    "maxpu35",
    "max",
    (9, 25),
    (2, 3),
    (1, 2),
    (1, 1, 0, 1),
    (1, 1),
    dt=np.uint8,
    channels=35,
)
pool_cases("avgpp35", "avg", (9, 25), (3, 3), (2, 1), (1, 1, 1, 1), (1, 1), channels=35)
pool_cases("avgp70", "avg", (7, 7), (7, 7), (1, 1), (0,) * 4, (1, 1), channels=70)
pool_cases("avgp", "avg", (7, 8), (3, 3), (2, 2), (0,) * 4, (1, 1))
pool_cases("avgpp", "avg", (7, 8), (3, 3), (2, 2), (1, 1, 1, 1), (1, 1))
pool_cases(
    "avgpi", "avg", (7, 8), (3, 3), (2, 2), (1, 1, 1, 1), (1, 1), count_padding=True
)
pool_cases(
    "avgpc",
    "avg",
    (7, 8),
    (3, 3),
    (2, 2),
    (1, 1, 2, 2),
    (1, 1),
    count_padding=True,
    ceil_padding=[1, 2],
)
pool_cases("avgpcd", "avg", (9,), (3,), (2,), (1, 3), (2,), ceil_padding=[1])
