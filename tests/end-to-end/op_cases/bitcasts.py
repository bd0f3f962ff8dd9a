# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The bits of elements as those of another type, of each width."""

import itertools

import ml_dtypes
import numpy as np

from op_cases.cases import NAMES, case, random

WIDTHS = (
    (np.float64, np.int64, np.uint64),
    (np.float32, np.int32, np.uint32),
    (np.float16, np.int16, np.uint16),
    (ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e8m0fnu, np.int8, np.uint8),
)


def edges(dtype):
    """Zeros, ones and single bits, and any others."""
    size = np.dtype(dtype).itemsize
    bits = [0, 2 ** (8 * size) - 1, *(1 << i for i in range(8 * size))]
    some = random.integers(0, 256, 24 * size).astype(np.uint8)
    edge = np.array(bits, f"u{size}").view(np.uint8)
    return np.concatenate([edge, some]).view(dtype)


for types in WIDTHS:
    for a, b in itertools.permutations(types, 2):
        case(
            f"bitcast_{NAMES[np.dtype(a)]}_{NAMES[np.dtype(b)]}",
            "%y = graph.bitcast %0 : t0 to ty",
            lambda x, b=b: x.view(b),
            edges(a),
        )

# In the middle of a kernel, as what splits a float into exponent and fraction does.
case(
    "bitcast_exponent",
    "%b = graph.bitcast %0 : t0 to tensor<40xi32>\n"
    "  %s = graph.constant dense<23> : tensor<i32>\n"
    "  %e = graph.shift_right %b, %s : tensor<40xi32>, tensor<i32> -> tensor<40xi32>\n"
    "  %m = graph.constant dense<255> : tensor<i32>\n"
    "  %y = graph.and %e, %m : tensor<40xi32>, tensor<i32> -> ty",
    lambda x: (x.view(np.int32) >> 23) & 255,
    (random.random(40) * 100 - 50).astype(np.float32),
)
