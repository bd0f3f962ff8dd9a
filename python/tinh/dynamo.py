"""PyTorch's graphs, compiled by Tinh.

    torch.compile(model, backend="tinh")
    tinh.compile(model, (x,))               # through torch.export

torch.compile splits a program into graphs of ATen ops, with their gradients:
each is lowered (`tinh.aten`) and compiled as a whole. A graph with an op that
Tinh lacks is run by PyTorch, as a whole, which is said once.
"""

from __future__ import annotations

import threading
import warnings
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from functorch.compile import min_cut_rematerialization_partition
from torch._decomp import core_aten_decompositions
from torch._functorch.aot_autograd import aot_module_simplified
from torch._subclasses.fake_tensor import unset_fake_temporarily

from . import aten
from ._compile import CompileError
from ._compile import compile as _compile_graph
from ._fx import DTYPES, Reader

_TORCH_DTYPES = {name: dtype for dtype, name in DTYPES.items()}

# Shapes that one graph is compiled for; for others PyTorch runs it.
MAX_SPECIALIZATIONS = 16
# Times that constants may change before they are inputs.
MAX_CHANGES = 3


@dataclass
class Coverage:
    """What has been compiled in this process: graphs, ATen ops in them, and
    those of either that PyTorch runs, because of the ops in `missing`."""

    graphs: int = 0
    ops: int = 0
    fallback_graphs: int = 0
    fallback_ops: int = 0
    missing: dict[str, int] = field(default_factory=dict)


coverage = Coverage()
_lock = threading.Lock()


# Compiled graphs


class _Constants:
    """Inputs of a graph that stay as they are, parameters above all, by their
    place among its arguments."""

    def __init__(self, tensors: dict[int, torch.Tensor]):
        self.tensors = tensors
        self.versions = {i: t._version for i, t in tensors.items()}

    def have_changed(self, arguments: Sequence[Any]) -> bool:
        versions = self.versions
        for i, tensor in self.tensors.items():
            given = arguments[i]
            if given is not tensor and given.data_ptr() != tensor.data_ptr():
                return True
            if given._version != versions[i]:
                return True
        return False


class _Executable:
    """A graph, compiled. Called as AOTAutograd calls: with a list of arguments,
    which it empties."""

    _boxed_call = True

    def __init__(self, reader: Reader, options: dict[str, Any]):
        self._reader = reader
        self._options = options
        self._constants = _Constants({})
        self._changes = 0

    def compile(self, constants: dict[int, torch.Tensor]) -> None:
        """Raises aten.Unsupported or CompileError."""
        graph, extra = self._reader.graph, self._reader.constants
        first = self._reader.first_constant
        memory = dict(constants)
        memory |= {first + i: t for i, t in enumerate(extra)}
        names = {graph.inputs[i][0]: str(i) for i in memory}
        lowered = aten.lower(graph, names)
        used = {w["memory"] for w in lowered.model["weights"] if "memory" in w}
        if not lowered.model["outputs"]:  # None and inputs alone.
            self._model, self._types = None, []
        else:
            with unset_fake_temporarily():  # While torch.compile traces.
                self._model = _compile_graph(
                    lowered.model,
                    memory={str(i): t for i, t in memory.items() if str(i) in used},
                    **self._options,
                )
            self._types = [
                (info.shape, _TORCH_DTYPES[info.dtype]) for info in self._model.outputs
            ]
        self._inputs = lowered.inputs
        self._outputs = lowered.outputs
        self._constants = _Constants(constants)

    def __call__(self, arguments: list[Any]) -> list[Any]:
        if self._constants.tensors and self._constants.have_changed(arguments):
            self._pack_again(arguments)
        if self._reader.draws:
            arguments += self._reader.constants
            arguments += [draw() for draw in self._reader.draws]
        inputs = [arguments[i] for i in self._inputs]
        given = [arguments[x] if k == "input" else None for k, x in self._outputs]
        arguments.clear()
        results = [torch.empty(shape, dtype=dtype) for shape, dtype in self._types]
        if self._model:
            self._model(*inputs, out=results)
        return [
            results[x] if kind == "result" else given[i] if kind == "input" else x
            for i, (kind, x) in enumerate(self._outputs)
        ]

    def _pack_again(self, arguments: list[Any]) -> None:
        """Constants have other values, or are other tensors."""
        self._changes += 1
        constants = {}
        if self._changes < MAX_CHANGES:
            constants = {i: arguments[i] for i in self._constants.tensors}
        self.compile(constants)


