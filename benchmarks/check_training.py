#!/usr/bin/env python3
"""Trains models with PyTorch and as compiled artifacts, from equal weights, on
equal batches, and compares the losses of each step.

    check_training.py [--bin build/bin] [--steps 100] [--model NAME]
        [--optimizer NAME] FOLDER

A loss may differ from PyTorch's in f64 by the larger of 1e-3 of the first loss
and three times what PyTorch's own in f32 differs. Needs PyTorch, torchvision and
the package onnx (benchmarks/requirements.txt).
"""

import argparse
import copy
import pathlib
import subprocess
import sys

import torch
from torch import nn

from tinh_runtime import Model


class Lstm(nn.Module):
    """Classifies sequences by the last state."""

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(12, 24, batch_first=True)
        self.head = nn.Linear(24, 5)

    def forward(self, x):
        states, _ = self.lstm(x)
        return self.head(states[:, -1])


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(
            32, 4, 64, dropout=0, batch_first=True, activation="gelu"
        )
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(32, 5)

    def forward(self, x):
        return self.head(self.encoder(x).mean(1))


def cnn():
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1, bias=False),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, stride=2, padding=1),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(16, 5),
    )


def mlp():
    return nn.Sequential(
        nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 32), nn.Tanh(), nn.Linear(32, 5)
    )


def resnet18():
    import torchvision

    return torchvision.models.resnet18(num_classes=5)


# By name: the model, and the shape of a batch.
MODELS = {
    "mlp": (mlp, (16, 20)),
    "cnn": (cnn, (8, 3, 16, 16)),
    "lstm": (Lstm, (8, 10, 12)),
    "transformer": (Transformer, (4, 6, 32)),
    "resnet18": (resnet18, (16, 3, 64, 64)),
}
OPTIMIZERS = {
    "sgd": ("sgd,lr=0.05", lambda p: torch.optim.SGD(p, 0.05)),
    "momentum": (
        "sgd,lr=0.01,momentum=0.9",
        lambda p: torch.optim.SGD(p, 0.01, momentum=0.9),
    ),
    "adam": ("adam,lr=0.001", lambda p: torch.optim.Adam(p, 1e-3)),
    "adamw": (
        "adamw,lr=0.001,weight_decay=0.1",
        lambda p: torch.optim.AdamW(p, 1e-3, weight_decay=0.1),
    ),
}


def train(model, make, batches):
    """PyTorch's losses."""
    model.train()
    optimizer = make(model.parameters())
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(
            model(x.to(next(model.parameters()).dtype)), y
        )
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def export(model, shape, path):
    """In training mode, so that batch norms stay and no weights are folded."""
    torch.onnx.export(
        copy.deepcopy(model).train(),
        (torch.zeros(shape),),
        str(path),
        dynamo=False,
        training=torch.onnx.TrainingMode.TRAINING,
        do_constant_folding=False,
        opset_version=17,
        input_names=["x"],
        output_names=["y"],
    )


def check(name, optimizer, arguments):
    torch.manual_seed(0)
    make_model, shape = MODELS[name]
    model = make_model()
    generator = torch.Generator().manual_seed(1)
    batches = [
        (
            torch.randn(shape, generator=generator),
            torch.randint(0, 5, (shape[0],), generator=generator),
        )
        for _ in range(4)
    ] * ((arguments.steps + 3) // 4)
    batches = batches[: arguments.steps]
    path = arguments.folder / f"{name}.onnx"
    export(model, shape, path)
    spelling, make = OPTIMIZERS[optimizer]
    artifact = arguments.folder / f"{name}-{optimizer}.so"
    subprocess.run(
        [
            arguments.bin / "graph-compile",
            path,
            "--train",
            "--loss=cross_entropy",
            f"--optimizer={spelling}",
            "-o",
            artifact,
        ],
        check=True,
    )
    exact = train(copy.deepcopy(model).double(), make, batches)
    single = train(copy.deepcopy(model), make, batches)
    library = arguments.bin.parent / "lib" / "libtinh_runtime.so"
    step = Model(str(library), artifact, 0, "train_step")
    worst, worst_single = 0, 0
    for i, (x, y) in enumerate(batches):
        loss = float(step.run({"x": x.numpy(), "target": y.numpy()})["loss"])
        worst = max(worst, abs(loss - exact[i]) / exact[0])
        worst_single = max(worst_single, abs(single[i] - exact[i]) / exact[0])
    good = worst <= max(1e-3, 3 * worst_single)
    print(
        f"{name:12} {optimizer:9} {exact[0]:8.4f} to {exact[-1]:8.4f}"
        f"   differs by {worst:.1e}, PyTorch by {worst_single:.1e}"
        f"{'' if good else '   WRONG'}",
        flush=True,
    )
    return good


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--bin", type=pathlib.Path, default="build/bin")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--model", action="append", choices=MODELS)
    parser.add_argument("--optimizer", action="append", choices=OPTIMIZERS)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    results = [
        check(name, optimizer, arguments)
        for name in arguments.model or MODELS
        for optimizer in arguments.optimizer or OPTIMIZERS
    ]
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
