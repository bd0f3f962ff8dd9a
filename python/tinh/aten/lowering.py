"""From a graph of ATen ops to one in Tinh's JSON format."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

# Their functions enter themselves into the table.
from . import (  # noqa: F401
    contractions,
    creation,
    elementwise,
    indexing,
    movement,
    normalization,
    reductions,
)
from .builder import Builder, Value
from .graph import Graph, Node, Ref
from .table import TABLE, Unsupported


@dataclass(frozen=True)
class Lowered:
    """A graph to compile, and how its call stands for one of the ATen graph.

    model: a graph in the JSON format.
    inputs: which inputs of the ATen graph it takes, in order; all others are
        not used, or are among `memory`.
    outputs: for each output of the ATen graph: ("result", i) for output i of the
        model, ("input", i) for an input that is given back as it is, or
        ("value", x).
    """

    model: dict
    inputs: list[int]
    outputs: list[tuple[str, Any]]


def unsupported(graph: Graph) -> list[str]:
    """The ops of the graph, by name, that the table lacks."""
    return sorted({n.op for n in graph.nodes if n.op not in TABLE})


def lower(graph: Graph, memory: dict[str, str] | None = None) -> Lowered:
    """memory: names for inputs, by name, that are constants which the program
    has in its memory. Raises Unsupported, which says all that is missing."""
    missing = unsupported(graph)
    if missing:
        raise Unsupported(missing)
    return _Lowering(graph, memory or {}).run()


class _Lowering:
    def __init__(self, graph: Graph, memory: dict[str, str]):
        self.graph = graph
        self.builder = Builder()
        self.values: dict[str, tuple] = {}
        self.inputs: dict[str, int] = {}
        self.results: list[Value] = []
        used = self._used()
        for i, (name, type) in enumerate(graph.inputs):
            if name not in used:
                continue
            if type is None:
                raise Unsupported([f'input "{name}", of a dtype that Tinh lacks'])
            if name in memory:
                value = self.builder.memory(name, type, memory[name])
            else:
                value = self.builder.input(name, type)
                self.inputs[name] = i
            self.values[name] = (value,)

    def _used(self) -> set[str]:
        """All that outputs depend on, by name."""
        used: set[str] = set()
        nodes = {node.name: node for node in self.graph.nodes}
        stack = _refs(self.graph.outputs)
        while stack:
            name = stack.pop()
            if name not in used:
                used.add(name)
                if name in nodes:
                    node = nodes[name]
                    stack += _refs((node.args, node.kwargs))
        return used

    def run(self) -> Lowered:
        used = self._used()
        for node in self.graph.nodes:
            if node.name in used:
                self._write(node)
        outputs = [self._output(output) for output in self.graph.outputs]
        names = self._results()
        b = self.builder
        self._drop_dead(names)
        model = {
            "tinh": 1,
            "inputs": b.inputs,
            "weights": b.weights,
            "nodes": b.nodes,
            "outputs": names,
        }
        kept = [self.inputs[name] for name in self.inputs]
        return Lowered(model, kept, outputs)

    def _write(self, node: Node) -> None:
        b = self.builder
        b.node, b.results = node.name, node.results
        try:
            args = self._resolve(node.args)
            kwargs = self._resolve(node.kwargs)
            results = TABLE[node.op](b, *args, **kwargs)
        except Unsupported as error:
            place = f" ({node.name})"
            raise Unsupported([op + place for op in error.ops]) from None
        if isinstance(results, Value):
            results = (results,)
        for expected, value in zip(node.results, results):
            if value is not None and expected is not None and value.type != expected:
                raise AssertionError(
                    f"{node.name} = {node.op}: {value.type}, expected {expected}"
                )
        self.values[node.name] = tuple(results)

    def _resolve(self, argument: Any) -> Any:
        if isinstance(argument, Ref):
            value = self.values[argument.name][argument.index]
            if value is None:
                raise Unsupported([f"result {argument.index} of {argument.name}"])
            return value
        if isinstance(argument, (list, tuple)):
            return type(argument)(self._resolve(a) for a in argument)
        if isinstance(argument, dict):
            return {k: self._resolve(v) for k, v in argument.items()}
        return argument

    def _output(self, output: Any) -> tuple[str, Any]:
        """Collects what is a result; see Lowered."""
        if not isinstance(output, Ref):
            return ("value", output)
        if output.name in self.inputs:
            return ("input", self.inputs[output.name])
        value = self._resolve(output)
        for i, other in enumerate(self.results):
            if other == value:
                return ("result", i)
        self.results.append(value)
        return ("result", len(self.results) - 1)

    def _results(self) -> list[str]:
        """Names of the results. One that is an input or a constant becomes a
        tensor of its own."""
        b = self.builder
        made = {name for node in b.nodes for name in node["outputs"]}
        names = []
        for value in self.results:
            if value.name not in made:
                b.node = f"{value.name}.copy"
                value = b.emit(
                    "reshape", [value], value.dtype, value.shape,
                    shape=list(value.shape),
                )
            names.append(value.name)
        return names

    def _drop_dead(self, outputs: list[str]) -> None:
        """What functions of the table have written and nobody asked for."""
        b = self.builder
        live, nodes = set(outputs), []
        for node in reversed(b.nodes):
            if live.intersection(node["outputs"]):
                live.update(node["inputs"])
                nodes.append(node)
        b.nodes = list(reversed(nodes))
        b.weights = [w for w in b.weights if w["name"] in live]
        b.inputs = [i for i in b.inputs if i["name"] in live]
        alive = {i["name"] for i in b.inputs}
        self.inputs = {
            name: i
            for name, i in self.inputs.items()
            if self.values[name][0].name in alive
        }


def _refs(argument: Any) -> list[str]:
    if isinstance(argument, Ref):
        return [argument.name]
    if isinstance(argument, (list, tuple)):
        return [name for a in argument for name in _refs(a)]
    if isinstance(argument, dict):
        return [name for a in argument.values() for name in _refs(a)]
    return []