def _run_by_torch(module: torch.fx.GraphModule) -> Callable:
    def run(arguments: list[Any]) -> Any:
        given = list(arguments)
        arguments.clear()
        return module(*given)

    run._boxed_call = True  # type: ignore
    return run


def _executable(
    module: torch.fx.GraphModule,
    constants: dict[int, torch.Tensor],
    options: dict[str, Any],
) -> Callable:
    """For a graph of ATen ops: compiled, or else run by PyTorch."""
    reader = Reader(module)
    executable = _Executable(reader, options)
    count = len(reader.graph.nodes)
    try:
        executable.compile(constants)
        missing = []
    except aten.Unsupported as error:
        missing = error.ops
    except CompileError as error:
        missing = [str(error)]
    with _lock:
        coverage.graphs += 1
        coverage.ops += count
        if not missing:
            return executable
        coverage.fallback_graphs += 1
        coverage.fallback_ops += count
        new = [op for op in missing if op not in coverage.missing]
        for op in missing:
            coverage.missing[op] = coverage.missing.get(op, 0) + 1
    if new:
        warnings.warn(
            f"PyTorch runs a graph of {count} ops, because Tinh lacks: "
            + ", ".join(new),
            stacklevel=2,
        )
    return _run_by_torch(module)


# The backend


@torch.library.custom_op("tinh::max_pool2d_gradient", mutates_args=())
def _max_pool2d_gradient(
    dy: torch.Tensor,
    x: torch.Tensor,
    kernel_size: list[int],
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    ceil_mode: bool,
) -> torch.Tensor:
    attributes = (kernel_size, stride, padding, dilation, ceil_mode)
    _, indices = torch.ops.aten.max_pool2d_with_indices(x, *attributes)
    return torch.ops.aten.max_pool2d_with_indices_backward(dy, x, *attributes, indices)


@_max_pool2d_gradient.register_fake
def _(dy, x, kernel_size, stride, padding, dilation, ceil_mode):  # type: ignore
    return torch.empty_like(x)


def _partition(joint: torch.fx.GraphModule, inputs: Any, **options: Any) -> Any:
    """Divides forward from backward. The gradient of max pooling finds its
    places in x again: their indices are not kept from the one to the other."""
    for node in joint.graph.nodes:
        if node.target is torch.ops.aten.max_pool2d_with_indices_backward.default:
            dy, x, kernel, *given, indices = node.args
            defaults = [[], [0, 0], [1, 1], False]
            given += defaults[len(given) :]
            given[0] = given[0] or kernel
            node.target = torch.ops.tinh.max_pool2d_gradient.default
            node.args = (dy, x, kernel, *given)
    joint.graph.eliminate_dead_code()
    joint.recompile()
    return min_cut_rematerialization_partition(
        joint, inputs, compiler="inductor", **options
    )


def _decompositions() -> dict:
    """Core ATen, but for what is compiled better whole."""
    table = dict(core_aten_decompositions())
    ops = torch.ops.aten
    for op in (
        ops._scaled_dot_product_flash_attention_for_cpu.default,
        ops.native_dropout.default,
    ):
        table.pop(op, None)
    return table


def _is_constant(tensor: Any) -> bool:
    """Parameters and buffers, as torch.compile marks them."""
    return isinstance(tensor, torch.nn.Parameter) or (
        isinstance(tensor, torch.Tensor) and hasattr(tensor, "_dynamo_static_input_type")
    )


def _compile_static(
    module: torch.fx.GraphModule, inputs: Sequence[Any], options: dict[str, Any]
) -> Callable:
    constants = {
        i: x
        for i, x in enumerate(inputs)
        if _is_constant(x) and x.is_contiguous() and x.dtype in DTYPES
    }

    def inference(traced: torch.fx.GraphModule, fakes: Sequence[Any]) -> Callable:
        same = len(fakes) == len(inputs) and all(
            fakes[i].shape == t.shape for i, t in constants.items()
        )
        return _executable(traced, constants if same else {}, options)

    def gradient(traced: torch.fx.GraphModule, fakes: Sequence[Any]) -> Callable:
        return _executable(traced, {}, options)

    from torch.nn.attention import SDPBackend, sdpa_kernel

    needs_gradient = torch.is_grad_enabled() and any(
        isinstance(x, torch.Tensor) and x.requires_grad for x in inputs
    )
    kernels = list(SDPBackend.__members__.values())
    with sdpa_kernel([SDPBackend.MATH] if needs_gradient else kernels):
        return aot_module_simplified(
            module,
            inputs,
            fw_compiler=gradient,
            bw_compiler=gradient,
            inference_compiler=inference,
            partition_fn=_partition,
            decompositions=_decompositions(),
        )


