# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the cases are made of."""

import math

import ml_dtypes
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
    "f8E4M3FN": ml_dtypes.float8_e4m3fn,
    "f8E4M3FNUZ": ml_dtypes.float8_e4m3fnuz,
    "f8E5M2": ml_dtypes.float8_e5m2,
    "f8E5M2FNUZ": ml_dtypes.float8_e5m2fnuz,
    "f8E8M0FNU": ml_dtypes.float8_e8m0fnu,
    "f4E2M1FN": ml_dtypes.float4_e2m1fn,
}
NAMES = {np.dtype(dtype): name for name, dtype in DTYPES.items()}

CASES = []  # (name, text, reference, inputs, tolerance)
random = np.random.default_rng(0)

SPECIAL = np.array(
    [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e30, -1e30, 3.5, -2.5, 0.5], np.float32
)
erf = np.vectorize(math.erf)


def case(name, text, reference, *inputs, tol=1e-5):
    """Adds a case: `text` computes what the function `reference` does, in which
    %0, %1 … are the inputs, %y is the result, and t0, t1 … and ty are their types."""
    CASES.append((name, text, reference, inputs, tol))


def type_of(array):
    """The tensor type of an array, as MLIR writes it."""
    extents = "".join(f"{extent}x" for extent in array.shape)
    return f"tensor<{extents}{NAMES[array.dtype]}>"


def draw(*shape, dt=np.float32, lo=-2, hi=2):
    """Random values of a type in a range."""
    if np.dtype(dt).kind == "f":
        return (random.random(shape) * (hi - lo) + lo).astype(dt)
    return random.integers(int(lo), int(hi), shape).astype(dt)


def ints(values):
    """A list of integers, as MLIR writes it."""
    return "[" + ", ".join(map(str, values)) + "]"


def swap_last(x):
    return np.swapaxes(x, -1, -2)


def channels_last(x):
    return np.moveaxis(x, 1, -1)


def channels_first(x):
    return np.moveaxis(x, -1, 1)
