"""ATen ops that make tensors of numbers."""

from __future__ import annotations

import math
from typing import Any

from .builder import Builder, Value
from .table import Unsupported, aten


def _filled(b: Builder, value: float) -> Value:
    type = b.results[0]
    return b.full(type.dtype, value, type.shape)


@aten("full.default")
def full(b: Builder, size: list, fill_value: float, **options: Any) -> Value:
    if isinstance(fill_value, Value):
        return b.broadcast(b.cast(fill_value, b.results[0].dtype), size)
    return _filled(b, fill_value)


@aten("full_like.default", "new_full.default")
def full_like(b: Builder, x: Value, *given: Any, **options: Any) -> Value:
    return _filled(b, given[-1] if given else options["fill_value"])


@aten("zeros_like.default", "zeros.default", "new_zeros.default")
def zeros(b: Builder, *given: Any, **options: Any) -> Value:
    return _filled(b, 0)


@aten("ones_like.default", "ones.default", "new_ones.default")
def ones(b: Builder, *given: Any, **options: Any) -> Value:
    return _filled(b, 1)


@aten(
    "empty.memory_format",
    "empty_like.default",
    "new_empty.default",
    "new_empty_strided.default",
    "empty_strided.default",
    "empty_permuted.default",
)
def empty(b: Builder, *given: Any, **options: Any) -> Value:
    return _filled(b, 0)


@aten("scalar_tensor.default")
def scalar_tensor(b: Builder, value: float, **options: Any) -> Value:
    return _filled(b, value)


@aten("fill.Scalar", "fill.Tensor")
def fill(b: Builder, x: Value, value: Value | float) -> Value:
    return b.broadcast(b.number(value, x.dtype), x.shape)


@aten("arange.start_step", "arange.start", "arange.default")
def arange(b: Builder, *given: float, **options: Any) -> Value:
    start, step = 0, 1
    if len(given) > 1:
        start = given[0]
    if len(given) > 2:
        step = given[2]
    (type,) = b.results
    (count,) = type.shape
    whole = all(isinstance(x, int) or float(x).is_integer() for x in (start, step))
    if whole:
        return b.iota(count, type.dtype, int(start), int(step))
    return b.add(b.mul(b.iota(count, type.dtype), step), start)


@aten("linspace.default")
def linspace(b: Builder, start: float, end: float, steps: int, **options: Any) -> Value:
    if isinstance(start, Value) or isinstance(end, Value):
        raise Unsupported(["linspace between tensors"])
    dtype = b.results[0].dtype
    step = (end - start) / max(steps - 1, 1)
    return b.add(b.mul(b.iota(steps, dtype), step), start)


@aten("eye.default", "eye.m")
def eye(b: Builder, n: int, m: int | None = None, **options: Any) -> Value:
    rows, columns = b.results[0].shape
    i = b.reshape(b.iota(rows), [rows, 1])
    same = b.compare("equal", i, b.iota(columns))
    return b.cast(same, b.results[0].dtype)


def _triangle(b: Builder, x: Value, predicate: str, diagonal: int) -> Value:
    rows, columns = x.shape[-2:]
    row = b.reshape(b.iota(rows, "i64", diagonal), [rows, 1])
    kept = b.compare(predicate, b.iota(columns), row)
    return b.where(kept, x, b.full(x.dtype, 0, ()))


@aten("tril.default")
def tril(b: Builder, x: Value, diagonal: int = 0) -> Value:
    return _triangle(b, x, "less_equal", diagonal)


@aten("triu.default")
def triu(b: Builder, x: Value, diagonal: int = 0) -> Value:
    return _triangle(b, x, "greater_equal", diagonal)


def count(shape: tuple[int, ...], axes: list[int]) -> int:
    """Of the elements along axes."""
    return math.prod(shape[a] for a in axes)
