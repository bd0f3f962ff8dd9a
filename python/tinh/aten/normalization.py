"""ATen ops of softmax, norms and pooling."""

from __future__ import annotations

import math
from typing import Any

from .builder import Builder, Value
from .contractions import spatial
from .table import Unsupported, aten


def _along(op: str) -> Any:
    def write(b: Builder, x: Value, dim: int, half_to_float: bool = False) -> Value:
        x = b.cast(x, b.results[0].dtype)
        if x.rank == 0:
            return b.full(x.dtype, 1 if op == "softmax" else 0, ())
        return b.unary(op, x, axis=x.axis(dim))

    return write


aten("_softmax.default")(_along("softmax"))
aten("_log_softmax.default")(_along("log_softmax"))


@aten("_safe_softmax.default")
def safe_softmax(b: Builder, x: Value, dim: int, dtype: Any = None) -> Value:
    """Rows of -inf alone give zeros."""
    x = b.cast(x, b.results[0].dtype)
    axis = x.axis(dim)
    nothing = b.compare("equal", b.reduce("max", x, axis, True), -math.inf)
    return b.where(nothing, 0.0, b.unary("softmax", x, axis=axis))


@aten("native_layer_norm.default")
def native_layer_norm(
    b: Builder,
    x: Value,
    normalized_shape: list,
    weight: Value | None,
    bias: Value | None,
    eps: float,
) -> tuple:
    axis = x.rank - len(normalized_shape)
    scale = weight or b.full(x.dtype, 1, tuple(normalized_shape))
    inputs = [x, scale] + ([bias] if bias is not None else [])
    y = b.emit("layer_norm", inputs, x.dtype, x.shape, axis=axis, epsilon=eps)
    axes = list(range(axis, x.rank))
    mean = b.reduce("mean", x, axes, True)
    return y, mean, b.unary("rsqrt", b.add(b.variance(x, axes, True), eps))


@aten("_fused_rms_norm.default")
def rms_norm(
    b: Builder,
    x: Value,
    normalized_shape: list,
    weight: Value | None = None,
    eps: float | None = None,
) -> Any:
    eps = 1.1920928955078125e-07 if eps is None else eps
    axis = x.rank - len(normalized_shape)
    scale = weight or b.full(x.dtype, 1, tuple(normalized_shape))
    y = b.emit(
        "layer_norm", [x, scale], x.dtype, x.shape, axis=axis, epsilon=eps, rms=True
    )
    if len(b.results) == 1:
        return y
    square = b.reduce("mean", b.mul(x, x), list(range(axis, x.rank)), True)
    return y, b.unary("rsqrt", b.add(square, eps))


@aten("native_group_norm.default")
def native_group_norm(
    b: Builder,
    x: Value,
    weight: Value | None,
    bias: Value | None,
    N: int,
    C: int,
    HxW: int,
    group: int,
    eps: float,
) -> tuple:
    width = C // group * HxW
    rows = b.reshape(x, [N * group, width])
    scale = b.full(x.dtype, 1, (width,))
    y = b.emit("layer_norm", [rows, scale], x.dtype, rows.shape, axis=1, epsilon=eps)
    y = b.reshape(y, x.shape)
    per_channel = [C] + [1] * (x.rank - 2)
    if weight is not None:
        y = b.mul(y, b.reshape(weight, per_channel))
    if bias is not None:
        y = b.add(y, b.reshape(bias, per_channel))
    mean = b.reshape(b.reduce("mean", rows, 1), [N, group])
    rstd = b.unary("rsqrt", b.add(b.variance(rows, 1), eps))
    return y, mean, b.reshape(rstd, [N, group])


@aten("_weight_norm_interface_backward.default")
def weight_norm_backward(
    b: Builder, dw: Value, v: Value, g: Value, norms: Value, dim: int = 0
) -> tuple:
    """Of w = g * v / |v|, with a norm for each index of `dim`."""
    others = [i for i in range(v.rank) if i != v.axis(dim)]
    norms = b.cast(norms, v.dtype)
    along = b.reduce("sum", b.mul(dw, v), others, True)
    across = b.sub(dw, b.mul(v, b.div(along, b.mul(norms, norms))))
    return b.mul(b.div(g, norms), across), b.div(along, norms)


@aten("_native_batch_norm_legit_no_training.default")
def batch_norm(
    b: Builder,
    x: Value,
    weight: Value | None,
    bias: Value | None,
    mean: Value,
    variance: Value,
    momentum: float,
    eps: float,
) -> tuple:
    channels = x.shape[1:2]
    scale = weight or b.full(x.dtype, 1, channels)
    shift = bias or b.full(x.dtype, 0, channels)
    inputs = [x, scale, shift, mean, variance]
    y = b.emit("batch_norm", inputs, x.dtype, x.shape, epsilon=eps)
    return y, b.full("f32", 0, (0,)), b.full("f32", 0, (0,))


