"""Graphs of ATen ops as plain data: what torch.compile hands over, without
torch. They can be written to JSON and read again, so that what was recorded on
one machine is compiled and run on another that has no PyTorch."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class TensorType:
    dtype: str  # As Tinh names them: "f32", "i64", "bool".
    shape: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.dtype}{list(self.shape)}"


@dataclass(frozen=True)
class Ref:
    """A result of a node, or an input, as an argument of another node."""

    name: str
    index: int = 0


@dataclass(frozen=True)
class Dtype:
    """A dtype as an argument; None: one that Tinh lacks."""

    name: str | None


@dataclass
class Node:
    name: str
    op: str  # Without its namespace: "add.Tensor".
    args: tuple
    kwargs: dict[str, Any]
    # A tensor's type; None for what is not a tensor or has a dtype we lack.
    results: list[TensorType | None]


@dataclass
class Graph:
    inputs: list[tuple[str, TensorType | None]]
    nodes: list[Node] = field(default_factory=list)
    # A Ref, or a Python value, such as None for a gradient that nobody wants.
    outputs: list[Any] = field(default_factory=list)

    def to_json(self) -> dict:
        return {
            "inputs": [[name, _type_to_json(type)] for name, type in self.inputs],
            "nodes": [
                {
                    "name": node.name,
                    "op": node.op,
                    "args": _to_json(node.args),
                    "kwargs": {k: _to_json(v) for k, v in node.kwargs.items()},
                    "results": [_type_to_json(type) for type in node.results],
                }
                for node in self.nodes
            ],
            "outputs": _to_json(self.outputs),
        }

    @staticmethod
    def from_json(data: dict) -> Graph:
        return Graph(
            [(name, _type_from_json(type)) for name, type in data["inputs"]],
            [
                Node(
                    node["name"],
                    node["op"],
                    tuple(_from_json(node["args"])),
                    {k: _from_json(v) for k, v in node["kwargs"].items()},
                    [_type_from_json(type) for type in node["results"]],
                )
                for node in data["nodes"]
            ],
            _from_json(data["outputs"]),
        )


def _type_to_json(type: TensorType | None) -> list | None:
    return type and [type.dtype, *type.shape]


def _type_from_json(data: list | None) -> TensorType | None:
    return data and TensorType(data[0], tuple(data[1:]))


def _to_json(value: Any) -> Any:
    if isinstance(value, Ref):
        return {"ref": [value.name, value.index]}
    if isinstance(value, Dtype):
        return {"dtype": value.name}
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(value)}
    if isinstance(value, (list, tuple)):
        return [_to_json(v) for v in value]
    return value


def _from_json(data: Any) -> Any:
    if isinstance(data, list):
        return [_from_json(v) for v in data]
    if isinstance(data, dict):
        if "ref" in data:
            return Ref(*data["ref"])
        return Dtype(data["dtype"]) if "dtype" in data else float(data["float"])
    return data
