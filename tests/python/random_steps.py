"""What the steps of a random program can be, and how they are drawn.

Values stay between about -4 and 4. Comparisons are of integers, which are exact.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

Key = tuple  # Of an index: integers, slices, None and ....


@dataclass
class Step:
    name: str
    operands: list[int]
    run: object  # Of a library and the operands.
    note: str = ""


def is_float(x) -> bool:
    return x.dtype.kind == "f"


def is_int(x) -> bool:
    return x.dtype.kind == "i"


UNARY = {
    "tanh": lambda f, x: f.tanh(x),
    "sin": lambda f, x: f.sin(x),
    "cos": lambda f, x: f.cos(x),
    "neg": lambda f, x: -x,
    "abs": lambda f, x: f.abs(x),
    "exp": lambda f, x: f.exp(-f.abs(x)),
    "expm1": lambda f, x: f.expm1(f.tanh(x)),
    "sqrt": lambda f, x: f.sqrt(f.abs(x) + 0.25),
    "log": lambda f, x: f.log(f.abs(x) + 0.5),
    "log1p": lambda f, x: f.log1p(f.abs(x)),
    "sigmoid": lambda f, x: f.sigmoid(x),
    "softplus": lambda f, x: f.softplus(x),
    "square": lambda f, x: f.tanh(f.square(x)),
    "reciprocal": lambda f, x: 1 / (f.abs(x) + 1),
    "polynomial": lambda f, x: (2 * x - x**3) * 0.125 + 1,
}
# Not differentiable, or where differences say little.
ROUGH = {
    "relu": lambda f, x: f.relu(x),
    "clamp": lambda f, x: f.clamp(x, -0.5, 1.5),
    "erf": lambda f, x: f.cast(f.erf(x), str(x.dtype)),
}
BINARY = {
    "add": lambda f, x, y: f.tanh(x + y),
    "sub": lambda f, x, y: (x - y) * 0.5,
    "mul": lambda f, x, y: f.tanh(x * y),
    "div": lambda f, x, y: x / (f.abs(y) + 1),
    "maximum": lambda f, x, y: f.maximum(x, y),
    "minimum": lambda f, x, y: f.minimum(x, y),
    "power": lambda f, x, y: f.tanh(f.power(f.abs(x) + 0.5, f.tanh(y))),
}
INTEGER = {
    "add": lambda f, x, y: (x + y) % 7,
    "sub": lambda f, x, y: x - y % 5,
    "mul": lambda f, x, y: (x * y) % 11,
    "floor_divide": lambda f, x, y: x // (y % 4 + 1),
    "maximum": lambda f, x, y: f.maximum(x, y),
    "and": lambda f, x, y: x & y,
    "or": lambda f, x, y: (x | y) % 13,
    "xor": lambda f, x, y: (x ^ y) % 13,
    "shift": lambda f, x, y: (x << (y & 3)) % 17,
}
COMPARE = {
    "lt": lambda f, x, y: x < y,
    "le": lambda f, x, y: x <= y,
    "gt": lambda f, x, y: x > y,
    "ge": lambda f, x, y: x >= y,
    "eq": lambda f, x, y: x == y,
    "ne": lambda f, x, y: x != y,
}


class Drawing:
    """Draws the steps of a program, with NumPy's values at hand."""

    def __init__(self, random, smooth: bool):
        self.random, self.smooth = random, smooth
        self.values: list[np.ndarray] = []
        self.steps: list[Step] = []

    def one_of(self, options):
        return options[self.random.integers(len(options))]

    def find(self, condition) -> int | None:
        """A value, rather a late one."""
        found = [i for i, x in enumerate(self.values) if condition(x)]
        if not found:
            return None
        return max(self.one_of(found), self.one_of(found))

    def pair(self, condition) -> list[int] | None:
        """Two values, of one dtype, that broadcast."""

        def fits(y):
            try:
                shape = np.broadcast_shapes(x.shape, y.shape)
            except ValueError:
                return False
            return y.dtype == x.dtype and np.prod(shape) <= 4096

        i = self.find(condition)
        if i is None:
            return None
        x = self.values[i]
        j = self.find(fits)
        return [i, j] if self.random.integers(2) else [j, i]

    def axis(self, x) -> int:
        return int(self.random.integers(-x.ndim, x.ndim))

    def key(self, x) -> Key:
        """What stands between brackets."""
        parts = []
        for extent in x.shape[: self.random.integers(x.ndim + 1)]:
            kind = self.random.integers(4)
            start = int(self.random.integers(extent))
            stop = int(self.random.integers(start, extent)) + 1
            if kind == 0:
                parts.append(start - extent if self.random.integers(2) else start)
            elif kind == 1:
                parts.append(slice(None, None, int(self.random.integers(1, 4))))
            else:
                parts.append(slice(start, stop, int(self.random.integers(1, 3))))
        if self.random.integers(4) == 0:
            parts.insert(self.random.integers(len(parts) + 1), None)
        if self.random.integers(4) == 0:
            parts.append(...)
        return tuple(parts)

    # Each gives a name, operands and what to run, or None if nothing fits.

    def unary(self):
        table = UNARY if self.smooth else UNARY | ROUGH
        name = self.one_of(list(table))
        return name, [self.find(is_float)], table[name]

    def binary(self):
        name = self.one_of(list(BINARY))
        return name, self.pair(is_float), BINARY[name]

    def number(self):
        number = round(float(self.random.uniform(-2, 2)), 2)
        return (
            "number",
            [self.find(is_float)],
            lambda f, x: f.tanh(number - x / 2),
            str(number),
        )

    def integer(self):
        name = self.one_of(list(INTEGER))
        return "integer " + name, self.pair(is_int), INTEGER[name]

    def compare(self):
        name = self.one_of(list(COMPARE))
        return name, self.pair(is_int), COMPARE[name]

    def logic(self):
        name = self.one_of(["logical_and", "logical_or", "logical_xor"])
        operands = self.pair(lambda x: x.dtype.kind == "b")
        return name, operands, lambda f, x, y: getattr(f, name)(x, y)

    def where(self):
        pair = self.pair(is_float)
        if pair is None:
            return None
        shape = np.broadcast_shapes(*(self.values[i].shape for i in pair))
        mask = self.find(lambda x: x.dtype.kind == "b" and x.shape == shape)
        if mask is None:
            given = self.random.integers(0, 2, shape).astype(bool)
            return "where", pair, lambda f, x, y: f.where(f.constant(given), x, y)
        return "where", [mask, *pair], lambda f, c, x, y: f.where(c, x, y)

    def cast(self):
        i = self.find(lambda x: True)
        kind = self.values[i].dtype.kind
        to = self.one_of(
            {
                "f": ["float32", "float64"],
                "i": ["int32", "int64", "float32", "bool"],
                "b": ["int64", "int32", "float32"],
            }[kind]
        )
        return "cast", [i], lambda f, x: f.cast(x, to), to

    def reduce(self):
        i = self.find(is_float)
        names = ["sum", "mean", "max", "min", "var", "prod"]
        if not self.smooth and self.random.integers(3) == 0:
            i = self.find(lambda x: not is_float(x))
            names = ["sum", "any", "all", "count_nonzero"]
        if i is None:
            return None
        x, name = self.values[i], self.one_of(names)
        axes = self.random.permutation(x.ndim)[: self.random.integers(x.ndim + 1)]
        axis = tuple(int(a) for a in axes) or None
        if axis is not None and len(axis) == 1 and self.random.integers(2):
            axis = axis[0] - x.ndim
        keep = bool(self.random.integers(2))
        if not is_float(x):
            run = lambda f, x: f.reduce(name, x, axis, keep)
        elif name in ("sum", "prod"):
            run = lambda f, x: f.tanh(f.reduce(name, x, axis, keep))
        else:
            run = lambda f, x: f.reduce(name, x, axis, keep)
        return name, [i], run, f"axis={axis}, keepdims={keep}"

    def logsumexp(self):
        i = self.find(lambda x: is_float(x) and x.ndim)
        if i is None:
            return None
        axis, keep = self.axis(self.values[i]), bool(self.random.integers(2))
        run = lambda f, x: f.logsumexp(x, axis, keep)
        return "logsumexp", [i], run, f"{axis}, {keep}"

    def along(self):
        i = self.find(lambda x: is_float(x) and x.ndim)
        if i is None:
            return None
        axis = self.axis(self.values[i])
        name, run = self.one_of(
            [
                ("softmax", lambda f, x: f.softmax(x, axis)),
                ("log_softmax", lambda f, x: f.log_softmax(x, axis)),
                ("cumsum", lambda f, x: f.tanh(f.cumsum(x, axis))),
                ("flip", lambda f, x: f.flip(x, axis)),
                ("roll", lambda f, x: f.roll(x, 2, axis)),
                ("unsqueeze", lambda f, x: f.unsqueeze(x, axis)),
            ]
        )
        return name, [i], run, f"axis={axis}"

    def argmax(self):
        i = self.find(lambda x: is_int(x) and x.ndim)
        if i is None:
            return None
        axis = self.axis(self.values[i])
        name = self.one_of(["argmax", "argmin"])
        return name, [i], lambda f, x: getattr(f, name)(x, axis), f"axis={axis}"

    def layer_norm(self):
        i = self.find(lambda x: is_float(x) and x.ndim and x.shape[-1] > 1)
        return "layer_norm", [i], lambda f, x: f.tanh(f.layer_norm(x))

    def matmul(self):
        i = self.find(lambda x: is_float(x) and x.ndim >= 2)
        if i is None:
            return None
        x = self.values[i]
        scale = float(x.shape[-1]) ** -0.5
        j = self.find(
            lambda y: y.dtype == x.dtype
            and y.ndim in (1, 2)
            and y.shape[0] == x.shape[-1]
        )
        if j is None or self.random.integers(3) == 0:
            order = (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2)
            run = lambda f, x: (x @ f.permute(x, order)) * scale
            return "matmul", [i], lambda f, x: f.tanh(run(f, x))
        return "matmul", [i, j], lambda f, x, y: f.tanh((x @ y) * scale)

    def einsum(self):
        i = self.find(lambda x: is_float(x) and x.ndim == 2)
        if i is None:
            return None
        equation = self.one_of(["ij,ij->j", "ij,kj->ki", "ij,ij->"])
        run = lambda f, x: f.tanh(f.einsum(equation, x, x))
        return "einsum", [i], run, equation

    def reshape(self):
        i = self.find(lambda x: True)
        size = self.values[i].size
        shape, left = [], size
        while left > 1 and len(shape) < 3:
            factor = self.one_of([d for d in range(1, left + 1) if left % d == 0])
            shape.append(factor)
            left //= factor
        shape.append(left)
        if size and self.random.integers(2):
            shape[self.random.integers(len(shape))] = -1
        shape = tuple(shape)
        return "reshape", [i], lambda f, x: f.reshape(x, shape), str(shape)

    def permute(self):
        i = self.find(lambda x: x.ndim >= 2)
        if i is None:
            return None
        order = tuple(int(a) for a in self.random.permutation(self.values[i].ndim))
        return "permute", [i], lambda f, x: f.permute(x, order), str(order)

    def index(self):
        i = self.find(lambda x: x.ndim)
        if i is None:
            return None
        key = self.key(self.values[i])
        return "index", [i], lambda f, x: x[key], str(key)

    def take(self):
        i = self.find(lambda x: x.ndim)
        if i is None:
            return None
        extent = self.values[i].shape[0]
        index = self.random.integers(-extent, extent, self.random.integers(1, 4))
        return "take", [i], lambda f, x: x[f.constant(index)], str(index)

    def assign(self):
        i = self.find(lambda x: is_float(x) and x.ndim)
        if i is None:
            return None
        x, key = self.values[i], self.key(self.values[i])
        part = x[key].shape

        def broadcasts(y):
            return y.dtype == x.dtype and (
                y.ndim <= len(part)
                and all(a in (1, b) for a, b in zip(y.shape[::-1], part[::-1]))
            )

        j = self.find(broadcasts)
        if j is None:
            return "assign", [i], lambda f, x: f.assign(x, key, 0.5), str(key)
        return "assign", [i, j], lambda f, x, y: f.assign(x, key, y), str(key)

    def add_to(self):
        i = self.find(lambda x: is_float(x) and x.ndim)
        if i is None:
            return None
        x = self.values[i]
        j = self.find(lambda y: y.dtype == x.dtype and y.shape == x.shape)
        return "+=", [i, j], lambda f, x, y: f.tanh(f.add_to(x, y))

    def join(self):
        i = self.find(lambda x: x.ndim and x.size <= 512)
        if i is None:
            return None
        x = self.values[i]
        j = self.find(lambda y: y.dtype == x.dtype and y.shape == x.shape)
        axis = self.axis(x)
        name = self.one_of(["concat", "stack"])
        run = lambda f, x, y: getattr(f, name)([x, y], axis)
        return name, [i, j], run, f"axis={axis}"

    def widen(self):
        i = self.find(lambda x: x.size <= 256 and x.ndim <= 3)
        if i is None:
            return None
        x = self.values[i]
        shape = (int(self.random.integers(1, 4)), *x.shape)
        if x.ndim and self.random.integers(3) == 0:
            low = [int(n) for n in self.random.integers(0, 3, x.ndim)]
            high = [int(n) for n in self.random.integers(0, 3, x.ndim)]
            return "pad", [i], lambda f, x: f.pad(x, low, high), f"{low}, {high}"
        run = lambda f, x: f.broadcast_to(x, shape)
        return "broadcast_to", [i], run, str(shape)

    def triangle(self):
        i = self.find(lambda x: is_float(x) and x.ndim >= 2)
        name, k = self.one_of(["tril", "triu"]), int(self.random.integers(-1, 2))
        return name, [i], lambda f, x: getattr(f, name)(x, k), str(k)

    def sort(self):
        i = self.find(lambda x: is_float(x) and x.ndim)
        if i is None:
            return None
        axis = self.axis(self.values[i])

        def run(f, x):
            result = f.sort(x, axis)
            return result[0] if isinstance(result, tuple) else result

        return "sort", [i], run, f"axis={axis}"

    SMOOTH = (
        "unary unary unary binary binary binary number reduce along logsumexp "
        "layer_norm matmul reshape permute index take assign add_to join widen "
        "where triangle"
    ).split()
    ALL = SMOOTH + "integer integer compare logic cast cast argmax einsum sort".split()
