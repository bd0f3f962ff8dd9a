"""The table of ATen ops: a function of each, which writes it with ops of the
graph dialect.

A function gets the builder and the op's arguments as its ATen schema has them,
tensors as Values; `b.results` are the types of its results. It gives a Value, or
several for several results: None for one that nobody may ask for. Functions whose
ops differ only in that an argument is a tensor or a number stand under several
names.

Source: the schemas of PyTorch's native_functions.yaml.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

TABLE: dict[str, Callable[..., Any]] = {}


class Unsupported(Exception):
    """What Tinh cannot compile: `ops`, sentences or names of ATen ops."""

    def __init__(self, ops: list[str]):
        super().__init__(", ".join(ops))
        self.ops = ops


def aten(*names: str) -> Callable[[Callable], Callable]:
    def enter(function: Callable) -> Callable:
        for name in names:
            assert name not in TABLE, name
            TABLE[name] = function
        return function

    return enter
