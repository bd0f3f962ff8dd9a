"""ATen ops that pick or put elements at indices."""

from __future__ import annotations

import math
from typing import Any

from .builder import Builder, Value, broadcast_shapes
from .table import Unsupported, aten


@aten("embedding.default")
def embedding(b: Builder, weight: Value, indices: Value, *options: Any, **more: Any) -> Value:
    return b.gather(weight, indices, 0)


@aten("embedding_dense_backward.default")
def embedding_dense_backward(
    b: Builder, dy: Value, indices: Value, num_weights: int, padding_idx: int,
    scale_grad_by_freq: bool,
) -> Value:
    if scale_grad_by_freq:
        raise Unsupported(["embedding with scale_grad_by_freq"])
    width = dy.shape[-1]
    if padding_idx >= 0:
        kept = b.compare("not_equal", indices, padding_idx)
        dy = b.where(b.reshape(kept, [*indices.shape, 1]), dy, 0)
    zeros = b.full(dy.dtype, 0, (num_weights, width))
    count = math.prod(indices.shape)
    return b.scatter(
        "scatter", "add", zeros, b.reshape(indices, [count]),
        b.reshape(dy, [count, width]), axis=0,
    )


@aten("index_select.default")
def index_select(b: Builder, x: Value, dim: int, index: Value) -> Value:
    if x.rank == 0:
        return x
    y = b.gather(x, b.reshape(index, [-1]), x.axis(dim))
    return b.reshape(y, b.results[0].shape)


@aten("gather.default")
def gather(
    b: Builder, x: Value, dim: int, index: Value, *, sparse_grad: bool = False
) -> Value:
    if x.rank == 0 or index.rank == 0:
        return b.broadcast(x, index.shape)
    axis = x.axis(dim)
    # An index may be smaller than x along the other axes.
    for a in range(x.rank):
        if a != axis:
            x = b.slice(x, a, 0, index.shape[a])
    return b.gather_elements(x, index, axis)


def _by_masks(b: Builder, indices: list) -> None:
    for index in indices:
        if index is not None and index.dtype in ("bool", "u8"):
            raise Unsupported(["index by a mask"])


def _index_plan(x: Value, indices: list) -> tuple[list[int], bool]:
    """The axes that have indices, and whether they are neighbours."""
    axes = [i for i, index in enumerate(indices) if index is not None]
    adjacent = axes == list(range(axes[0], axes[-1] + 1))
    return axes, adjacent


def _tuples(b: Builder, x: Value, axes: list[int], indices: list) -> tuple[Value, tuple]:
    """The indices of several axes as tuples, all broadcast to one shape."""
    shape = broadcast_shapes(*(indices[a].shape for a in axes))
    columns = [
        b.reshape(b.broadcast(b.cast(indices[a], "i64"), shape), [*shape, 1])
        for a in axes
    ]
    return b.concat(columns, len(shape)), shape


@aten("index.Tensor", "_unsafe_index.Tensor")
def index(b: Builder, x: Value, indices: list) -> Value:
    _by_masks(b, indices)
    axes, adjacent = _index_plan(x, indices)
    if len(axes) == 1:
        return b.gather(x, b.cast(indices[axes[0]], "i64"), axes[0])
    others = [a for a in range(x.rank) if a not in axes]
    moved = b.transpose(x, axes + others)
    tuples, shape = _tuples(b, x, axes, indices)
    y = b.gather_nd(moved, tuples)
    if not adjacent:
        return y
    # What is picked stands in the place of the axes.
    n, before = len(shape), axes[0]
    order = list(range(n, n + before)) + list(range(n)) + list(range(n + before, y.rank))
    return b.transpose(y, order)