class _Specialized:
    """A graph with open shapes, compiled for each that comes."""

    def __init__(self, module: torch.fx.GraphModule, options: dict[str, Any]):
        self._module, self._options = module, options
        self._compiled: OrderedDict[tuple, Callable] = OrderedDict()
        self._is_full = False

    def _key(self, arguments: Sequence[Any]) -> tuple:
        return (torch.is_grad_enabled(),) + tuple(
            (a.shape, a.dtype, a.requires_grad) if isinstance(a, torch.Tensor) else a
            for a in arguments
        )

    def __call__(self, *arguments: Any) -> Any:
        key = self._key(arguments)
        compiled = self._compiled.get(key)
        if compiled is None:
            if len(self._compiled) >= MAX_SPECIALIZATIONS:
                if not self._is_full:
                    self._is_full = True
                    warnings.warn(
                        f"a graph has been compiled for {MAX_SPECIALIZATIONS} "
                        "shapes, the most there may be; PyTorch runs it for others",
                        stacklevel=2,
                    )
                return self._module(*arguments)
            compiled = _compile_static(self._module, arguments, self._options)
            self._compiled[key] = compiled
        return compiled(*arguments)


def _is_open(x: Any) -> bool:
    if isinstance(x, torch.Tensor):
        return any(isinstance(n, torch.SymInt) for n in x.shape)
    return isinstance(x, (torch.SymInt, torch.SymFloat, torch.SymBool))


def compile(
    module: torch.fx.GraphModule,
    example_inputs: Sequence[Any],
    *,
    options: dict[str, Any] | None = None,
) -> Callable:
    """The backend "tinh" of torch.compile.

    options: those of tinh.compile, as torch.compile(…, options={"threads": 2});
        threads is torch.get_num_threads() if not given.
    """
    options = {"threads": torch.get_num_threads(), **(options or {})}
    if any(_is_open(x) for x in example_inputs):
        return _Specialized(module, options)
    return _compile_static(module, example_inputs, options)


# Whole modules


def export(
    module: torch.nn.Module, example_inputs: tuple | None
) -> tuple[dict, dict[str, torch.Tensor]]:
    """The module's forward as a graph in the JSON format, and the memory of its
    parameters and buffers, by their names."""
    if example_inputs is None:
        raise TypeError(
            "tinh.compile of a torch.nn.Module needs example_inputs, a tuple of "
            "tensors of the shapes that it will be called with"
        )
    was_training = module.training
    module.eval()
    try:
        with torch.no_grad():
            program = torch.export.export(module, tuple(example_inputs))
            program = program.run_decompositions(_decompositions())
    finally:
        module.train(was_training)
    signature = program.graph_signature
    changed = {**signature.buffers_to_mutate, **signature.user_inputs_to_mutate}
    if changed:
        raise ValueError(
            "the module changes " + ", ".join(map(repr, changed.values())) + " when "
            "it is called, which a compiled model cannot; torch.compile can"
        )
    state = {**program.state_dict, **program.constants}
    held = {
        **signature.inputs_to_parameters,
        **signature.inputs_to_buffers,
        **signature.inputs_to_lifted_tensor_constants,
    }
    reader = Reader(program.graph_module)
    memory = {placeholder: name for placeholder, name in held.items()}
    constants = {name: state[name].detach() for name in memory.values()}
    first = reader.first_constant
    for i, tensor in enumerate(reader.constants):
        placeholder = reader.graph.inputs[first + i][0]
        memory[placeholder] = placeholder
        constants[placeholder] = tensor
    lowered = aten.lower(reader.graph, memory)
    lowered.model["name"] = type(module).__name__
    return lowered.model, constants
