"""Layers, and modules made of them.

    class Net(tinh.nn.Module):
        def __init__(self):
            self.hidden = tinh.nn.Linear(64, 128)
            self.output = tinh.nn.Linear(128, 10)

        def forward(self, x):
            return self.output(tinh.relu(self.hidden(x)))

    net = Net()
    net.initialize(tinh.Generator(0))

The layers are those of tinh/nn.h, and so are the names of their parameters,
which are PyTorch's. A module may have a Parameter and a Buffer of its own.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

from ._tinh import (
    Error,
    Generator,
    Tensor,
    is_tracing,
    load_safetensors,
    name_scope,
    no_grad,
    save_safetensors,
)
from ._tinh.nn import (
    ELU as ELU,
    GELU as GELU,
    GRU as GRU,
    LSTM as LSTM,
    RNN as RNN,
    AdaptiveAvgPool1d as AdaptiveAvgPool1d,
    AdaptiveAvgPool2d as AdaptiveAvgPool2d,
    AvgPool1d as AvgPool1d,
    AvgPool2d as AvgPool2d,
    BatchNorm1d as BatchNorm1d,
    BatchNorm2d as BatchNorm2d,
    Conv1d as Conv1d,
    Conv2d as Conv2d,
    ConvTranspose1d as ConvTranspose1d,
    ConvTranspose2d as ConvTranspose2d,
    Dropout as Dropout,
    Embedding as Embedding,
    Flatten as Flatten,
    GroupNorm as GroupNorm,
    Identity as Identity,
    Layer as Layer,
    LayerNorm as LayerNorm,
    LeakyReLU as LeakyReLU,
    Linear as Linear,
    LogSoftmax as LogSoftmax,
    MaxPool1d as MaxPool1d,
    MaxPool2d as MaxPool2d,
    MultiHeadAttention as MultiHeadAttention,
    ReLU as ReLU,
    Sigmoid as Sigmoid,
    SiLU as SiLU,
    Softmax as Softmax,
    Softplus as Softplus,
    Tanh as Tanh,
    TransformerEncoderLayer as TransformerEncoderLayer,
    inferred as inferred,
    init as init,
)


class Parameter(Tensor):
    """A tensor of a module that is trained: `value` itself, or a copy of an
    array, nested lists or a number."""

    def __init__(self, value: Any):
        super().__init__(value)
        self.requires_grad_()


class Buffer(Tensor):
    """A tensor of a module that is kept with its parameters and not trained."""


def _dotted(*names: str) -> str:
    return ".".join(filter(None, names))


def _within(value: Any, name: str) -> Iterator[tuple[str, Any]]:
    """What counts of an attribute: itself, or what is in a list or dict."""
    if isinstance(value, (Module, Layer, Parameter, Buffer)):
        yield name, value
    elif isinstance(value, (list, tuple)):
        for i, item in enumerate(value):
            yield from _within(item, f"{name}.{i}")
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _within(item, f"{name}.{key}")


def _replaced(value: Any, convert: Callable[[Tensor], Tensor]) -> Any:
    """The same attribute with other parameters and buffers."""
    if isinstance(value, (Parameter, Buffer)):
        with no_grad():
            made = type(value)(convert(value))
        return made.requires_grad_(value.requires_grad)
    if isinstance(value, list):
        value[:] = [_replaced(item, convert) for item in value]
    elif isinstance(value, tuple):
        return tuple(_replaced(item, convert) for item in value)
    elif isinstance(value, dict):
        value.update({k: _replaced(item, convert) for k, item in value.items()})
    return value


class Module:
    """A function with parameters: those of the layers and modules among its
    attributes, and in lists and dicts there, and its own, each a Parameter. What
    it computes is `forward`."""

    training = True
    _name = ""

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no forward")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not is_tracing():
            return self.forward(*args, **kwargs)
        for name, child in self.children():
            child._set_name(name.replace(".", "/"))
        with name_scope(self._name):
            return self.forward(*args, **kwargs)

    def _set_name(self, name: str) -> None:
        self._name = name

    def children(self) -> Iterator[tuple[str, Module | Layer]]:
        """The layers and modules right within, by name."""
        for name, value in self._members():
            if isinstance(value, (Module, Layer)):
                yield name, value

    def modules(self) -> Iterator[tuple[str, Module | Layer]]:
        """This one, by the name "", and all within by their dotted names, parents
        first; one that is there more than once, under each of its names."""
        yield "", self
        for name, child in self.children():
            if isinstance(child, Module):
                for inner, module in child.modules():
                    yield _dotted(name, inner), module
            else:
                yield name, child

    def _members(self) -> Iterator[tuple[str, Any]]:
        for name, value in vars(self).items():
            yield from _within(value, name)

    def _own(self, *types: type) -> list[tuple[str, Any]]:
        return [(n, value) for n, value in self._members() if isinstance(value, types)]

    def initialize(self, generator: Generator) -> None:
        """Gives the parameters and buffers of all layers their initial values."""
        done = set()
        for _, module in self.modules():
            if isinstance(module, Layer) and id(module) not in done:
                done.add(id(module))
                module.initialize(generator)

    def named_parameters(self) -> dict[str, Tensor]:
        """All parameters; shared ones once, under the first name."""
        found: dict[str, Tensor] = {}
        seen = set()
        for name, module in self.modules():
            if id(module) in seen:
                continue
            seen.add(id(module))
            if isinstance(module, Layer):
                own = list(module.named_parameters().items())
            else:
                own = [m for m in module._own(Parameter) if id(m[1]) not in seen]
                seen.update(id(value) for _, value in own)
            found.update((_dotted(name, inner), value) for inner, value in own)
        return found

    def parameters(self) -> list[Tensor]:
        return list(self.named_parameters().values())

    def num_parameters(self) -> int:
        """The sum of all parameters' sizes."""
        return sum(parameter.size for parameter in self.parameters())

    def state_dict(self) -> dict[str, Tensor]:
        """Parameters and buffers, under each of their names: the tensors
        themselves."""
        found: dict[str, Tensor] = {}
        for name, module in self.modules():
            if isinstance(module, Layer):
                own = list(module.state_dict().items())
            else:
                own = module._own(Parameter, Buffer)
            found.update((_dotted(name, inner), value) for inner, value in own)
        return found

    def load_state_dict(self, state: dict[str, Any], strict: bool = True) -> None:
        """Copies the values in, tensors or arrays. Names must be those of
        state_dict(), unless not strict."""
        layers: dict[str, Layer] = {}
        own: dict[str, Tensor] = {}
        for name, module in self.modules():
            if isinstance(module, Layer):
                layers[name] = module
            else:
                for inner, value in module._own(Parameter, Buffer):
                    own[_dotted(name, inner)] = value
        parts: dict[str, dict[str, Any]] = {name: {} for name in layers}
        unknown = []
        for key, value in state.items():
            cuts = [i for i, c in enumerate(key) if c == "."]
            cut = next((i for i in cuts if key[:i] in layers), None)
            if cut is not None:
                parts[key[:cut]][key[cut + 1 :]] = value
            elif key not in own:
                unknown.append(key)
        missing = [name for name in own if name not in state]
        if strict and (unknown or missing):
            raise ValueError(
                "load_state_dict: the state does not fit; "
                f"missing: {missing or None}; unexpected: {unknown or None}"
            )
        for name, layer in layers.items():
            try:
                layer.load_state_dict(parts[name], strict)
            except Error as error:
                error.add_note(f"of {name}, a {type(layer).__name__}")
                raise
        with no_grad():
            for name, value in own.items():
                if name in state:
                    value.copy_(state[name])

    def save(self, path: str | os.PathLike) -> None:
        """Writes state_dict() to a .safetensors file."""
        save_safetensors(path, self.state_dict())

    def load(self, path: str | os.PathLike, strict: bool = True) -> None:
        """Copies the values of a .safetensors file in."""
        self.load_state_dict(load_safetensors(path), strict)

    def train(self, mode: bool = True) -> None:
        """How dropout and batch norm behave; training at first."""
        for _, module in self.modules():
            if isinstance(module, Module):
                module.training = mode
            else:
                module.train(mode)

    def eval(self) -> None:
        self.train(False)

    def freeze(self) -> None:
        """Takes gradients away from all parameters."""
        for parameter in self.parameters():
            parameter.requires_grad_(False)

    def unfreeze(self) -> None:
        for parameter in self.parameters():
            parameter.requires_grad_()

    def to(self, target: str) -> None:
        """Converts floating-point parameters and buffers to a dtype, or moves all
        to a device. The tensors are other ones then: make the optimizer later."""
        is_device = target == "cpu" or target.startswith("cuda")

        def convert(value: Tensor) -> Tensor:
            fits = is_device or value.dtype in ("f16", "bf16", "f32", "f64")
            return value.to(target) if fits else value

        done = set()
        for _, module in list(self.modules()):
            if id(module) in done:
                continue
            done.add(id(module))
            if isinstance(module, Layer):
                module.to(target)
            else:
                for name, value in vars(module).items():
                    setattr(module, name, _replaced(value, convert))

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__}("]
        for name, child in self.children():
            text = repr(child).replace("\n", "\n  ")
            lines.append(f"  {name}: {text}")
        return "\n".join(lines) + "\n)"


class Sequential(Module):
    """Modules one after the other."""

    def __init__(self, *modules: Module | Layer):
        for i, module in enumerate(modules):
            setattr(self, str(i), module)

    def forward(self, x: Tensor) -> Tensor:
        for _, module in self.children():
            x = module(x)
        return x
