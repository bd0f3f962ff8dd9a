"""Writes graphs in Tinh's JSON format, node by node: an op of the graph dialect
is a method, which knows the type of its result."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from .graph import TensorType

_FLOATS = ("f64", "f32", "f16", "bf16")
_INTEGERS = ("i64", "i32", "i16", "i8", "u64", "u32", "u16", "u8")


@dataclass(frozen=True)
class Value:
    """A tensor of the graph that is being written."""

    name: str
    dtype: str
    shape: tuple[int, ...]

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def is_float(self) -> bool:
        return self.dtype in _FLOATS

    @property
    def type(self) -> TensorType:
        return TensorType(self.dtype, self.shape)

    def axis(self, axis: int) -> int:
        """An axis counted from the front; a number is treated as a vector."""
        return axis % max(self.rank, 1)

    def axes(self, axes: Any) -> list[int]:
        """Axes in order, each once; all, if there are none."""
        if axes is None or axes == []:
            return list(range(self.rank))
        given = [axes] if isinstance(axes, int) else axes
        return sorted({self.axis(a) for a in given}) if self.rank else []


def is_float(dtype: str) -> bool:
    return dtype in _FLOATS


def promote(a: Value | float, b: Value | float) -> str:
    """The dtype in which PyTorch computes with both: kinds are ordered, and
    within a kind tensors with dimensions come first, then those without, then
    Python's numbers."""

    def rank_of(dtype: str) -> int:
        return 0 if dtype == "bool" else 1 if dtype in _INTEGERS else 2

    def kind(x: Value | float) -> int:
        if isinstance(x, Value):
            return rank_of(x.dtype)
        return 0 if isinstance(x, bool) else 1 if isinstance(x, int) else 2

    def order(x: Value | float) -> int:
        return 0 if not isinstance(x, Value) else 1 if x.rank == 0 else 2

    highest = max(kind(a), kind(b))
    best = max((x for x in (a, b) if kind(x) == highest), key=order)
    if isinstance(best, Value):
        peers = [
            x.dtype
            for x in (a, b)
            if isinstance(x, Value) and kind(x) == highest and order(x) == order(best)
        ]
        sizes = {"f64": 4, "f32": 3, "f16": 2, "bf16": 2}
        sizes |= {"i64": 4, "i32": 3, "i16": 2, "u8": 1, "i8": 1}
        return max(peers, key=lambda d: sizes.get(d, 0))
    return "f32" if highest == 2 else "i64" if highest == 1 else "bool"


