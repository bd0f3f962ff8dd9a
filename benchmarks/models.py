"""The models that Tinh is measured and checked on (model_sets.py).

build(name) gives a torch module in eval mode, its inputs and their names. All
weights are random, from fixed seeds. Biases and norm scales are perturbed and
batch-norm statistics come from a real batch, so that a wrong layout or a lost
bias shows in the results.
"""

import torch
import torch.nn as nn

from model_sets import SETS, UNSEEN

# Of timm; other models of pictures are torchvision's.
TIMM = ["mixer_b16_224", "repvgg_a2", "dla34", "mobilenetv4_conv_small"]


class TwoLayer(nn.Module):
    """64×1000 → 100 → 10 without biases: little work, much overhead."""

    def __init__(self):
        super().__init__()
        self.w1 = nn.Parameter(torch.randn(1000, 100))
        self.w2 = nn.Parameter(torch.randn(100, 10))

    def forward(self, x):
        return torch.relu(x @ self.w1) @ self.w2


def mlp():
    return nn.Sequential(
        nn.Linear(512, 2048),
        nn.ReLU(),
        nn.Linear(2048, 512),
        nn.ReLU(),
        nn.Linear(512, 1),
    )


def perturb(module, generator):
    with torch.no_grad():
        for parameter in module.parameters():
            if parameter.dim() == 1:
                noise = torch.randn(parameter.shape, generator=generator)
                parameter.add_(0.05 * noise)


def calibrate(module, batch):
    norms = [
        m
        for m in module.modules()
        if isinstance(m, nn.modules.batchnorm._BatchNorm)
    ]
    for norm in norms:
        norm.momentum = 1.0
        norm.training = True
    if norms:
        with torch.no_grad():
            module(batch)
    for norm in norms:
        norm.momentum = 0.1
        norm.training = False


def fill_constants(module, generator):
    """Random values where an initialiser left all equal, such as the zeros of a
    classifier: no output would depend on what comes before it."""
    with torch.no_grad():
        for parameter in module.parameters():
            if parameter.dim() > 1 and parameter.min() == parameter.max():
                noise = torch.randn(parameter.shape, generator=generator)
                parameter.copy_(0.1 * noise)


def picture_model(name, generator):
    """A model that looks at pictures, and its input."""
    base, batch = name.rsplit("_b", 1)
    if base in TIMM:
        import timm

        module = timm.create_model(base, pretrained=False)
    else:
        import torchvision

        module = getattr(torchvision.models, base)(weights=None)
    return module, [torch.randn(int(batch), 3, 224, 224, generator=generator)]


def build(name):
    if name not in SETS["all"]:
        known = ", ".join(SETS["all"])
        raise ValueError(f"no model '{name}'; there are {known}")
    torch.manual_seed(1234)
    generator = torch.Generator().manual_seed(99)
    names = ["x"]
    if name == "two_layer":
        module = TwoLayer()
        inputs = [torch.randn(64, 1000, generator=generator)]
    elif name == "mlp":
        module = mlp()
        inputs = [torch.randn(1024, 512, generator=generator)]
    elif name.endswith("_s128") or name.startswith("whisper"):
        import transformer_models

        module, inputs = transformer_models.make(name, generator)
        names = module.inputs
    else:
        module, inputs = picture_model(name, generator)
    perturb(module, generator)
    if name in UNSEEN:
        fill_constants(module, generator)
    module.eval()
    if inputs[0].dim() == 4:
        shape = (4, *inputs[0].shape[1:])
        calibrate(module, torch.randn(shape, generator=generator))
    return module.requires_grad_(False), inputs, list(names)
