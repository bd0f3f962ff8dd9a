"""ATen ops that move elements."""

from __future__ import annotations

import math
from typing import Any

from .builder import Builder, Value
from .table import TABLE, Unsupported, aten


@aten("alias.default", "detach.default", "clone.default", "lift_fresh_copy.default")
def alias(b: Builder, x: Value, **options: Any) -> Value:
    return x


@aten("view.default", "_unsafe_view.default", "view_copy.default")
def view(b: Builder, x: Value, size: list, *strides: Any) -> Value:
    return b.reshape(x, b.results[0].shape)


@aten("squeeze.default", "squeeze.dim", "squeeze.dims", "unsqueeze.default")
def squeeze(b: Builder, x: Value, *dims: Any) -> Value:
    return b.reshape(x, b.results[0].shape)


@aten("permute.default")
def permute(b: Builder, x: Value, dims: list) -> Value:
    return b.transpose(x, dims)


@aten("transpose.int")
def transpose(b: Builder, x: Value, dim0: int, dim1: int) -> Value:
    order = list(range(x.rank))
    if order:
        i, j = x.axis(dim0), x.axis(dim1)
        order[i], order[j] = j, i
    return b.transpose(x, order)


@aten("t.default")
def t(b: Builder, x: Value) -> Value:
    return b.transpose(x, list(reversed(range(x.rank))))


@aten("expand.default")
def expand(b: Builder, x: Value, size: list, *, implicit: bool = False) -> Value:
    return b.broadcast(x, b.results[0].shape)


@aten("repeat.default")
def repeat(b: Builder, x: Value, repeats: list) -> Value:
    repeats = [1] * (x.rank - len(repeats)) + list(repeats)
    shape = [1] * (len(repeats) - x.rank) + list(x.shape)
    split = [e for n in shape for e in (1, n)]
    spread = [e for r, n in zip(repeats, shape) for e in (r, n)]
    y = b.broadcast(b.reshape(x, split), spread)
    return b.reshape(y, [r * n for r, n in zip(repeats, shape)])


def _clamp_index(index: int | None, default: int, extent: int) -> int:
    if index is None:
        return default
    index += extent if index < 0 else 0
    return min(max(index, 0), extent)


