"""ONNX's backend interface, onnx.backend.base: what its own runner of tests and
its scoreboard of backends call.

    import onnx.backend.test, tinh.backend
    runner = onnx.backend.test.BackendTest(tinh.backend, __name__)
    globals().update(runner.test_cases)

prepare compiles a model. What its file leaves to a run, open shapes, lengths of
sequences and inputs that shapes depend on, is settled by the inputs of each run:
the model is compiled once for each, and for lengths of strings up to powers of two.
A sequence is a list of arrays, strings are arrays of objects, and an optional
that has nothing is None. Needs the packages onnx and, for types that NumPy does not
have, ml_dtypes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnx.backend.base as base
import onnx.shape_inference
from onnx.backend.test.runner import BackendIsNotSupposedToImplementIt
from onnx.helper import tensor_dtype_to_np_dtype

from . import _tinh
from ._compile import CompileError, compile
from ._model import Model

# What the compiler says of a tensor that it must know.
_MUST_BE_CONSTANT = re.compile(r'\(input "([^"]*)"\) must be a constant')

# Programs have a byte for each number of so few bits.
_BYTES = {"int2": "int8", "int4": "int8", "uint2": "uint8", "uint4": "uint8"}

# Of the runner, which gives prepare all that it has for a test.
_TOLERANCES = {"rtol", "atol"}


class Unsupported(CompileError, BackendIsNotSupposedToImplementIt):
    """A model that the compiler refuses, in its words; the runner skips it."""


# An input or output: an array, those of a sequence or, of an optional, None.
Value = np.ndarray | list[np.ndarray] | None


def _held(type: onnx.TypeProto) -> onnx.TypeProto:
    """The type of what an optional has; others are their own."""
    return type.optional_type.elem_type if type.HasField("optional_type") else type


def _tensor_type(type: onnx.TypeProto) -> onnx.TypeProto.Tensor:
    """That of a tensor, or of those in a sequence or an optional."""
    held = _held(type)
    if held.HasField("sequence_type"):
        held = held.sequence_type.elem_type
    return held.tensor_type


def _has_strings(value: onnx.ValueInfoProto) -> bool:
    return _tensor_type(value.type).elem_type == onnx.TensorProto.STRING


def _is_open(value: onnx.ValueInfoProto) -> bool:
    """Whether shapes, lengths of strings, or what there is at all, are left to a
    run."""
    if not value.type.HasField("tensor_type") or _has_strings(value):
        return True
    tensor = value.type.tensor_type
    return not tensor.HasField("shape") or not all(
        dim.HasField("dim_value") for dim in tensor.shape.dim
    )


def _nodes(graph: onnx.GraphProto) -> Iterator[onnx.NodeProto]:
    """Those of a graph and of the graphs in its nodes."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            for inner in (attribute.g, *attribute.graphs):
                yield from _nodes(inner)


def _tensors_behind(graph: onnx.GraphProto, name: str) -> set[str]:
    """What a tensor is computed from: it itself, and those before it."""
    # Branches may call their tensors alike.
    producers: dict[str, list[onnx.NodeProto]] = {}
    for node in _nodes(graph):
        for output in node.output:
            producers.setdefault(output, []).append(node)
    waiting, seen = [name], set()
    while waiting:
        tensor = waiting.pop()
        if tensor in seen:
            continue
        seen.add(tensor)
        for node in producers.get(tensor, ()):
            waiting += node.input
            for attribute in node.attribute:
                for inner in (attribute.g, *attribute.graphs):
                    waiting += (output.name for output in inner.output)
    return seen


def _encoded(string: Any) -> bytes:
    """Bytes that are no UTF-8 are kept, as Python has them in strings."""
    if isinstance(string, bytes):
        return string
    return str(string).encode(errors="surrogateescape")


def _bytes_of(strings: np.ndarray) -> np.ndarray:
    """UTF-8 in a last dimension, as a compiled model has strings."""
    encoded = [_encoded(s) for s in strings.ravel()]
    longest = max(map(len, encoded), default=1)
    width = 1 << (max(longest, 1) - 1).bit_length()
    filled = np.array(encoded, f"S{width}")
    return filled.view(np.uint8).reshape(*strings.shape, width)


def _strings_of(array: np.ndarray) -> np.ndarray:
    filled = np.ascontiguousarray(array).view(f"S{array.shape[-1]}")
    strings = np.empty(array.shape[:-1], object)
    strings.ravel()[:] = [s.decode(errors="surrogateescape") for s in filled.ravel()]
    return strings


def _array(value: Any) -> np.ndarray:
    array = np.asarray(value)
    if array.dtype.kind in "OSU":
        return _bytes_of(array)
    return array.astype(_BYTES.get(array.dtype.name, array.dtype), copy=False)