@aten("_native_batch_norm_legit_functional.default")
def batch_norm_training(
    b: Builder,
    x: Value,
    weight: Value | None,
    bias: Value | None,
    running_mean: Value,
    running_var: Value,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple:
    channels = [x.shape[1]] + [1] * (x.rank - 2)
    axes = [0, *range(2, x.rank)]
    if not training:
        y, mean, rstd = batch_norm(
            b, x, weight, bias, running_mean, running_var, momentum, eps
        )
        return y, mean, rstd, running_mean, running_var
    mean = b.reduce("mean", x, axes)
    variance = b.variance(x, axes)
    rstd = b.unary("rsqrt", b.add(variance, eps))
    y = b.mul(b.sub(x, b.reshape(mean, channels)), b.reshape(rstd, channels))
    if weight is not None:
        y = b.mul(y, b.reshape(weight, channels))
    if bias is not None:
        y = b.add(y, b.reshape(bias, channels))
    n = math.prod(x.shape) // x.shape[1]
    unbiased = b.mul(variance, n / (n - 1))

    def moved(old: Value, new: Value) -> Value:
        return b.add(b.mul(old, 1 - momentum), b.mul(new, momentum))

    return y, mean, rstd, moved(running_mean, mean), moved(running_var, unbiased)


# Pooling


class Pooling:
    def __init__(
        self, x: Value, kernel: Any, stride: Any, padding: Any, dilation: Any,
        ceil_mode: bool, rank: int,
    ):
        kernel = spatial(kernel, rank)
        strides = spatial(stride, rank) if stride else kernel
        low = spatial(padding, rank)
        dilations = spatial(dilation, rank)
        high, extents = [], []
        for n, k, s, p, d in zip(x.shape[-rank:], kernel, strides, low, dilations):
            span = d * (k - 1) + 1
            count = (n + 2 * p - span) // s + 1
            if ceil_mode and (n + 2 * p - span) % s and count * s < n + p:
                count += 1  # One more window, which begins within x.
            extents.append(count)
            high.append(max((count - 1) * s + span - n - p, p))
        self.ceil_padding = [h - p for h, p in zip(high, low)]
        # A window that the larger padding would add is not there.
        self.high, self.low, self.extents = high, low, extents
        self.attributes = {
            "kernel": kernel,
            "strides": strides,
            "padding": low + high,
            "dilations": dilations,
        }


def _with_batch(b: Builder, x: Value, rank: int) -> Value:
    return x if x.rank == rank + 2 else b.reshape(x, [1, *x.shape])


def _pool(rank: int) -> None:
    @aten(f"max_pool{rank}d_with_indices.default")
    def max_pool(
        b: Builder,
        x: Value,
        kernel_size: Any,
        stride: Any = (),
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
    ) -> tuple:
        pool = Pooling(x, kernel_size, stride, padding, dilation, ceil_mode, rank)
        whole = _with_batch(b, x, rank)
        shape = (*whole.shape[:2], *pool.extents)
        y = b.emit("max_pool", [whole], x.dtype, shape, **pool.attributes)
        return b.reshape(y, b.results[0].shape), None

    @aten(f"avg_pool{rank}d.default")
    def avg_pool(
        b: Builder,
        x: Value,
        kernel_size: Any,
        stride: Any = (),
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> Value:
        pool = Pooling(x, kernel_size, stride, padding, 1, ceil_mode, rank)
        whole = _with_batch(b, x, rank)
        shape = (*whole.shape[:2], *pool.extents)
        y = b.emit(
            "avg_pool",
            [whole],
            x.dtype,
            shape,
            count_include_pad=bool(count_include_pad or divisor_override) or None,
            ceil_padding=pool.ceil_padding if any(pool.ceil_padding) else None,
            **pool.attributes,
        )
        if divisor_override:
            if any(pool.ceil_padding):
                raise Unsupported(["avg_pool with ceil_mode and a divisor"])
            window = math.prod(pool.attributes["kernel"])
            y = b.mul(y, window / divisor_override)
        return b.reshape(y, b.results[0].shape)


for _rank in (2, 3):
    _pool(_rank)


@aten("tinh.max_pool2d_gradient.default")
def max_pool_gradient(
    b: Builder,
    dy: Value,
    x: Value,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: bool,
) -> Value:
    rank = len(kernel_size)
    pool = Pooling(x, kernel_size, stride, padding, dilation, ceil_mode, rank)
    inputs = [_with_batch(b, x, rank), _with_batch(b, dy, rank)]
    shape = inputs[0].shape
    y = b.emit("max_pool_gradient", inputs, x.dtype, shape, **pool.attributes)
    return b.reshape(y, x.shape)


@aten("_adaptive_avg_pool2d.default", "_adaptive_avg_pool3d.default")
def adaptive_avg_pool(b: Builder, x: Value, output_size: Any) -> Value:
    rank = len(output_size)
    for axis, size in zip(range(x.rank - rank, x.rank), output_size):
        x = _adaptive_mean(b, x, axis, size)
    return x


def _adaptive_weights(n: int, size: int) -> list[float]:
    """A matrix [n, size]: means of windows, window i from floor(i n / size) to
    ceil((i + 1) n / size)."""
    weights = [0.0] * (n * size)
    for i in range(size):
        first, last = i * n // size, -(-(i + 1) * n // size)
        for j in range(first, last):
            weights[j * size + i] = 1 / (last - first)
    return weights


def _multiply_along(b: Builder, x: Value, axis: int, matrix: Value, **more: Any) -> Value:
    order = [a for a in range(x.rank) if a != axis] + [axis]
    y = b.transpose(x, order)
    rows = y.shape[:-1]
    y = b.matmul(b.reshape(y, [math.prod(rows), y.shape[-1]]), matrix, **more)
    y = b.reshape(y, [*rows, y.shape[-1]])
    return b.transpose(y, [order.index(a) for a in range(x.rank)])


def _adaptive_mean(b: Builder, x: Value, axis: int, size: int) -> Value:
    n = x.shape[axis]
    if n % size == 0:
        parts = [*x.shape[:axis], size, n // size, *x.shape[axis + 1 :]]
        return b.reduce("mean", b.reshape(x, parts), axis + 1)
    matrix = b.constant(x.dtype, _adaptive_weights(n, size), (n, size))
    return _multiply_along(b, x, axis, matrix)


@aten("_adaptive_avg_pool2d_backward.default")
def adaptive_avg_pool_backward(b: Builder, dy: Value, x: Value) -> Value:
    for axis in (x.rank - 2, x.rank - 1):
        n, size = x.shape[axis], dy.shape[axis]
        if n % size:
            matrix = b.constant(dy.dtype, _adaptive_weights(n, size), (n, size))
            dy = _multiply_along(b, dy, axis, matrix, transpose_b=True)
            continue
        whole = [*dy.shape[:axis], size, 1, *dy.shape[axis + 1 :]]
        wide = [*dy.shape[:axis], size, n // size, *dy.shape[axis + 1 :]]
        spread = b.broadcast(b.reshape(dy, whole), wide)
        merged = [*dy.shape[:axis], n, *dy.shape[axis + 1 :]]
        dy = b.mul(b.reshape(spread, merged), size / n)
    return dy


@aten("avg_pool2d_backward.default", "avg_pool3d_backward.default")
def avg_pool_backward(
    b: Builder,
    dy: Value,
    x: Value,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> Value:
    rank = len(kernel_size)
    pool = Pooling(x, kernel_size, stride, padding, 1, ceil_mode, rank)
    kernel, strides = pool.attributes["kernel"], pool.attributes["strides"]
    extents = x.shape[-rank:]

    # How many elements a window has, along each dimension.
    counts = b.constant(dy.dtype, float(divisor_override or 1))
    if not divisor_override:
        for axis in range(rank):
            n, k, s, p = extents[axis], kernel[axis], strides[axis], pool.low[axis]
            edge = p if count_include_pad else 0
            along = [
                float(min(i * s - p + k, n + edge) - max(i * s - p, -edge))
                for i in range(pool.extents[axis])
            ]
            shape = [len(along)] + [1] * (rank - 1 - axis)
            along_axis = b.constant(dy.dtype, along, (len(along),))
            counts = b.mul(counts, b.reshape(along_axis, shape))
    share = _with_batch(b, b.div(dy, counts), rank)

    # Each element gets the shares of all windows that have it.
    channels = share.shape[1]
    ends = [
        (m - 1) * s + k - p - n
        for m, s, k, p, n in zip(pool.extents, strides, kernel, pool.low, extents)
    ]
    ones = b.full(dy.dtype, 1, (channels, 1, *kernel))
    y = b.emit(
        "conv_transpose",
        [share, ones],
        dy.dtype,
        (*share.shape[:2], *extents),
        strides=strides,
        padding=pool.low + [max(e, 0) for e in ends],
        output_padding=[max(-e, 0) for e in ends],
        dilations=[1] * rank,
        groups=channels,
    )
    return b.reshape(y, x.shape)
