"""@tinh.function: Python functions over tensors, compiled as a whole."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from . import _tinh
from ._structure import describe, flatten, names_of, rebuild
from ._tinh import Tensor


class TracedFunction:
    """What tinh.function makes of a function. It is traced and compiled once for
    each signature: the dtypes and shapes of the tensors among the arguments, and
    the values of all else. Arrays count as tensors; tensors that the function
    refers to are read at each call, and changed by it if it changes them."""

    def __init__(
        self, function: Callable, name: str, threads: int, captured: dict[str, Tensor]
    ):
        functools.update_wrapper(self, function)
        self._python = function
        self._function = _tinh._Function(name, threads, captured)
        self._results: dict[Any, Any] = {}
        self._keys: dict[Any, str] = {}

    def _prepare(self, args: tuple, kwargs: dict) -> tuple:
        tensors: list[Tensor] = []
        structure = flatten((args, kwargs), tensors)
        try:
            key = self._keys.get(structure)
        except TypeError as error:
            raise TypeError(
                f"{self.__name__}: an argument that is not a tensor is part of the "
                f"signature, and must be hashable: {error}"
            ) from None
        if key is None:
            name = f"{describe(structure)} {len(self._keys)}"  # Unlike all others.
            key = self._keys.setdefault(structure, name)
        signature = (key, *((t.dtype, t.shape) for t in tensors))

        def body(traced: list[Tensor]) -> list[Tensor]:
            given, named = rebuild(structure, traced)
            made: list[Tensor] = []
            result = flatten(self._python(*given, **named), made)
            self._results[signature] = result
            return made

        return tensors, key, signature, body

    def _names(self, args: tuple, kwargs: dict) -> list[str]:
        """Those of the tensors among the arguments, after the parameters."""
        kinds = inspect.Parameter
        by_place = (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)
        parameters = inspect.signature(self._python).parameters.values()
        known = [p.name for p in parameters if p.kind in by_place]
        rest = next((p.name for p in parameters if p.kind == kinds.VAR_POSITIONAL), "")
        known += [f"{rest}.{i}" for i in range(len(args) - len(known))]
        given = [*zip(known, args), *kwargs.items()]
        return [n for name, value in given for n in names_of(value, name)]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        tensors, key, signature, body = self._prepare(args, kwargs)
        made = self._function.call(body, tensors, key)
        return rebuild(self._results[signature], made)

    def save(self, path: str, *args: Any, **kwargs: Any) -> None:
        """Writes what the function is for arguments like these: the graph, to a
        file .mlir, .mlirbc, .json or .onnx, or compiled, to one .so."""
        tensors, key, _, body = self._prepare(args, kwargs)
        names = self._names(args, kwargs)
        self._function.save(str(path), body, tensors, key, names)

    def graph(self, *args: Any, **kwargs: Any) -> str:
        """The traced graph, as MLIR text."""
        tensors, key, _, body = self._prepare(args, kwargs)
        return self._function.graph(body, tensors, key, self._names(args, kwargs))

    @property
    def statistics(self) -> dict:
        """Calls, traces, milliseconds of tracing and compiling, and why each
        trace but the first was needed."""
        return self._function.statistics()


def function(
    python: Callable | None = None,
    *,
    name: str | None = None,
    threads: int = 0,
    captured: dict[str, Tensor] | None = None,
) -> Any:
    """Makes of a function over tensors one that is traced, compiled and run as a
    whole.

        @tinh.function
        def mlp(x):
            return tinh.relu(x @ w1) @ w2

    name: the model's, in messages and files; the function's own if not given.
    threads: that compute a call; 0: as many as the engine has.
    captured: names for tensors that the function refers to in what is saved, such
    as a module's state_dict().
    What tracing sees is what the tensors go through: other effects of the
    function, and branches on Python's values, happen when it is traced.
    """
    if python is None:
        return lambda given: function(
            given, name=name, threads=threads, captured=captured
        )
    return TracedFunction(python, name or python.__name__, threads, captured or {})
