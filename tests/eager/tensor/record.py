#!/usr/bin/env python3
"""Records what PyTorch and NumPy compute and print, for RecordedTest.cpp.

    record.py > recorded.json

Needs both, which the test does not. RecordedOperations.cpp has the cases of
recorded_operations.py in C++.
"""

import json
import sys

import numpy as np
import torch

from recorded_cases import cases, described, rng
from recorded_operations import FAMILIES


def random_index(shape):
    """An index for NumPy and PyTorch, and the same for JSON."""
    index, told, axis = [], [], 0
    use_tensors = rng.random() < 0.6
    has_ellipsis = False
    while axis < len(shape):
        extent, kind = shape[axis], rng.integers(8)
        if kind == 0:
            value = int(rng.integers(-extent, extent))
            index.append(value)
            told.append({"int": value})
        elif kind == 1:
            index.append(None)
            told.append({"none": 0})
            if len(index) > len(shape) + 2:
                break
            continue
        elif kind == 2 and not has_ellipsis:
            index.append(...)
            told.append({"ellipsis": 0})
            has_ellipsis = True
            axis += int(rng.integers(len(shape) - axis + 1))
            continue
        elif kind <= 4 and use_tensors:
            places = rng.integers(
                -extent, extent, [(2,), (1, 2), (2, 1)][rng.integers(3)]
            )
            index.append(places)
            told.append({"tensor": described(places)})
        elif (
            kind == 5
            and use_tensors
            and axis + 1 == len(shape)
            and not any(isinstance(i, np.ndarray) for i in index)
        ):
            mask = rng.random(extent) < 0.5
            index.append(mask)
            told.append({"tensor": described(mask)})
        else:
            bounds = [
                None if rng.random() < 0.4 else int(b)
                for b in rng.integers(-extent - 1, extent + 2, 2)
            ]
            step = (
                int(rng.integers(1, 3))
                if use_tensors or rng.random() < 0.7
                else -int(rng.integers(1, 3))
            )
            index.append(slice(*bounds, step))
            told.append({"slice": [*bounds, step]})
        axis += 1
    return tuple(index), told


def indexed():
    records = []
    while len(records) < 150:
        shape = tuple(int(n) for n in rng.integers(1, 5, rng.integers(1, 5)))
        x = np.arange(np.prod(shape)).reshape(shape)
        index, told = random_index(shape)
        if any(isinstance(i, slice) and i.step < 0 for i in index):
            result = x[index]
        else:
            result = torch.from_numpy(x)[
                tuple(
                    torch.from_numpy(i) if isinstance(i, np.ndarray) else i
                    for i in index
                )
            ].numpy()
        records.append({"x": described(x), "index": told, "result": described(result)})
    return records


def printed():
    arrays = [
        np.float32([1, 2.5, -3]),
        np.array(1.5),
        np.array(7),
        np.array(True),
        np.float32([[0.1, 0.2], [1 / 3, 100.25]]),
        np.float32([1e-5, 1]),
        np.float32([1e6, 2]),
        np.array([1e8, 1.0]),
        np.array([99999999.0, 0.5]),
        np.float32([np.nan, np.inf, -np.inf, 1]),
        np.float32([np.nan, np.nan]),
        np.array([[True, False], [False, True]]),
        np.arange(12).reshape(3, 4),
        np.array([-5, 1000, 7]),
        np.zeros((0, 3), np.float32),
        np.uint64([2**64 - 1, 1]),
        np.int8([-128, 5]),
        np.float16([0.1, 1e3, 7]),
        np.float16([0.1, 0.3333, 7]),
        np.arange(1001),
        np.arange(1100.0).reshape(11, 100),
        np.arange(100, dtype=np.float32),
        np.arange(60).reshape(3, 4, 5),
        np.arange(16.0).reshape(2, 2, 2, 2),
        rng.standard_normal((4, 6)),
        rng.standard_normal((3, 3)).astype(np.float32),
        rng.standard_normal(40).astype(np.float16),
        np.float32(rng.standard_normal(30) * 10.0 ** rng.integers(-8, 8, 30)),
        rng.standard_normal(30) * 10.0 ** rng.integers(-120, 120, 30),
        np.float32(rng.random((2, 3, 7)) * 1000),
        np.float32([-0.0, 0.0]),
        np.array(1e16),
        np.array(123456789.125),
        np.array(1e-5),
        np.float32(np.array(0.1)),
        np.float32(np.array(16777216 * 8)),
        np.array(-np.inf),
        np.float32([[1e-30, 1e30]]),
        np.float32(rng.standard_normal((11, 10, 10))),
        np.array([0.00010001, 0.1]),
        np.array([1.0, 1000.0]),
        np.array([1.0, 1000.5]),
        np.array([12345.678, 0.25]),
        np.float32([3.14159274, 2.71828175]),
        np.array([[1.5]]),
        np.array([[], []]),
        np.int64([2**63 - 1, -(2**63)]),
        np.float16([65504, 6e-8, 1]),
    ]
    for kind in (np.float16, np.float32, np.float64):
        for scale in (0.001, 1, 1e3, 1e5):
            arrays.append((rng.standard_normal((3, 5)) * scale).astype(kind))
    return [{"array": described(x), "text": str(x)} for x in arrays]


def main():
    for family in FAMILIES:
        family()
    # Long lists on one line each, so that changes show.
    print('{"printed": [')
    print(",\n".join(json.dumps(x) for x in printed()))
    print('], "indexed": [')
    print(",\n".join(json.dumps(x) for x in indexed()))
    print('], "cases": [')
    print(",\n".join(json.dumps(x) for x in cases))
    print("]}")
    print(len(cases), "cases", file=sys.stderr)


if __name__ == "__main__":
    main()
