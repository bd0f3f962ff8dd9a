"""What is trained: networks, their losses, optimizers and batches.

Losses and optimizers are written as graph-compile's options have them. Weights
come from fixed seeds; all engines get the same ones, and the same batches.
"""

import dataclasses
import typing

import torch
import torch.nn as nn
import torch.nn.functional as F


class TwoLayer(nn.Module):
    """1000 → 100 → 10 without biases: little work, much overhead."""

    def __init__(self):
        super().__init__()
        self.w1 = nn.Parameter(torch.randn(1000, 100))
        self.w2 = nn.Parameter(torch.randn(100, 10))

    def forward(self, x):
        return torch.relu(x @ self.w1) @ self.w2


class LstmClassifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(32, 64, batch_first=True)
        self.head = nn.Linear(64, 10)

    def forward(self, x):
        return self.head(self.lstm(x)[0][:, -1])


class Transformer(nn.Module):
    """Two encoder layers, and a classifier of their mean."""

    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(
            64, 4, dim_feedforward=128, dropout=0.0, batch_first=True
        )
        self.encoder = nn.TransformerEncoder(
            layer, 2, enable_nested_tensor=False
        )
        self.head = nn.Linear(64, 10)

    def forward(self, x):
        return self.head(self.encoder(x).mean(1))


def mlp():
    return nn.Sequential(
        nn.Linear(512, 2048),
        nn.ReLU(),
        nn.Linear(2048, 512),
        nn.ReLU(),
        nn.Linear(512, 1),
    )


def resnet18():
    import torchvision

    return torchvision.models.resnet18(weights=None)


@dataclasses.dataclass(frozen=True)
class Task:
    make: typing.Callable[[], nn.Module]
    loss: str
    optimizer: str
    x: tuple[int, ...]
    target: tuple[int, ...] = ()  # Else class indices below `classes`.
    classes: int = 0

    def module(self):
        torch.manual_seed(1234)
        return self.make().train()

    def batch(self, number=0):
        """The inputs and the targets of a step."""
        generator = torch.Generator().manual_seed(99 + number)
        x = torch.randn(self.x, generator=generator)
        if not self.classes:
            return x, torch.randn(self.target, generator=generator)
        size = (self.x[0],)
        return x, torch.randint(0, self.classes, size, generator=generator)

    def loss_function(self):
        name, options = parse(self.loss)
        function = {"mse": F.mse_loss, "cross_entropy": F.cross_entropy}[name]
        return lambda y, target: function(y, target, **options)


TASKS = {
    # What is timed.
    "two_layer": Task(
        TwoLayer, "mse,reduction=sum", "sgd,lr=1e-6", (64, 1000), (64, 10)
    ),
    "mlp": Task(mlp, "mse", "sgd,lr=0.01", (1024, 512), (1024, 1)),
    "resnet18": Task(
        resnet18,
        "cross_entropy",
        "sgd,lr=0.001,momentum=0.9",
        (16, 3, 224, 224),
        classes=1000,
    ),
    # Whose curves are compared, beside the first two.
    "resnet18_small": Task(
        resnet18,
        "cross_entropy",
        "sgd,lr=0.001,momentum=0.9",
        (8, 3, 64, 64),
        classes=1000,
    ),
    "lstm": Task(
        LstmClassifier, "cross_entropy", "sgd,lr=0.1", (16, 20, 32), classes=10
    ),
    "transformer": Task(
        Transformer, "cross_entropy", "sgd,lr=0.01", (16, 20, 64), classes=10
    ),
}


def parse(text):
    """The name and the options of "sgd,lr=0.1,momentum=0.9"."""
    name, *options = text.split(",")
    pairs = dict(option.split("=") for option in options)
    for key, value in pairs.items():
        try:
            pairs[key] = float(value)
        except ValueError:
            pass
    return name, pairs


def make_optimizer(text, parameters, **settings):
    name, options = parse(text)
    kinds = {
        "sgd": torch.optim.SGD,
        "adam": torch.optim.Adam,
        "adamw": torch.optim.AdamW,
    }
    return kinds[name](parameters, **options, **settings)


def export(module, x, path):
    """Writes ONNX that can be trained: batch norms stay what they are, and
    weights keep their names."""
    mode = module.training
    torch.onnx.export(
        module.eval(),
        (x,),
        str(path),
        dynamo=True,
        opset_version=18,
        input_names=["x"],
        output_names=["y"],
        external_data=False,
        verbose=False,
        optimize=False,
    )
    module.train(mode)
