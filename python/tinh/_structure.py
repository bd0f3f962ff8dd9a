"""Structures of tensors: lists, tuples and dicts of them, and of other values.

`flatten` takes a structure apart into its tensors and the rest, which is
hashable if the values are; `rebuild` puts tensors in again.
"""

from __future__ import annotations

from typing import Any

from . import _tinh
from ._tinh import Tensor


class _Place(int):
    """Of a tensor among those of a structure."""


def flatten(value: Any, tensors: list[Tensor]) -> Any:
    """The structure with places in `tensors`, to which its tensors are appended,
    instead of tensors. Arrays become tensors."""
    if isinstance(value, Tensor):
        tensors.append(value)
        return _Place(len(tensors) - 1)
    if isinstance(value, (list, tuple)):
        return (type(value).__name__, *(flatten(v, tensors) for v in value))
    if isinstance(value, dict):
        return ("dict", *((k, flatten(v, tensors)) for k, v in value.items()))
    if hasattr(value, "__dlpack__"):
        return flatten(_tinh.tensor(value), tensors)
    return ("value", type(value), value)  # 1, 1.0 and True are equal.


def names_of(value: Any, name: str) -> list[str]:
    """For each tensor that `flatten` finds: "x", "pair.0", "state.mean"."""
    if isinstance(value, (list, tuple)):
        parts: Any = enumerate(value)
    elif isinstance(value, dict):
        parts = value.items()
    else:
        return [name] if hasattr(value, "__dlpack__") else []
    return [n for key, part in parts for n in names_of(part, f"{name}.{key}")]


def rebuild(structure: Any, tensors: list[Tensor]) -> Any:
    if isinstance(structure, _Place):
        return tensors[structure]
    kind, *parts = structure
    if kind == "value":
        return parts[1]
    if kind == "dict":
        return {k: rebuild(v, tensors) for k, v in parts}
    rebuilt = [rebuild(v, tensors) for v in parts]
    return tuple(rebuilt) if kind == "tuple" else rebuilt


def of_tensors(value: Any) -> Any:
    """The structure with tensors for its numbers."""
    if isinstance(value, list):
        return [of_tensors(v) for v in value]
    if isinstance(value, tuple):
        return tuple(of_tensors(v) for v in value)
    if isinstance(value, dict):
        return {k: of_tensors(v) for k, v in value.items()}
    return _tinh.tensor(value) if isinstance(value, (bool, int, float)) else value


def describe(structure: Any) -> str:
    """As a reader knows it: "(tensor, [tensor, 3])"."""
    if isinstance(structure, _Place):
        return "tensor"
    kind, *parts = structure
    if kind == "value":
        return repr(parts[1])
    if kind == "dict":
        return "{" + ", ".join(f"{k!r}: {describe(v)}" for k, v in parts) + "}"
    inner = ", ".join(map(describe, parts))
    if kind == "list":
        return f"[{inner}]"
    return f"({inner},)" if len(parts) == 1 else f"({inner})"
