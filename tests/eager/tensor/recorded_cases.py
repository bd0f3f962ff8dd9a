"""Cases of operations: a name, the inputs and what PyTorch, or NumPy, makes of them."""

import numpy as np
import torch

rng = np.random.default_rng(7)
NAMES = {
    "bool": "bool",
    "int8": "i8",
    "uint8": "u8",
    "int16": "i16",
    "uint16": "u16",
    "int32": "i32",
    "uint32": "u32",
    "int64": "i64",
    "uint64": "u64",
    "float16": "f16",
    "float32": "f32",
    "float64": "f64",
}
cases = []


def number(value):
    value = value.item()
    if isinstance(value, float) and not np.isfinite(value):
        return str(value)
    return value


def described(array):
    array = np.asarray(array)
    return {
        "dtype": NAMES[array.dtype.name],
        "shape": list(array.shape),
        "data": [number(v) for v in array.reshape(-1)],
    }


def f32(*shape):
    return (rng.standard_normal(shape) * 2).round(3).astype(np.float32)


def positive(*shape):
    return (rng.random(shape) * 3 + 0.1).round(3).astype(np.float32)


def unit(*shape):
    return (rng.random(shape) * 1.8 - 0.9).round(3).astype(np.float32)


def ints(*shape, low=-9, high=10, dtype=np.int64):
    return rng.integers(low, high, shape).astype(dtype)


def case(name, compute, *inputs):
    """Torch's result for tensors of `inputs`."""
    result = compute(*[torch.from_numpy(np.array(x)) for x in inputs])
    add(name, result.numpy(), *inputs)


def add(name, expected, *inputs):
    cases.append(
        {
            "name": name,
            "inputs": [described(x) for x in inputs],
            "expected": described(expected),
        }
    )