def _input(value: Any, info: onnx.ValueInfoProto) -> Value:
    if value is None and info.type.HasField("optional_type"):
        return None
    if _held(info.type).HasField("sequence_type"):
        return [_array(x) for x in value]
    return _array(value)


def _tensors_of(name: str, value: Value) -> dict[str, np.ndarray]:
    """What a compiled model has in place of a value."""
    if value is None:
        return {}
    if isinstance(value, list):
        return {f"{name}.{i}": x for i, x in enumerate(value)}
    return {name: value}


def _length(value: Value) -> int:
    """As the compiler has lengths: -1 of an optional that has nothing."""
    if value is None:
        return -1
    return len(value) if isinstance(value, list) else 1


def _declared(array: np.ndarray, value: onnx.ValueInfoProto) -> np.ndarray:
    """A tensor of an output with the type that the model declares."""
    element = _tensor_type(value.type).elem_type
    if element == onnx.TensorProto.STRING:
        return _strings_of(array)
    if element == onnx.TensorProto.UNDEFINED:
        return array
    return array.astype(tensor_dtype_to_np_dtype(element), copy=False)


def _output(value: onnx.ValueInfoProto, found: Mapping[str, np.ndarray]) -> Value:
    """An output of the model, of those of the compiled one."""
    if value.name in found:
        return _declared(found[value.name], value)
    elements: list[np.ndarray] = []
    while (name := f"{value.name}.{len(elements)}") in found:
        elements.append(_declared(found[name], value))
    return None if not elements and value.type.HasField("optional_type") else elements


def _is_sequence(value: Any) -> bool:
    """Whether an input of a node is one, which nothing else says of it."""
    return (
        isinstance(value, list)
        and len(value) > 0
        and all(isinstance(x, np.ndarray) for x in value)
    )


def _value_info(name: str, value: Value) -> onnx.ValueInfoProto:
    """How a model declares an input of these tensors."""
    first = value[0] if isinstance(value, list) else value
    element = onnx.helper.np_dtype_to_tensor_dtype(first.dtype)
    if not isinstance(value, list):
        return onnx.helper.make_tensor_value_info(name, element, value.shape)
    tensor = onnx.helper.make_tensor_type_proto(element, None)
    return onnx.helper.make_value_info(
        name, onnx.helper.make_sequence_type_proto(tensor)
    )


class PreparedModel(base.BackendRep):
    """A model to run. `run` takes its inputs in their order, or by name."""

    def __init__(self, model: onnx.ModelProto, options: dict[str, Any]):
        self._model = model
        self._options = options
        filled = {tensor.name for tensor in model.graph.initializer}
        self._inputs = [v for v in model.graph.input if v.name not in filled]
        self._open = {value.name for value in self._inputs if _is_open(value)}
        # Those that have lengths: sequences and optionals.
        self._lengths = {
            v.name for v in self._inputs if not v.type.HasField("tensor_type")
        }
        self._strings = {v.name for v in self._inputs if _has_strings(v)}
        # Tensors whose elements the compiler has to know.
        self._constants: list[str] = []
        self._compiled: dict[tuple, Model] = {}
        if not self._open:
            try:
                self._compiled[self._key({})] = self._compile({})
            except Unsupported as error:
                if not _MUST_BE_CONSTANT.search(str(error)):
                    raise

    def run(self, inputs: Any, **kwargs: Any) -> tuple:
        """The outputs, as arrays and lists of them, by position or by name."""
        given = self._by_name(inputs)
        compiled = self._specialise(given)
        tensors = self._tensors(given)
        results = compiled(
            **{name: x for name, x in tensors.items() if name not in self._constants}
        )
        if not isinstance(results, tuple):
            results = (results,)
        # Outputs that say sizes come last, and are no results.
        found = {info.name: x for info, x in zip(compiled.outputs, results)}
        outputs = self._model.graph.output
        names = [value.name for value in outputs]
        return base.namedtupledict("Outputs", names)(
            *(_output(value, found) for value in outputs)
        )

    @staticmethod
    def _tensors(given: Mapping[str, Value]) -> dict[str, np.ndarray]:
        return {k: x for n in given for k, x in _tensors_of(n, given[n]).items()}

    def _by_name(self, inputs: Any) -> dict[str, Value]:
        names = [value.name for value in self._inputs]
        if not isinstance(inputs, Mapping):
            if not isinstance(inputs, (list, tuple)):
                inputs = [inputs]
            if len(inputs) != len(names):
                raise ValueError(
                    f"the model takes {len(names)} inputs, {', '.join(names)}, "
                    f"found {len(inputs)}"
                )
            inputs = dict(zip(names, inputs))
        declared = {value.name: value for value in self._inputs}
        return {
            name: _input(value, declared[name]) if name in declared else _array(value)
            for name, value in inputs.items()
        }

    def _key(self, given: Mapping[str, Value]) -> tuple:
        """What a compiled model is for: lengths, open shapes, and elements of
        constants."""
        opened = {name: given[name] for name in sorted(self._open)}
        tensors = self._tensors(given)
        return (
            tuple((name, _length(given[name])) for name in sorted(self._lengths)),
            tuple((name, x.shape) for name, x in self._tensors(opened).items()),
            tuple(
                (name, tensors[name].tobytes())
                for name in self._constants
                if name in tensors
            ),
        )

    def _specialise(self, given: Mapping[str, Value]) -> Model:
        """The model for these inputs: each that the compiler asks for becomes a
        constant."""
        while (key := self._key(given)) not in self._compiled:
            try:
                self._compiled[key] = self._compile(given)
            except Unsupported as error:
                asked = _MUST_BE_CONSTANT.search(str(error))
                behind = _tensors_behind(self._model.graph, asked[1]) if asked else ()
                tensors = self._tensors({n: x for n, x in given.items() if n in behind})
                known = {*self._constants, *self._strings}
                name = next((n for n in tensors if n not in known), None)
                if name is None:
                    raise
                self._constants.append(name)
        return self._compiled[key]

    def _compile(self, given: Mapping[str, Value]) -> Model:
        opened = self._tensors({name: given[name] for name in self._open})
        shapes = {name: list(x.shape) for name, x in opened.items()}
        tensors = self._tensors(given)
        # What strings have as a last dimension.
        strings = self._tensors({n: given[n] for n in self._strings})
        try:
            return compile(
                self._model,
                shapes=shapes | {n: shapes[n][:-1] for n in strings},
                string_lengths={n: x.shape[-1] for n, x in strings.items()},
                lengths={name: _length(given[name]) for name in self._lengths},
                input_values={n: tensors[n] for n in self._constants if n in tensors},
                **self._options,
            )
        except CompileError as error:
            if error.status != "wrong input":
                raise
            raise Unsupported(error.status, error.messages) from None


