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
which are PyTorch's.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ._tinh import Generator, Tensor
from ._tinh.nn import (
    ELU,
    GELU,
    AdaptiveAvgPool2d,
    AvgPool2d,
    BatchNorm1d,
    BatchNorm2d,
    Conv1d,
    Conv2d,
    Dropout,
    Embedding,
    Flatten,
    Layer,
    LayerNorm,
    LeakyReLU,
    Linear,
    LogSoftmax,
    MaxPool2d,
    ReLU,
    Sigmoid,
    SiLU,
    Softmax,
    Softplus,
    Tanh,
    inferred,
)

__all__ = [
    "AdaptiveAvgPool2d",
    "AvgPool2d",
    "BatchNorm1d",
    "BatchNorm2d",
    "Conv1d",
    "Conv2d",
    "Dropout",
    "ELU",
    "Embedding",
    "Flatten",
    "GELU",
    "Layer",
    "LayerNorm",
    "LeakyReLU",
    "Linear",
    "LogSoftmax",
    "MaxPool2d",
    "Module",
    "ReLU",
    "Sequential",
    "SiLU",
    "Sigmoid",
    "Softmax",
    "Softplus",
    "Tanh",
    "inferred",
]


class Module:
    """A function with parameters: those of the layers and modules among its
    attributes, and in lists there. What it computes is `forward`."""

    def forward(self, *args: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no forward")

    def __call__(self, *args: Any) -> Any:
        return self.forward(*args)

    def children(self) -> Iterator[tuple[str, Module | Layer]]:
        """The layers and modules right within, by name."""
        for name, value in vars(self).items():
            if isinstance(value, (Module, Layer)):
                yield name, value
            elif isinstance(value, (list, tuple)):
                for i, item in enumerate(value):
                    if isinstance(item, (Module, Layer)):
                        yield f"{name}.{i}", item

    def layers(self) -> Iterator[tuple[str, Layer]]:
        """All layers, by their dotted names."""
        for name, child in self.children():
            if isinstance(child, Layer):
                yield name, child
            else:
                for inner, layer in child.layers():
                    yield f"{name}.{inner}", layer

    def initialize(self, generator: Generator) -> None:
        """Gives all parameters and buffers their first values."""
        for _, layer in self.layers():
            layer.initialize(generator)

    def named_parameters(self) -> dict[str, Tensor]:
        return {
            f"{name}.{inner}": tensor
            for name, layer in self.layers()
            for inner, tensor in layer.named_parameters().items()
        }

    def parameters(self) -> list[Tensor]:
        return list(self.named_parameters().values())

    def state_dict(self) -> dict[str, Tensor]:
        """Parameters and buffers: the tensors themselves."""
        return {
            f"{name}.{inner}": tensor
            for name, layer in self.layers()
            for inner, tensor in layer.state_dict().items()
        }

    def load_state_dict(self, state: dict[str, Any], strict: bool = True) -> None:
        """Copies the values in, tensors or arrays."""
        layers = dict(self.layers())
        parts: dict[str, dict[str, Any]] = {name: {} for name in layers}
        unknown = []
        for key, value in state.items():
            name, _, inner = key.rpartition(".")
            if name in parts:
                parts[name][inner] = value
            else:
                unknown.append(key)
        if strict and unknown:
            raise ValueError(f"the module has no {', '.join(unknown)}")
        for name, layer in layers.items():
            layer.load_state_dict(parts[name], strict)

    def train(self, mode: bool = True) -> None:
        for _, layer in self.layers():
            layer.train(mode)

    def eval(self) -> None:
        self.train(False)

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
