"""@tinh.function: Python functions over tensors, compiled as a whole."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from . import _tinh
from ._tinh import Tensor


def _flatten(value: Any, tensors: list[Tensor]) -> Any:
    """The value with places in `tensors` instead of tensors; hashable."""
    if isinstance(value, Tensor):
        tensors.append(value)
        return _Place(len(tensors) - 1)
    if isinstance(value, (list, tuple)):
        return (type(value).__name__, *(_flatten(v, tensors) for v in value))
    if isinstance(value, dict):
        return ("dict", *((k, _flatten(v, tensors)) for k, v in value.items()))
    if hasattr(value, "__dlpack__"):
        return _flatten(_tinh.tensor(value), tensors)
    return ("value", value)


class _Place(int):
    """Of a tensor among those of a call."""


def _rebuild(structure: Any, tensors: list[Tensor]) -> Any:
    if isinstance(structure, _Place):
        return tensors[structure]
    kind, *parts = structure
    if kind == "value":
        return parts[0]
    if kind == "dict":
        return {k: _rebuild(v, tensors) for k, v in parts}
    rebuilt = [_rebuild(v, tensors) for v in parts]
    return tuple(rebuilt) if kind == "tuple" else rebuilt


class TracedFunction:
    """What tinh.function makes of a function. It is traced and compiled once for
    each signature: the dtypes and shapes of the tensors among the arguments, and
    the values of all else. Arrays count as tensors; tensors that the function
    refers to are read at each call, and changed by it if it changes them."""

    def __init__(self, function: Callable, name: str, threads: int):
        functools.update_wrapper(self, function)
        self._python = function
        self._function = _tinh._Function(name, threads)
        self._results: dict[Any, Any] = {}

    def _prepare(self, args: tuple, kwargs: dict) -> tuple:
        tensors: list[Tensor] = []
        structure = _flatten((args, kwargs), tensors)
        key = repr(structure)
        signature = (key, *((t.dtype, t.shape) for t in tensors))

        def body(traced: list[Tensor]) -> list[Tensor]:
            given, named = _rebuild(structure, traced)
            made: list[Tensor] = []
            result = _flatten(self._python(*given, **named), made)
            self._results[signature] = result
            return made

        return tensors, key, signature, body

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        tensors, key, signature, body = self._prepare(args, kwargs)
        made = self._function.call(body, tensors, key)
        return _rebuild(self._results[signature], made)

    def save(self, path: str, *args: Any, **kwargs: Any) -> None:
        """Writes what the function is for arguments like these: the graph, to a
        file .mlir, .mlirbc, .json or .onnx, or compiled, to one .so."""
        tensors, key, _, body = self._prepare(args, kwargs)
        self._function.save(str(path), body, tensors, key)

    def graph(self, *args: Any, **kwargs: Any) -> str:
        """The traced graph, as MLIR text."""
        tensors, key, _, body = self._prepare(args, kwargs)
        return self._function.graph(body, tensors, key)

    @property
    def statistics(self) -> dict:
        """Calls, traces, milliseconds of tracing and compiling, and why each
        trace but the first was needed."""
        return self._function.statistics()


def function(
    python: Callable | None = None, *, name: str | None = None, threads: int = 0
) -> Any:
    """Makes of a function over tensors one that is traced, compiled and run as a
    whole.

        @tinh.function
        def mlp(x):
            return tinh.relu(x @ w1) @ w2

    name: the model's, in messages and files; the function's own if not given.
    threads: that compute a call; 0: as many as the engine has.
    What tracing sees is what the tensors go through: other effects of the
    function, and branches on Python's values, happen when it is traced.
    """
    if python is None:
        return lambda given: function(given, name=name, threads=threads)
    return TracedFunction(python, name or python.__name__, threads)