@aten("index_put.default", "_unsafe_index_put.default")
def index_put(
    b: Builder, x: Value, indices: list, values: Value, accumulate: bool = False
) -> Value:
    if (
        len(indices) == 1
        and indices[0].dtype == "bool"
        and math.prod(values.shape) == 1
        and not accumulate
    ):
        mask = indices[0]
        mask = b.reshape(mask, [*mask.shape, *[1] * (x.rank - mask.rank)])
        return b.where(mask, b.reshape(b.cast(values, x.dtype), []), x)
    _by_masks(b, indices)
    kind = "add" if accumulate else "assign"
    axes, adjacent = _index_plan(x, indices)
    others = [a for a in range(x.rank) if a not in axes]
    order = axes + others
    tuples, shape = _tuples(b, x, axes, indices)
    values = b.cast(values, x.dtype)
    n, before = len(shape), axes[0] if adjacent else 0
    rest = [x.shape[a] for a in others]
    wanted = rest[:before] + list(shape) + rest[before:]
    values = b.broadcast(values, wanted)
    front = list(range(before, before + n)) + list(range(before))
    values = b.transpose(values, front + list(range(before + n, values.rank)))
    moved = b.transpose(x, order)
    y = b.scatter("scatter_nd", kind, moved, tuples, values)
    return b.transpose(y, [order.index(a) for a in range(x.rank)])


def _scatter(b: Builder, kind: str, x: Value, dim: int, index: Value, source: Value) -> Value:
    shape = x.shape
    x, index, source = b.vector(x), b.vector(index), b.vector(source)
    for a in range(source.rank):
        source = b.slice(source, a, 0, index.shape[a])
    y = b.scatter("scatter_elements", kind, x, index, source, axis=x.axis(dim))
    return b.reshape(y, shape)


@aten("scatter.src")
def scatter(b: Builder, x: Value, dim: int, index: Value, source: Value) -> Value:
    return _scatter(b, "assign", x, dim, index, source)


@aten("scatter.value")
def scatter_value(b: Builder, x: Value, dim: int, index: Value, value: float) -> Value:
    source = b.full(x.dtype, value, index.shape)
    return _scatter(b, "assign", x, dim, index, source)


@aten("scatter_add.default")
def scatter_add(b: Builder, x: Value, dim: int, index: Value, source: Value) -> Value:
    return _scatter(b, "add", x, dim, index, source)


_REDUCTIONS = {"sum": "add", "prod": "mul", "amax": "max", "amin": "min"}


@aten("scatter_reduce.two")
def scatter_reduce(
    b: Builder, x: Value, dim: int, index: Value, source: Value, reduce: str,
    *, include_self: bool = True,
) -> Value:
    if reduce not in _REDUCTIONS or not include_self:
        raise Unsupported([f"scatter_reduce, {reduce}, without the tensor itself"])
    return _scatter(b, _REDUCTIONS[reduce], x, dim, index, source)


@aten("index_add.default")
def index_add(
    b: Builder, x: Value, dim: int, index: Value, source: Value, alpha: float = 1
) -> Value:
    if alpha != 1:
        source = b.mul(source, alpha)
    shape = x.shape
    x, index, source = b.vector(x), b.vector(index), b.vector(source)
    y = b.scatter("scatter", "add", x, index, source, axis=x.axis(dim))
    return b.reshape(y, shape)


def _nearest(b: Builder, x: Value, sizes: list, scales: Any) -> Value:
    rank = len(sizes)
    for i, size in enumerate(sizes):
        axis = x.rank - rank + i
        n = x.shape[axis]
        scale = 1 / scales[i] if scales and scales[i] else n / size
        if size % n == 0 and scale == n / size:  # Whole repetitions.
            before, after = list(x.shape[: axis + 1]), list(x.shape[axis + 1 :])
            wide = b.broadcast(
                b.reshape(x, [*before, 1, *after]), [*before, size // n, *after]
            )
            x = b.reshape(wide, [*before[:-1], size, *after])
            continue
        picked = [min(int(math.floor(j * scale)), n - 1) for j in range(size)]
        x = b.gather(x, b.constant("i64", picked, (size,)), axis)
    return x


@aten(
    "upsample_nearest1d.default",
    "upsample_nearest2d.default",
    "upsample_nearest3d.default",
)
def upsample_nearest(b: Builder, x: Value, output_size: list, *scales: Any) -> Value:
    return _nearest(b, x, output_size, scales)
