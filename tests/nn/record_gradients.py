#!/usr/bin/env python3
"""Records gradients of whole networks, for NetworkGradientsTest.cpp.

    record_gradients.py [DIR] > gradients.json

Needs torchvision, which the test does not: it makes the same weights as this. Of
each gradient it records the norm and the sum with weights. With DIR, writes the
weights and gradients there, as NAME.safetensors and NAME-gradients.safetensors.
"""

import json
import sys

import torch
import torch.nn.functional as F
import torchvision
from torch import nn

from record_weights import fill, pattern


class Classifier(nn.Module):
    """An LSTM over words, and a linear layer on its last output."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(50, 16)
        self.lstm = nn.LSTM(16, 24, 2, batch_first=True)
        self.output = nn.Linear(24, 5)

    def forward(self, x):
        return self.output(self.lstm(self.words(x))[0][:, -1])


class Transformer(nn.Module):
    """Two encoder layers over words, and a linear layer on the mean."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(50, 16)
        options = dict(dropout=0, batch_first=True)
        self.layers = nn.Sequential(
            nn.TransformerEncoderLayer(16, 4, 32, **options),
            nn.TransformerEncoderLayer(16, 4, 32, norm_first=True, **options),
        )
        self.output = nn.Linear(16, 5)

    def forward(self, x):
        return self.output(self.layers(self.words(x)).mean(1))


def record(name, module, x):
    fill(module)
    module.train()
    loss = F.cross_entropy(module(x), torch.arange(len(x)) % 5)
    loss.backward()
    gradients = {}
    for key, parameter in module.named_parameters():
        g = parameter.grad.double()
        weights = pattern(g.numel(), 11).reshape(g.shape)
        gradients[key] = [g.norm().item(), (g * weights).sum().item()]
    if len(sys.argv) > 1:
        from safetensors.torch import save_file

        save_file(module.state_dict(), f"{sys.argv[1]}/{name}.safetensors")
        grads = {k: p.grad for k, p in module.named_parameters()}
        save_file(grads, f"{sys.argv[1]}/{name}-gradients.safetensors")
    return {"name": name, "loss": loss.item(), "gradients": gradients}


def main():
    words = (torch.arange(4 * 9) * 7 % 50).reshape(4, 9)
    image = (2 * pattern(4 * 3 * 64 * 64, 7)).float().reshape(4, 3, 64, 64)
    records = [
        record("resnet18", torchvision.models.resnet18(num_classes=5), image),
        record("lstm", Classifier(), words),
        record("transformer", Transformer(), words),
    ]
    print("[")
    print(",\n".join(json.dumps(record) for record in records))
    print("]")


if __name__ == "__main__":
    main()