@aten("slice.Tensor")
def slice(
    b: Builder,
    x: Value,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> Value:
    axis = x.axis(dim)
    extent = x.shape[axis]
    first = _clamp_index(start, 0, extent)
    size = b.results[0].shape[axis]
    return b.slice(x, axis, first if size else 0, size, step)


@aten("select.int")
def select(b: Builder, x: Value, dim: int, index: int) -> Value:
    axis = x.axis(dim)
    index += x.shape[axis] if index < 0 else 0
    return b.reshape(b.slice(x, axis, index, 1), b.results[0].shape)


def _inserted(
    b: Builder, x: Value, source: Value, axis: int, start: int, step: int
) -> Value:
    """x with source at start, start + step, … along an axis."""
    count = source.shape[axis]
    if count == 0:
        return x
    if step == 1:
        end = start + count
        parts = [
            b.slice(x, axis, 0, start),
            source,
            b.slice(x, axis, end, x.shape[axis] - end),
        ]
        return b.concat([p for p in parts if p.shape[axis]], axis)
    indices = b.iota(count, "i64", start, step)
    return b.scatter("scatter", "assign", x, indices, source, axis=axis)


@aten("slice_scatter.default")
def slice_scatter(
    b: Builder,
    x: Value,
    source: Value,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> Value:
    axis = x.axis(dim)
    first = _clamp_index(start, 0, x.shape[axis])
    return _inserted(b, x, b.cast(source, x.dtype), axis, first, step)


@aten("select_scatter.default")
def select_scatter(b: Builder, x: Value, source: Value, dim: int, index: int) -> Value:
    axis = x.axis(dim)
    index += x.shape[axis] if index < 0 else 0
    row = b.reshape(b.cast(source, x.dtype), [*x.shape[:axis], 1, *x.shape[axis + 1 :]])
    return _inserted(b, x, row, axis, index, 1)


@aten("slice_backward.default")
def slice_backward(
    b: Builder, dy: Value, sizes: list, dim: int, start: int, end: int, step: int
) -> Value:
    zeros = b.full(dy.dtype, 0, tuple(sizes))
    return slice_scatter(b, zeros, dy, dim, start, end, step)


@aten("select_backward.default")
def select_backward(b: Builder, dy: Value, sizes: list, dim: int, index: int) -> Value:
    return select_scatter(b, b.full(dy.dtype, 0, tuple(sizes)), dy, dim, index)


def _split(b: Builder, x: Value, axis: int, sizes: list[int]) -> tuple:
    parts, start = [], 0
    for size in sizes:
        parts.append(b.slice(x, axis, start, size))
        start += size
    return tuple(parts)


@aten("split_with_sizes.default", "split_with_sizes_copy.default")
def split_with_sizes(b: Builder, x: Value, sizes: list, dim: int = 0) -> tuple:
    return _split(b, x, x.axis(dim), sizes)


@aten("split.Tensor")
def split(b: Builder, x: Value, size: int, dim: int = 0) -> tuple:
    axis = x.axis(dim)
    extent = x.shape[axis]
    sizes = [min(size, extent - i) for i in range(0, extent, size)]
    return _split(b, x, axis, sizes)


@aten("unbind.int", "unbind_copy.int")
def unbind(b: Builder, x: Value, dim: int = 0) -> tuple:
    axis = x.axis(dim)
    shape = [*x.shape[:axis], *x.shape[axis + 1 :]]
    return tuple(
        b.reshape(b.slice(x, axis, i, 1), shape) for i in range(x.shape[axis])
    )


@aten("cat.default")
def cat(b: Builder, tensors: list, dim: int = 0) -> Value:
    dtype = b.results[0].dtype
    # An empty vector may stand among tensors of any shape.
    kept = [b.cast(x, dtype) for x in tensors if x.shape != (0,)]
    if not kept:
        return b.full(dtype, 0, (0,))
    return b.concat(kept, kept[0].axis(dim))


@aten("stack.default")
def stack(b: Builder, tensors: list, dim: int = 0) -> Value:
    type = b.results[0]
    axis = dim % len(type.shape)
    one = [*type.shape[:axis], 1, *type.shape[axis + 1 :]]
    return b.concat([b.reshape(b.cast(x, type.dtype), one) for x in tensors], axis)


@aten("constant_pad_nd.default")
def constant_pad_nd(b: Builder, x: Value, pad: list, value: float = 0) -> Value:
    return _pad(b, x, pad, value, "constant")


def _pad(b: Builder, x: Value, pad: list, value: float, mode: str) -> Value:
    if 0 in x.shape:
        return b.full(x.dtype, value, b.results[0].shape)
    low, high = [0] * x.rank, [0] * x.rank
    for i in range(len(pad) // 2):  # The last dimension comes first.
        low[-1 - i], high[-1 - i] = pad[2 * i], pad[2 * i + 1]
    return b.pad(x, low, high, value, mode)


def _padding(mode: str) -> Any:
    return lambda b, x, padding: _pad(b, x, padding, 0, mode)


for _rank in (1, 2, 3):
    TABLE[f"reflection_pad{_rank}d.default"] = _padding("reflect")
    TABLE[f"replication_pad{_rank}d.default"] = _padding("edge")


@aten("flip.default")
def flip(b: Builder, x: Value, dims: list) -> Value:
    for axis in x.axes(list(dims)) if dims else []:
        if x.shape[axis] > 1:
            x = b.slice(x, axis, x.shape[axis] - 1, x.shape[axis], -1)
    return x


@aten("roll.default")
def roll(b: Builder, x: Value, shifts: Any, dims: Any = ()) -> Value:
    shape = x.shape
    if dims in ((), []):
        x, dims = b.reshape(x, [-1]), [0]
    shifts = [shifts] if isinstance(shifts, int) else shifts
    dims = [dims] if isinstance(dims, int) else dims
    for shift, dim in zip(shifts, dims):
        axis = x.axis(dim)
        extent = x.shape[axis]
        shift %= max(extent, 1)
        if shift:
            parts = _split(b, x, axis, [extent - shift, shift])
            x = b.concat([parts[1], parts[0]], axis)
    return b.reshape(x, shape)


@aten("diagonal.default")
def diagonal(b: Builder, x: Value, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Value:
    i, j = x.axis(dim1), x.axis(dim2)
    order = [a for a in range(x.rank) if a not in (i, j)] + [i, j]
    y = b.transpose(x, order)
    rows, columns = y.shape[-2:]
    count = b.results[0].shape[-1]
    first = max(-offset, 0) * columns + max(offset, 0)
    flat = b.reshape(y, [*y.shape[:-2], rows * columns])
    return b.slice(flat, flat.rank - 1, first, count, columns + 1)


@aten("pixel_shuffle.default")
def pixel_shuffle(b: Builder, x: Value, factor: int) -> Value:
    *lead, c, h, w = x.shape
    n, r = len(lead), factor
    y = b.reshape(x, [*lead, c // r // r, r, r, h, w])
    y = b.transpose(y, [*range(n), n, n + 3, n + 1, n + 4, n + 2])
    return b.reshape(y, [*lead, c // r // r, h * r, w * r])


def _dense_order(x: Value, size: list, stride: list, offset: int) -> list | None:
    """The dimensions of a strided view in the order in which x's elements lie,
    if it has all of them once."""
    if offset or math.prod(size) != math.prod(x.shape):
        return None
    order = sorted(range(len(size)), key=lambda i: (-stride[i], -size[i]))
    expected = 1
    for i in reversed(order):
        if size[i] != 1 and stride[i] != expected:
            return None
        expected *= size[i]
    return order


def _strided_indices(b: Builder, size: list, stride: list, offset: int) -> Value:
    if math.prod(size) > 1 << 20:
        raise Unsupported(["as_strided of a tensor that is not dense"])
    index = b.constant("i64", offset)
    for n, s in zip(size, stride):
        steps = b.iota(n, "i64", 0, s) if s else b.full("i64", 0, (n,))
        index = b.add(b.reshape(index, [*index.shape, 1]), steps)
    return index


@aten("as_strided.default", "as_strided_copy.default")
def as_strided(
    b: Builder, x: Value, size: list, stride: list, storage_offset: int | None = None
) -> Value:
    """Of a dense tensor."""
    order = _dense_order(x, size, stride, storage_offset or 0)
    if order is not None:
        y = b.reshape(x, [size[i] for i in order])
        return b.transpose(y, [order.index(i) for i in range(len(size))])
    indices = _strided_indices(b, size, stride, storage_offset or 0)
    return b.gather(b.reshape(x, [math.prod(x.shape)]), indices, 0)


@aten("as_strided_scatter.default")
def as_strided_scatter(
    b: Builder,
    x: Value,
    source: Value,
    size: list,
    stride: list,
    storage_offset: int | None = None,
) -> Value:
    order = _dense_order(x, size, stride, storage_offset or 0)
    if order is not None:
        return b.reshape(b.transpose(source, order), x.shape)
    indices = _strided_indices(b, size, stride, storage_offset or 0)
    flat, count = b.reshape(x, [math.prod(x.shape)]), math.prod(size)
    y = b.scatter(
        "scatter", "assign", flat, b.reshape(indices, [count]),
        b.reshape(source, [count]), axis=0,
    )
    return b.reshape(y, x.shape)


@aten("unfold.default")
def unfold(b: Builder, x: Value, dimension: int, size: int, step: int) -> Value:
    x = b.vector(x)
    axis = x.axis(dimension)
    count = (x.shape[axis] - size) // step + 1
    first = b.reshape(b.iota(count, "i64", 0, step), [count, 1])
    windows = b.gather(x, b.add(first, b.iota(size)), axis)
    order = [a for a in range(windows.rank) if a != axis + 1] + [axis + 1]
    return b.transpose(windows, order)
