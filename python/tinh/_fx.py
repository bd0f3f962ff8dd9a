"""FX graphs of ATen ops, read as plain data: aten.Graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from . import aten

DTYPES = {
    torch.float64: "f64",
    torch.float32: "f32",
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.int64: "i64",
    torch.int32: "i32",
    torch.int16: "i16",
    torch.int8: "i8",
    torch.uint8: "u8",
    torch.bool: "bool",
}


def _type_of(value: Any) -> aten.TensorType | None:
    if not isinstance(value, torch.Tensor) or value.dtype not in DTYPES:
        return None
    return aten.TensorType(DTYPES[value.dtype], tuple(int(n) for n in value.shape))


def dtype_name(dtype: torch.dtype) -> str | None:
    return DTYPES.get(dtype)


def op_name(target: Any) -> str:
    """As the table of ops has it: "add.Tensor" for aten.add.Tensor."""
    if isinstance(target, torch._ops.OpOverload):
        namespace, name = target.namespace, target._schema.name.split("::")[1]
        name = f"{name}.{target._overloadname or 'default'}"
        return name if namespace == "aten" else f"{namespace}.{name}"
    return getattr(target, "__name__", str(target))


def _bernoulli(shape: list[int], dtype: torch.dtype, p: float) -> torch.Tensor:
    return torch.empty(shape, dtype=dtype).bernoulli_(p)


def _dropout_mask(shape: list[int], dtype: torch.dtype, p: float) -> torch.Tensor:
    """What eager mode draws for the same dropout."""
    return _bernoulli(shape, dtype, 1 - p).bool()


# Ops that draw random numbers: how PyTorch draws them, from the shape and the
# dtype of the result, and the op's arguments but tensors and sizes.
_DRAWS: dict[str, Callable[..., torch.Tensor]] = {
    "bernoulli.p": _bernoulli,
    "native_dropout.default": _dropout_mask,
    "normal_functional.default": lambda shape, dtype, mean=0.0, std=1.0: torch.empty(
        shape, dtype=dtype
    ).normal_(mean, std),
    "rand.default": lambda shape, dtype: torch.rand(shape, dtype=dtype),
    "rand_like.default": lambda shape, dtype: torch.rand(shape, dtype=dtype),
    "randint.default": lambda shape, dtype, high: torch.randint(
        high, shape, dtype=dtype
    ),
    "randint.low": lambda shape, dtype, low, high: torch.randint(
        low, high, shape, dtype=dtype
    ),
    "randn.default": lambda shape, dtype: torch.randn(shape, dtype=dtype),
    "randn_like.default": lambda shape, dtype: torch.randn(shape, dtype=dtype),
    "randperm.default": lambda shape, dtype: torch.randperm(shape[0], dtype=dtype),
    "uniform.default": lambda shape, dtype, low=0.0, high=1.0: torch.empty(
        shape, dtype=dtype
    ).uniform_(low, high),
}


class Reader:
    """An FX graph of ATen ops as an aten.Graph. Inputs behind its own are the
    tensors that it has as attributes, `constants`, and random numbers, which
    PyTorch draws: `draws`."""

    def __init__(self, module: torch.fx.GraphModule):
        self.constants: list[torch.Tensor] = []
        self.draws: list[Callable[[], torch.Tensor]] = []
        self.graph = aten.Graph([])
        self._refs: dict[torch.fx.Node, Any] = {}
        self._drawn: list[tuple[str, aten.TensorType | None]] = []
        attributes = []
        for node in module.graph.nodes:
            if node.op == "placeholder":
                self.graph.inputs.append((node.name, _type_of(node.meta.get("val"))))
                self._refs[node] = aten.Ref(node.name)
            elif node.op == "get_attr":
                tensor = module
                for part in node.target.split("."):
                    tensor = getattr(tensor, part)
                if isinstance(tensor, torch.Tensor):
                    attributes.append((node.name, _type_of(tensor)))
                    self.constants.append(tensor)
                self._refs[node] = aten.Ref(node.name)
            elif node.op == "call_function":
                self._call(node)
            elif node.op == "output":
                self.graph.outputs = list(self._argument(node.args[0]))
        self.first_constant = len(self.graph.inputs)
        self.graph.inputs += attributes + self._drawn

    def _call(self, node: torch.fx.Node) -> None:
        if getattr(node.target, "__name__", "") == "getitem":
            source, index = node.args
            ref = self._refs[source]
            chosen = ref[index] if isinstance(ref, tuple) else aten.Ref(ref.name, index)
            self._refs[node] = chosen
            return
        if op_name(node.target) in _DRAWS:
            self._draw(node)
            return
        value = node.meta.get("val")
        results = value if isinstance(value, (list, tuple)) else [value]
        kwargs = {
            k: self._argument(v)
            for k, v in node.kwargs.items()
            if k not in ("device", "layout", "pin_memory", "memory_format")
        }
        self.graph.nodes.append(
            aten.Node(
                node.name,
                op_name(node.target),
                tuple(self._argument(a) for a in node.args),
                kwargs,
                [_type_of(r) for r in results],
            )
        )
        self._refs[node] = aten.Ref(node.name)

    def _draw(self, node: torch.fx.Node) -> None:
        op, value = op_name(node.target), node.meta["val"]
        is_dropout = op == "native_dropout.default"
        value = value[0] if is_dropout else value
        numbers = [a for a in node.args if isinstance(a, (int, float))]
        if is_dropout:
            numbers = numbers[:1]
        if op == "randperm.default":
            numbers = []
        shape, draw = [int(n) for n in value.shape], _DRAWS[op]
        self.draws.append(lambda: draw(shape, value.dtype, *numbers))
        drawn = aten.Ref(f"{node.name}.drawn")
        type = _type_of(value)
        if not is_dropout:
            self._drawn.append((drawn.name, type))
            self._refs[node] = drawn
            return
        self._drawn.append((drawn.name, aten.TensorType("bool", tuple(shape))))
        x, p = self._argument(node.args[0]), numbers[0]
        kept = aten.Node(f"{node.name}.kept", "mul.Tensor", (x, drawn), {}, [type])
        scale = 1 / (1 - p) if p < 1 else 0.0
        y = aten.Node(node.name, "mul.Tensor", (aten.Ref(kept.name), scale), {}, [type])
        self.graph.nodes += [kept, y]
        self._refs[node] = (aten.Ref(node.name), drawn)

    def _argument(self, argument: Any) -> Any:
        if isinstance(argument, torch.fx.Node):
            return self._refs[argument]
        if isinstance(argument, (list, tuple)):
            return [self._argument(a) for a in argument]
        if isinstance(argument, torch.dtype):
            return aten.Dtype(dtype_name(argument))
        if isinstance(argument, torch.SymInt):
            return int(argument)
        if isinstance(argument, (torch.device, torch.layout, torch.memory_format)):
            return None
        return argument
