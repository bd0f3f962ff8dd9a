"""ATen ops that multiply and add: matrix products, convolutions, attention."""

from __future__ import annotations

import math
from typing import Any

from .builder import Builder, Value
from .table import Unsupported, aten


@aten("mm.default", "bmm.default")
def mm(b: Builder, x: Value, y: Value) -> Value:
    return b.matmul(x, y)


@aten("mv.default")
def mv(b: Builder, x: Value, y: Value) -> Value:
    return b.reshape(b.matmul(x, b.reshape(y, [-1, 1])), x.shape[:1])


@aten("dot.default")
def dot(b: Builder, x: Value, y: Value) -> Value:
    return b.reduce("sum", b.mul(x, y), None)


@aten("addmm.default", "baddbmm.default")
def addmm(
    b: Builder, bias: Value, x: Value, y: Value, beta: float = 1, alpha: float = 1
) -> Value:
    product = b.matmul(x, y)
    if alpha != 1:
        product = b.mul(product, alpha)
    if beta == 0:
        return product
    return b.add(product, bias if beta == 1 else b.mul(bias, beta))


@aten("addmv.default")
def addmv(
    b: Builder, bias: Value, x: Value, y: Value, beta: float = 1, alpha: float = 1
) -> Value:
    product = mv(b, x, y)
    product = product if alpha == 1 else b.mul(product, alpha)
    return b.add(product, bias if beta == 1 else b.mul(bias, beta))


def spatial(values: Any, rank: int) -> list[int]:
    """One number for each of the spatial dimensions."""
    values = [values] if isinstance(values, int) else list(values)
    return values * rank if len(values) == 1 else values


class Convolution:
    """The attributes of one, and what follows from them."""

    def __init__(
        self, b: Builder, x: Value, weight: Value, stride: Any, padding: Any,
        dilation: Any, transposed: bool, output_padding: Any, groups: int,
    ):
        self.b = b
        rank = x.rank - 2
        self.rank, self.transposed, self.groups = rank, transposed, groups
        self.strides = spatial(stride, rank)
        self.dilations = spatial(dilation, rank)
        self.padding = spatial(padding, rank) * 2
        self.output_padding = spatial(output_padding, rank)
        self.kernel = list(weight.shape[2:])

    def _shared(self) -> dict[str, Any]:
        return {
            "strides": self.strides,
            "padding": self.padding,
            "dilations": self.dilations,
            "groups": self.groups,
        }

    def _conv(self, x: Value, weight: Value) -> Value:
        extents = [
            (n + 2 * p - d * (k - 1) - 1) // s + 1
            for n, p, d, k, s in zip(
                x.shape[2:], self.padding, self.dilations, self.kernel, self.strides
            )
        ]
        shape = [x.shape[0], weight.shape[0], *extents]
        return self.b.emit("conv", [x, weight], x.dtype, shape, **self._shared())

    def _conv_transpose(self, x: Value, weight: Value, output_padding: list) -> Value:
        if not x.is_float:
            raise Unsupported(["transposed convolution of integers"])
        extents = [
            (n - 1) * s + (k - 1) * d + 1 - 2 * p + o
            for n, s, k, d, p, o in zip(
                x.shape[2:], self.strides, self.kernel, self.dilations,
                self.padding, output_padding,
            )
        ]
        shape = [x.shape[0], weight.shape[1] * self.groups, *extents]
        return self.b.emit(
            "conv_transpose", [x, weight], x.dtype, shape,
            output_padding=output_padding, **self._shared(),
        )

    def forward(self, x: Value, weight: Value) -> Value:
        if self.transposed:
            return self._conv_transpose(x, weight, self.output_padding)
        return self._conv(x, weight)

    def input_gradient(self, dy: Value, x: Value, weight: Value) -> Value:
        if self.transposed:
            return self._conv(dy, weight)
        # What the strides have left over at the far ends.
        rest = [
            (n + 2 * p - d * (k - 1) - 1) % s
            for n, p, d, k, s in zip(
                x.shape[2:], self.padding, self.dilations, self.kernel, self.strides
            )
        ]
        return self._conv_transpose(dy, weight, rest)

    def weight_gradient(self, dy: Value, x: Value, weight: Value) -> Value:
        if self.transposed:
            x, dy = dy, x
        return self.b.emit(
            "conv_weight_gradient", [x, dy], x.dtype, weight.shape,
            kernel=self.kernel, **self._shared(),
        )


@aten("convolution.default")
def convolution(
    b: Builder, x: Value, weight: Value, bias: Value | None, *attributes: Any
) -> Value:
    y = Convolution(b, x, weight, *attributes).forward(x, weight)
    if bias is None:
        return y
    return b.add(y, b.reshape(bias, [-1] + [1] * (x.rank - 2)))


@aten("convolution_backward.default")
def convolution_backward(
    b: Builder, dy: Value, x: Value, weight: Value, bias_sizes: Any, *given: Any
) -> tuple:
    *attributes, mask = given
    conv = Convolution(b, x, weight, *attributes)
    sums = [0, *range(2, x.rank)]
    return (
        conv.input_gradient(dy, x, weight) if mask[0] else None,
        conv.weight_gradient(dy, x, weight) if mask[1] else None,
        b.reduce("sum", dy, sums) if mask[2] else None,
    )


@aten("_scaled_dot_product_flash_attention_for_cpu.default")
def attention(
    b: Builder,
    query: Value,
    key: Value,
    value: Value,
    dropout_p: float = 0,
    is_causal: bool = False,
    *,
    attn_mask: Value | None = None,
    scale: float | None = None,
) -> tuple:
    if dropout_p:
        raise Unsupported(["attention with dropout"])
    # It sees the first keys; ours the last.
    if is_causal and query.shape[-2] != key.shape[-2]:
        raise Unsupported(["causal attention from some queries to more keys"])
    inputs = [query, key, value]
    if attn_mask is not None:
        inputs.append(b.cast(attn_mask, query.dtype))
    y = b.emit(
        "attention",
        inputs,
        query.dtype,
        query.shape[:-1] + value.shape[-1:],
        scale=1 / math.sqrt(query.shape[-1]) if scale is None else scale,
        causal=is_causal or None,
    )
    return y, None  # Log-sum-exp is for the gradient.
