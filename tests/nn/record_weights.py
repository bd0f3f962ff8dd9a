"""Weights that PyTorch and the tests make alike, from the place of each number."""

import math

import torch


def pattern(count, salt):
    """From -0.5 to 0.5."""
    places = torch.arange(count, dtype=torch.int64)
    return ((places * 37 + salt) % 1009).double() / 1009 - 0.5


@torch.no_grad()
def fill(module):
    """Writes parameters and buffers, each by its number in the state dict."""
    for index, (name, tensor) in enumerate(module.state_dict().items()):
        if not tensor.is_floating_point():
            continue
        values = pattern(tensor.numel(), 101 * index).reshape(tensor.shape)
        if tensor.dim() > 1:
            values *= 2 * math.sqrt(3 / (tensor.numel() / tensor.shape[0]))
        elif name.endswith("running_var"):
            values += 1
        else:
            values *= 0.2
            values += name.endswith("weight")
        tensor.copy_(values)