def _device_options(device: str) -> dict[str, Any]:
    wanted = base.Device(device)
    if wanted.type == base.DeviceType.CPU:
        return {}
    return {"target": "cuda", "device": "cuda", "cuda_device": wanted.device_id}


class TinhBackend(base.Backend):
    """Compiles and runs models of ONNX. Options are those of tinh.compile."""

    @classmethod
    def prepare(
        cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: Any
    ) -> PreparedModel:
        super().prepare(model, device)
        options = {k: v for k, v in kwargs.items() if k not in _TOLERANCES}
        return PreparedModel(model, {**_device_options(device), **options})

    @classmethod
    def run_node(
        cls,
        node: onnx.NodeProto,
        inputs: Any,
        device: str = "CPU",
        outputs_info: Sequence[tuple[np.dtype, tuple[int, ...]]] | None = None,
        **kwargs: Any,
    ) -> tuple:
        super().run_node(node, inputs, device, outputs_info, **kwargs)
        opset = kwargs.pop("opset_version", onnx.defs.onnx_opset_version())
        names = [name for name in node.input if name]
        if not isinstance(inputs, Mapping):
            inputs = dict(zip(names, inputs))
        given = {
            name: x if _is_sequence(x) else np.asarray(x) for name, x in inputs.items()
        }
        values = [_value_info(name, x) for name, x in given.items()]
        graph = onnx.helper.make_graph(
            [node],
            node.op_type,
            values,
            [onnx.ValueInfoProto(name=name) for name in node.output if name],
        )
        model = onnx.helper.make_model(
            graph, opset_imports=[onnx.helper.make_opsetid(node.domain, opset)]
        )
        inferred = onnx.shape_inference.infer_shapes(model).graph.output
        for output, known in zip(model.graph.output, inferred):
            if _has_strings(known):
                output.type.CopyFrom(known.type)
        return PreparedModel(model, {**_device_options(device), **kwargs}).run(given)

    @classmethod
    def is_compatible(
        cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: Any
    ) -> bool:
        """Whether the model compiles, as far as that does not depend on a run."""
        try:
            cls.prepare(model, device, **kwargs)
        except Unsupported:
            return False
        return True

    @classmethod
    def supports_device(cls, device: str) -> bool:
        try:
            wanted = base.Device(device)
        except AttributeError:  # No type of device.
            return False
        return wanted.type == base.DeviceType.CPU or _tinh.cuda_is_available()


is_compatible = TinhBackend.is_compatible
prepare = TinhBackend.prepare
run_model = TinhBackend.run_model
run_node = TinhBackend.run_node
supports_device = TinhBackend.supports_device