class Builder:
    def __init__(self) -> None:
        self.inputs: list[dict] = []
        self.weights: list[dict] = []
        self.nodes: list[dict] = []
        self._names: set[str] = set()
        self._constants: dict[tuple, Value] = {}
        self.node = "n"  # The node of the model that is being written.

    # Names and nodes

    def _name(self, wanted: str) -> str:
        name, count = wanted, 1
        while name in self._names:
            count += 1
            name = f"{wanted}.{count}"
        self._names.add(name)
        return name

    def input(self, name: str, type: TensorType) -> Value:
        name = self._name(name)
        self.inputs.append(
            {"name": name, "dtype": type.dtype, "shape": list(type.shape)}
        )
        return Value(name, type.dtype, type.shape)

    def memory(self, name: str, type: TensorType, memory: str) -> Value:
        """A weight that lies in the memory of the program, as `memory`."""
        name = self._name(name)
        self.weights.append(
            {
                "name": name,
                "dtype": type.dtype,
                "shape": list(type.shape),
                "memory": memory,
            }
        )
        return Value(name, type.dtype, type.shape)

    def constant(self, dtype: str, data: Any, shape: tuple[int, ...] = ()) -> Value:
        """A tensor of one number, or with the elements listed."""
        key = (dtype, repr(data), shape)
        if key not in self._constants:
            name = self._name("constant")
            listed = data if isinstance(data, list) else [data]
            listed = [_json_number(dtype, x) for x in listed]
            weight = {"name": name, "dtype": dtype, "shape": list(shape)}
            weight["data"] = listed if isinstance(data, list) else listed[0]
            self.weights.append(weight)
            self._constants[key] = Value(name, dtype, shape)
        return self._constants[key]

    def emit(
        self,
        op: str,
        inputs: list[Value],
        dtype: str,
        shape: tuple[int, ...] | list[int],
        /,
        **attributes: Any,
    ) -> Value:
        name = self._name(self.node)
        node = {
            "op": op,
            "name": self.node,
            "inputs": [x.name for x in inputs],
            "outputs": [name],
        }
        attributes = {k: v for k, v in attributes.items() if v is not None}
        if attributes:
            node["attributes"] = attributes
        self.nodes.append(node)
        return Value(name, dtype, tuple(shape))

    # Element by element

    def number(self, x: Value | float, dtype: str) -> Value:
        """A tensor, or a number as one, in a dtype."""
        if isinstance(x, Value):
            return self.cast(x, dtype)
        return self.constant(dtype, x)

    def cast(self, x: Value, dtype: str) -> Value:
        if x.dtype == dtype:
            return x
        return self.emit("cast", [x], dtype, x.shape, dtype=dtype)

    def unary(self, op: str, x: Value, **attributes: Any) -> Value:
        return self.emit(op, [x], x.dtype, x.shape, **attributes)

    def _both(self, a: Value | float, b: Value | float) -> tuple[Value, Value]:
        dtype = a.dtype if isinstance(a, Value) else b.dtype  # type: ignore
        a, b = self.number(a, dtype), self.number(b, dtype)
        return a, b

    def binary(self, op: str, a: Value | float, b: Value | float, **more: Any) -> Value:
        """Of tensors of one dtype, or a tensor and a number."""
        a, b = self._both(a, b)
        shape = broadcast_shapes(a.shape, b.shape)
        return self.emit(op, [a, b], a.dtype, shape, **more)

    def add(self, a: Value | float, b: Value | float) -> Value:
        return self.binary("add", a, b)

    def sub(self, a: Value | float, b: Value | float) -> Value:
        return self.binary("sub", a, b)

    def mul(self, a: Value | float, b: Value | float) -> Value:
        return self.binary("mul", a, b)

    def div(self, a: Value | float, b: Value | float) -> Value:
        return self.binary("div", a, b)

    def compare(self, predicate: str, a: Value | float, b: Value | float) -> Value:
        a, b = self._both(a, b)
        shape = broadcast_shapes(a.shape, b.shape)
        return self.emit("compare", [a, b], "bool", shape, predicate=predicate)

    def where(self, condition: Value, a: Value | float, b: Value | float) -> Value:
        a, b = self._both(a, b)
        shape = broadcast_shapes(condition.shape, a.shape, b.shape)
        return self.emit("where", [condition, a, b], a.dtype, shape)

    # Reductions

    def reduce(self, kind: str, x: Value, axes: Any, keepdims: bool = False) -> Value:
        axes = x.axes(axes)
        shape = reduced_shape(x.shape, axes, keepdims)
        return self.emit(
            "reduce", [x], x.dtype, shape, kind=kind, axes=axes, keepdims=keepdims
        )

    def variance(self, x: Value, axes: Any, keepdims: bool = False) -> Value:
        """Not corrected."""
        axes = x.axes(axes)
        shape = reduced_shape(x.shape, axes, keepdims)
        return self.emit("variance", [x], x.dtype, shape, axes=axes, keepdims=keepdims)

    def arg(self, op: str, x: Value, axis: int, keepdims: bool) -> Value:
        """The index of the extreme element along an axis."""
        if x.rank == 0:
            return self.full("i64", 0, ())
        shape = reduced_shape(x.shape, [axis], keepdims)
        return self.emit(op, [x], "i64", shape, axis=axis, keepdims=keepdims)

    # Contractions

    def matmul(
        self, a: Value, b: Value, transpose_a: bool = False, transpose_b: bool = False
    ) -> Value:
        rows = a.shape[-1] if transpose_a else a.shape[-2]
        columns = b.shape[-2] if transpose_b else b.shape[-1]
        shape = broadcast_shapes(a.shape[:-2], b.shape[:-2]) + (rows, columns)
        return self.emit(
            "matmul",
            [a, b],
            a.dtype,
            shape,
            transpose_a=transpose_a or None,
            transpose_b=transpose_b or None,
        )

    # Movement

    def vector(self, x: Value) -> Value:
        """A number as a vector of one element; else x."""
        return self.reshape(x, [1]) if x.rank == 0 else x

    def reshape(self, x: Value, shape: Any) -> Value:
        shape = list(shape)
        if -1 in shape:
            known = math.prod(s for s in shape if s != -1)
            shape[shape.index(-1)] = math.prod(x.shape) // known
        if tuple(shape) == x.shape:
            return x
        return self.emit("reshape", [x], x.dtype, shape, shape=shape)

    def broadcast(self, x: Value, shape: Any) -> Value:
        if tuple(shape) == x.shape:
            return x
        return self.emit("broadcast", [x], x.dtype, shape, shape=list(shape))

    def transpose(self, x: Value, permutation: list[int]) -> Value:
        permutation = [x.axis(p) for p in permutation]
        if permutation == list(range(x.rank)):
            return x
        shape = [x.shape[p] for p in permutation]
        return self.emit("transpose", [x], x.dtype, shape, permutation=permutation)

    def slice(self, x: Value, axis: int, start: int, size: int, step: int = 1) -> Value:
        """Along one axis; the indices exist."""
        if (start, size, step) == (0, x.shape[axis], 1):
            return x
        starts, sizes, steps = [0] * x.rank, list(x.shape), [1] * x.rank
        starts[axis], sizes[axis], steps[axis] = start, size, step
        return self.emit(
            "slice", [x], x.dtype, sizes, starts=starts, sizes=sizes, steps=steps
        )

    def concat(self, inputs: list[Value], axis: int) -> Value:
        if len(inputs) == 1:
            return inputs[0]
        shape = list(inputs[0].shape)
        shape[axis] = sum(x.shape[axis] for x in inputs)
        return self.emit("concat", inputs, inputs[0].dtype, shape, axis=axis)

    def pad(
        self, x: Value, low: list[int], high: list[int], value: float, mode: str
    ) -> Value:
        shape = [n + a + b for n, a, b in zip(x.shape, low, high)]
        filling = self.constant(x.dtype, value)
        return self.emit(
            "pad", [x, filling], x.dtype, shape, low=low, high=high, mode=mode
        )

    def gather(self, x: Value, indices: Value, axis: int) -> Value:
        shape = x.shape[:axis] + indices.shape + x.shape[axis + 1 :]
        return self.emit("gather", [x, indices], x.dtype, shape, axis=axis)

    def gather_elements(self, x: Value, indices: Value, axis: int) -> Value:
        return self.emit(
            "gather_elements", [x, indices], x.dtype, indices.shape, axis=axis
        )

    def gather_nd(self, x: Value, indices: Value) -> Value:
        shape = indices.shape[:-1] + x.shape[indices.shape[-1] :]
        return self.emit("gather_nd", [x, indices], x.dtype, shape)

    def scatter(
        self, op: str, kind: str, x: Value, indices: Value, updates: Value, **more: Any
    ) -> Value:
        return self.emit(op, [x, indices, updates], x.dtype, x.shape, kind=kind, **more)

    def iota(self, count: int, dtype: str = "i64", start: int = 0, step: int = 1) -> Value:
        return self.emit(
            "iota", [], dtype, (count,), start=start, step=step, dtype=dtype,
            shape=[count],
        )

    def full(self, dtype: str, value: float, shape: tuple[int, ...]) -> Value:
        return self.constant(dtype, value, shape)


def _json_number(dtype: str, x: Any) -> Any:
    if dtype == "bool":
        return bool(x)
    if is_float(dtype):
        x = float(x)
        if math.isnan(x):
            return "nan"
        return ("inf" if x > 0 else "-inf") if math.isinf(x) else x
    return int(x)


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    rank = max(len(s) for s in shapes)
    padded = [(1,) * (rank - len(s)) + tuple(s) for s in shapes]
    result = []
    for extents in zip(*padded):
        others = {e for e in extents if e != 1}
        assert len(others) <= 1, f"{shapes} do not broadcast"
        result.append(others.pop() if others else 1)
    return tuple(result)


def reduced_shape(
    shape: tuple[int, ...], axes: list[int], keepdims: bool
) -> tuple[int, ...]:
    return tuple(
        1 if i in axes else n
        for i, n in enumerate(shape)
        if keepdims or i not in axes
    )
