"""ATen ops that reduce or scan along axes."""

from __future__ import annotations

import math
from typing import Any

from .._tinh import _cumulative_functions
from .builder import Builder, Value
from .creation import count
from .table import TABLE, Unsupported, aten


@aten("sum.dim_IntList", "sum.default")
def sum(
    b: Builder, x: Value, dim: Any = None, keepdim: bool = False, **options: Any
) -> Value:
    return b.reduce("sum", b.cast(x, b.results[0].dtype), dim, keepdim)


@aten("mean.dim", "mean.default")
def mean(
    b: Builder, x: Value, dim: Any = None, keepdim: bool = False, **options: Any
) -> Value:
    return b.reduce("mean", b.cast(x, b.results[0].dtype), dim, keepdim)


@aten("prod.default")
def prod(b: Builder, x: Value, **options: Any) -> Value:
    return b.reduce("prod", b.cast(x, b.results[0].dtype), None)


@aten("prod.dim_int")
def prod_dim(
    b: Builder, x: Value, dim: int, keepdim: bool = False, **options: Any
) -> Value:
    return b.reduce("prod", b.cast(x, b.results[0].dtype), dim, keepdim)


@aten("amax.default", "max.default")
def amax(b: Builder, x: Value, dim: Any = None, keepdim: bool = False) -> Value:
    return b.reduce("max", x, dim, keepdim)


@aten("amin.default", "min.default")
def amin(b: Builder, x: Value, dim: Any = None, keepdim: bool = False) -> Value:
    return b.reduce("min", x, dim, keepdim)


@aten("max.dim")
def max_dim(b: Builder, x: Value, dim: int, keepdim: bool = False) -> tuple:
    axis = x.axis(dim)
    return b.reduce("max", x, axis, keepdim), b.arg("argmax", x, axis, keepdim)


@aten("min.dim")
def min_dim(b: Builder, x: Value, dim: int, keepdim: bool = False) -> tuple:
    axis = x.axis(dim)
    return b.reduce("min", x, axis, keepdim), b.arg("argmin", x, axis, keepdim)


def _arg(b: Builder, op: str, x: Value, dim: int | None, keepdim: bool) -> Value:
    if dim is None:
        return b.arg(op, b.reshape(x, [math.prod(x.shape)]), 0, False)
    return b.arg(op, x, x.axis(dim), keepdim)


@aten("argmax.default")
def argmax(b: Builder, x: Value, dim: Any = None, keepdim: bool = False) -> Value:
    return _arg(b, "argmax", x, dim, keepdim)


@aten("argmin.default")
def argmin(b: Builder, x: Value, dim: Any = None, keepdim: bool = False) -> Value:
    return _arg(b, "argmin", x, dim, keepdim)


@aten("any.dim", "any.dims", "any.default")
def any(b: Builder, x: Value, dim: Any = None, keepdim: bool = False) -> Value:
    return b.reduce("max", b.cast(x, "bool"), dim, keepdim)


@aten("all.dim", "all.dims", "all.default")
def all(b: Builder, x: Value, dim: Any = None, keepdim: bool = False) -> Value:
    return b.reduce("min", b.cast(x, "bool"), dim, keepdim)


def variance(b: Builder, x: Value, axes: list[int], correction: float, keep: bool) -> Value:
    y = b.variance(x, axes, keep)
    n = count(x.shape, axes)
    if correction == 0:
        return y
    return b.mul(y, n / (n - correction) if n > correction else math.nan)


def _correction(correction: float | None) -> float:
    return 1 if correction is None else correction


@aten("var.correction")
def var(
    b: Builder,
    x: Value,
    dim: Any = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
) -> Value:
    return variance(b, x, x.axes(dim), _correction(correction), keepdim)


@aten("std.correction")
def std(
    b: Builder,
    x: Value,
    dim: Any = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
) -> Value:
    return b.unary(
        "sqrt", variance(b, x, x.axes(dim), _correction(correction), keepdim)
    )


@aten("var_mean.correction")
def var_mean(
    b: Builder,
    x: Value,
    dim: Any = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
) -> tuple:
    axes = x.axes(dim)
    return (
        variance(b, x, axes, _correction(correction), keepdim),
        b.reduce("mean", x, axes, keepdim),
    )


def _cumulative(op: str) -> Any:
    def write(b: Builder, x: Value, dim: int, **options: Any) -> Value:
        x = b.cast(x, b.results[0].dtype)
        if x.rank == 0:
            return x
        return b.emit(op, [x], x.dtype, x.shape, axis=x.axis(dim))

    return write


for _name in _cumulative_functions:
    TABLE[f"{_name}.default"] = _cumulative(_name)


@aten("logsumexp.default")
def logsumexp(b: Builder, x: Value, dim: Any, keepdim: bool = False) -> Value:
    axes = x.axes(dim)
    most = b.reduce("max", x, axes, True)
    most = b.where(b.emit("isinf", [most], "bool", most.shape), 0.0, most)
    total = b.reduce("sum", b.unary("exp", b.sub(x, most)), axes, True)
    y = b.add(b.unary("log", total), most)
    return y if keepdim else b.reshape(y, b.results[0].shape)


@aten("linalg_vector_norm.default")
def linalg_vector_norm(
    b: Builder,
    x: Value,
    ord: float = 2,
    dim: Any = None,
    keepdim: bool = False,
    **options: Any,
) -> Value:
    x = b.unary("abs", b.cast(x, b.results[0].dtype))
    if ord == math.inf:
        return b.reduce("max", x, dim, keepdim)
    if ord == -math.inf:
        return b.reduce("min", x, dim, keepdim)
    if ord == 1:
        return b.reduce("sum", x, dim, keepdim)
    if ord == 2:
        return b.unary("sqrt", b.reduce("sum", b.mul(x, x), dim, keepdim))
    if ord == 0:
        raise Unsupported(["linalg_vector_norm of order 0"])
    total = b.reduce("sum", b.binary("pow", x, ord), dim, keepdim)
    return b.binary("pow", total, 1 / ord)
