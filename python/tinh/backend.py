"""ONNX's backend interface, onnx.backend.base: what its own runner of tests and
its scoreboard of backends call.

    import onnx.backend.test, tinh.backend
    runner = onnx.backend.test.BackendTest(tinh.backend, __name__)
    globals().update(runner.test_cases)

prepare compiles a model. What its file leaves to a run, open shapes and inputs
that shapes depend on, is settled by the inputs of each run: the model is compiled
once for each. Needs the packages onnx and, for types that NumPy does not have,
ml_dtypes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnx.backend.base as base
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


def _is_open(value: onnx.ValueInfoProto) -> bool:
    """Whether a tensor's shape is left to a run; sequences have none."""
    if not value.type.HasField("tensor_type"):
        return False
    tensor = value.type.tensor_type
    return not tensor.HasField("shape") or not all(
        dim.HasField("dim_value") for dim in tensor.shape.dim
    )


def _tensors_behind(graph: onnx.GraphProto, name: str) -> set[str]:
    """What a tensor is computed from: it itself, and those before it."""
    producers = {out: node for node in graph.node for out in node.output}
    waiting, seen = [name], set()
    while waiting:
        tensor = waiting.pop()
        if tensor not in seen:
            seen.add(tensor)
            waiting += producers[tensor].input if tensor in producers else []
    return seen


def _array(value: Any) -> np.ndarray:
    array = np.asarray(value)
    return array.astype(_BYTES.get(array.dtype.name, array.dtype), copy=False)


def _declared(array: np.ndarray, value: onnx.ValueInfoProto) -> np.ndarray:
    """An output with the type that the model declares."""
    element = value.type.tensor_type.elem_type
    if element == onnx.TensorProto.UNDEFINED:
        return array
    return array.astype(tensor_dtype_to_np_dtype(element), copy=False)


class PreparedModel(base.BackendRep):
    """A model to run. `run` takes its inputs in their order, or by name."""

    def __init__(self, model: onnx.ModelProto, options: dict[str, Any]):
        self._model = model
        self._options = options
        filled = {tensor.name for tensor in model.graph.initializer}
        self._inputs = [v for v in model.graph.input if v.name not in filled]
        self._open = {value.name for value in self._inputs if _is_open(value)}
        # Inputs whose elements the compiler has to know.
        self._constants: list[str] = []
        self._compiled: dict[tuple, Model] = {}
        if not self._open:
            try:
                self._compiled[self._key({})] = self._compile({})
            except Unsupported as error:
                if not _MUST_BE_CONSTANT.search(str(error)):
                    raise

    def run(self, inputs: Any, **kwargs: Any) -> tuple:
        """The outputs, as arrays, by position or by name."""
        given = self._by_name(inputs)
        compiled = self._specialise(given)
        results = compiled(
            **{name: x for name, x in given.items() if name not in self._constants}
        )
        outputs = self._model.graph.output
        if len(outputs) == 1:
            results = (results,)
        names = [value.name for value in outputs]
        return base.namedtupledict("Outputs", names)(
            *(_declared(x, value) for x, value in zip(results, outputs))
        )

    def _by_name(self, inputs: Any) -> dict[str, np.ndarray]:
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
        sequences = {v.name for v in self._inputs if not v.type.HasField("tensor_type")}
        return {
            name: value if name in sequences else _array(value)
            for name, value in inputs.items()
        }

    def _key(self, given: Mapping[str, np.ndarray]) -> tuple:
        """What a compiled model is for: open shapes, and elements of constants."""
        return (
            tuple((name, given[name].shape) for name in sorted(self._open)),
            tuple((name, given[name].tobytes()) for name in self._constants),
        )

    def _specialise(self, given: Mapping[str, np.ndarray]) -> Model:
        """The model for these inputs: each that the compiler asks for becomes a
        constant."""
        while (key := self._key(given)) not in self._compiled:
            try:
                self._compiled[key] = self._compile(given)
            except Unsupported as error:
                asked = _MUST_BE_CONSTANT.search(str(error))
                behind = _tensors_behind(self._model.graph, asked[1]) if asked else ()
                name = next(
                    (n for n in given if n in behind and n not in self._constants), None
                )
                if name is None:
                    raise
                self._constants.append(name)
        return self._compiled[key]

    def _compile(self, given: Mapping[str, np.ndarray]) -> Model:
        try:
            return compile(
                self._model,
                shapes={name: list(given[name].shape) for name in self._open},
                input_values={name: given[name] for name in self._constants},
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
        arrays = {name: np.asarray(value) for name, value in inputs.items()}
        values = [
            onnx.helper.make_tensor_value_info(
                name, onnx.helper.np_dtype_to_tensor_dtype(x.dtype), x.shape
            )
            for name, x in arrays.items()
        ]
        graph = onnx.helper.make_graph(
            [node],
            node.op_type,
            values,
            [onnx.ValueInfoProto(name=name) for name in node.output if name],
        )
        model = onnx.helper.make_model(
            graph, opset_imports=[onnx.helper.make_opsetid(node.domain, opset)]
        )
        return PreparedModel(model, {**_device_options(device), **kwargs}).run(arrays)

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
